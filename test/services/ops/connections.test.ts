import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { faultNotes, patience, retryingWithNotes } from '../../../services/ops/connections.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';

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
