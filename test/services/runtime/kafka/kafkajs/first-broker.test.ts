import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { FirstBroker } from '../../../../../services/runtime/kafka/kafkajs/first-broker.ts';

const BROKERS = ['a:1', 'b:1', 'c:1'];

let now = 0;

function opened(first: FirstBroker, broker: string): Socket {
  const [host = '', port] = broker.split(':');
  const open = first.watching(() => new Socket());
  return open({ host, port: Number(port), ssl: {}, onConnect: () => undefined });
}

test('the first broker of the list is asked, until it is silent and others are not', () => {
  const first = new FirstBroker(BROKERS, () => now);
  expect(first.next()).toBe('a:1');
  const frozen = opened(first, 'a:1');
  now += 499;
  expect(first.next()).toBe('a:1');
  now += 1;
  expect(first.next()).toBe('b:1');
  // further connections to it do not make it new
  opened(first, 'a:1');
  expect(first.next()).toBe('b:1');
  frozen.emit('data', Buffer.of(1));
  expect(first.next()).toBe('a:1');
});

/** The connection is refused. */
function refused(first: FirstBroker, broker: string): void {
  const socket = opened(first, broker);
  socket.emit('error', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
  socket.emit('close');
}

test('a broker that refuses connections is passed over at once', () => {
  const first = new FirstBroker(BROKERS, () => now);
  refused(first, 'a:1');
  expect(first.next()).toBe('b:1');
});

test('a connection that this process gave up early says nothing about the broker', () => {
  const first = new FirstBroker(BROKERS, () => now);
  const early = opened(first, 'a:1');
  now += 100;
  early.emit('close');
  now += 1_000;
  expect(first.next()).toBe('a:1');
  const patient = opened(first, 'a:1');
  now += 3_000;
  patient.emit('close');
  expect(first.next()).toBe('b:1');
});

test('where all are silent each is asked in turn', () => {
  const first = new FirstBroker(BROKERS, () => now);
  const asked: string[] = [];
  for (let times = 0; times < 6; times++) {
    const broker = first.next();
    asked.push(broker);
    refused(first, broker);
    now += 10;
  }
  expect(asked).toEqual([...BROKERS, ...BROKERS]);
});
