import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  faultNotes,
  patience,
  retryingWithNotes,
  unlessSilent,
} from '../../../services/ops/connections.ts';
import { tailLog } from '../../../services/ops/tail/tail-log.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { never, numbered, silentLog } from '../../support/kafka.ts';
import { MemoryKafka } from '../../support/memory-kafka.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

test('a server that is away for more than two seconds is told once, and so is its return', () => {
  const said: string[] = [];
  const onFault = faultNotes((text) => said.push(text));
  const fault = new Fault('kafka', 'no broker answers', { retry: true });
  onFault(fault, 'reading a/0');
  vi.advanceTimersByTime(2_000);
  onFault(fault, 'reading a/0');
  onFault(fault, 'reading a/1');
  onFault(undefined, 'reading a/1');
  expect(said).toEqual([]);
  for (const _time of [1, 2]) {
    vi.advanceTimersByTime(1);
    onFault(fault, 'reading a/0');
  }
  onFault(undefined, 'reading a/0');
  onFault(undefined, 'reading a/0');
  expect(said).toEqual(['waiting, reading a/0: no broker answers', 'going on']);
});

test('reading that is tried again is told as long as it fails', async () => {
  const said: string[] = [];
  const reading = retryingWithNotes(new AbortController().signal, (text) => said.push(text));
  let tries = 0;
  const read = reading('reading a/0', async () => {
    vi.advanceTimersByTime(1_500);
    if (++tries <= 3) throw new Fault('kafka', 'no broker answers', { retry: true });
    return await Promise.resolve(tries);
  });
  expect(await read).toBe(4);
  expect(said).toEqual(['waiting, reading a/0: no broker answers', 'going on']);
});

test('a fault that lasts for ten minutes without a success in between ends the retries', () => {
  const giveUp = patience();
  const fault = new Fault('kafka', 'no broker answers', { retry: true });
  giveUp(fault, 'reading a/0');
  vi.advanceTimersByTime(599_999);
  giveUp(fault, 'reading a/0');
  giveUp(fault, 'reading a/1');
  giveUp(undefined, 'reading a/0');
  giveUp(fault, 'reading a/0');
  vi.advanceTimersByTime(599_999);
  giveUp(fault, 'reading a/0');
  giveUp(undefined, 'reading a/1');
  vi.advanceTimersByTime(1);
  giveUp(fault, 'reading a/1');
  const last = new Fault('kafka', 'the last one', { retry: true });
  expect(() => giveUp(last, 'reading a/0')).toThrow(last);
});

const RESET = new Error('the connection was reset');
const GONE = Object.assign(new Error('gone'), { type: 'UNKNOWN_TOPIC_ID' });

test('a topic that the brokers do not know for ten seconds ends the retries with what to do', () => {
  const giveUp = patience();
  const away = new Fault('kafka', 'no broker answers', { retry: true });
  const gone = new Fault('kafka', 'the topic is unknown', { retry: true, cause: GONE });
  for (const other of [away, undefined]) {
    giveUp(gone, 'reading a/0');
    vi.advanceTimersByTime(9_999);
    giveUp(gone, 'reading a/0');
    giveUp(other, 'reading a/0');
  }
  giveUp(gone, 'reading a/0');
  vi.advanceTimersByTime(10_000);
  giveUp(gone, 'reading a/1');
  expect(() => giveUp(gone, 'reading a/0')).toThrow('the topic is unknown: look who has removed');
});

test('reading a topic waits for brokers that are away, and ends where they do not know it', async () => {
  const errors: Error[] = [];
  const { name: topic } = TREASURY_LEDGER;
  const kafka = new MemoryKafka([TREASURY_LEDGER], {
    onRequest() {
      vi.advanceTimersByTime(6_000_000);
      const error = errors.shift();
      if (error !== undefined) throw error;
    },
  });
  kafka.append(topic, 0, numbered(0, 1));
  errors.push(RESET, RESET, GONE, GONE, GONE);
  const read = tailLog({
    kafka,
    topic,
    ranges: [{ partition: 0, start: 0n, from: 0n, to: undefined, before: undefined }],
    schemas: { knows: () => true, learn: () => Promise.resolve() },
    render: () => undefined,
    write: () => Promise.resolve(true),
    onFault: faultNotes(() => undefined, patience(Infinity)),
    limit: Infinity,
    log: silentLog(),
    signal: never,
  });
  await expect(read).rejects.toMatchObject({ code: 'kafka', retry: false, cause: { cause: GONE } });
  expect(errors).toEqual([GONE]);
});

test('reading ends once nothing was heard for a time, and not while something is heard', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const hearing = Promise.withResolvers<() => void>();
  const reading = unlessSilent(20_000, (heard) => {
    hearing.resolve(heard);
    return new Promise(() => undefined);
  });
  const hear = await hearing.promise;
  const ended = vi.fn();
  reading.catch(ended);
  for (let times = 0; times < 5; times++) {
    await vi.advanceTimersByTimeAsync(19_000);
    hear();
  }
  expect(ended).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(20_000);
  await expect(reading).rejects.toMatchObject({ code: 'timeout' });
});
