import { EventEmitter } from 'node:events';
import { Socket } from 'node:net';
import kafkajs from 'kafkajs';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Connections } from '../../../../../services/runtime/kafka/kafkajs/connections.ts';
import { KafkajsShare } from '../../../../../services/runtime/kafka/kafkajs/share.ts';

const SESSION_MS = 1_000;
const EVENTS = new kafkajs.Kafka({ brokers: ['127.0.0.1:1'] }).consumer({ groupId: 'g' }).events;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const done = (): Promise<void> => Promise.resolve();

/** A share whose consumer does nothing but emit what the test says, and what it told its user. */
function openShare(): {
  readonly emit: (event: string, payload?: object) => void;
  readonly told: string[];
  /** Opens a connection of its client. */
  readonly opened: () => Socket;
} {
  const emitter = new EventEmitter();
  const kafka = new kafkajs.Kafka({ brokers: ['127.0.0.1:1'], logLevel: kafkajs.logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: 'g' });
  Object.assign(consumer, {
    on: (event: string, listener: (given: unknown) => void) => emitter.on(event, listener),
    connect: done,
    subscribe: done,
    run: done,
    pause: () => undefined,
  });
  vi.spyOn(kafka, 'consumer').mockReturnValue(consumer);
  const told: string[] = [];
  const connections = new Connections();
  const share = new KafkajsShare(kafka, connections, {
    group_id: 'g',
    topics: ['t'],
    session_ms: SESSION_MS,
    onAssigned: (assigned) => told.push(assigned === undefined ? 'outside' : 'assigned'),
    onHeld: () => told.push('held'),
    onLeft: ({ message }) => told.push(message),
  });
  share.join().catch(({ message }: Error) => told.push(`not joined: ${message}`));
  const open = connections.through(() => new Socket());
  return {
    emit: (event, payload = {}) => void emitter.emit(event, { payload }),
    told,
    opened: () => open({ host: '127.0.0.1', port: 1, ssl: {}, onConnect: () => undefined }),
  };
}

const JOINED = { memberAssignment: { t: [0] } };

test('a member stays while its group answers', async () => {
  const { emit, told } = openShare();
  emit(EVENTS.GROUP_JOIN, JOINED);
  for (let beat = 0; beat < 20; beat++) {
    await vi.advanceTimersByTimeAsync(SESSION_MS);
    emit(EVENTS.HEARTBEAT);
  }
  expect(new Set(told)).toEqual(new Set(['assigned', 'held']));
});

test('a member whose heartbeats are answered, though it has not joined again after a rebalance, leaves', async () => {
  const { emit, told } = openShare();
  emit(EVENTS.GROUP_JOIN, JOINED);
  emit(EVENTS.REBALANCING);
  for (let beat = 0; beat < 20; beat++) {
    await vi.advanceTimersByTimeAsync(SESSION_MS / 2);
    emit(EVENTS.HEARTBEAT);
  }
  expect(told.slice(0, 3)).toEqual([
    'assigned',
    'outside',
    'the group has not answered for 8000 ms',
  ]);
});

test('a member that hears nothing before it has joined does not join', async () => {
  const { told } = openShare();
  await vi.advanceTimersByTimeAsync(10 * SESSION_MS);
  expect(told).toEqual(['not joined: the group has not answered for 8000 ms']);
});

test('a member that was given up has no connection, and hears nothing more', async () => {
  const { emit, told, opened } = openShare();
  emit(EVENTS.GROUP_JOIN, JOINED);
  const socket = opened();
  await vi.advanceTimersByTimeAsync(10 * SESSION_MS);
  emit(EVENTS.GROUP_JOIN, JOINED);
  emit(EVENTS.HEARTBEAT);
  expect(told).toEqual(['assigned', 'the group has not answered for 8000 ms']);
  expect(socket.destroyed).toBe(true);
  expect(opened).toThrow('this client was disconnected');
});
