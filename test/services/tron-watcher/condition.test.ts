import { expect, test } from 'vitest';
import { topicMissing } from '../../../services/runtime/kafka/port.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { Condition } from '../../../services/tron-watcher/condition.ts';

const AWAY = new Fault('tron_unreachable', 'it cannot be reached; look at APP_TRON_URL', {
  retry: true,
});

/** `asked`: what the provider is asked about. */
function opened(now: () => number, asked?: string): Condition {
  return new Condition(now, 1_000, () => asked);
}

test('before the first success the problem is the current step or the fault', () => {
  const condition = opened(() => 0);
  expect(condition.problem?.message).toBe('starting');
  condition.doing('joining_group');
  expect(condition.problem?.message).toContain('joining the group');
  condition.failed(AWAY);
  expect(condition.problem?.message).toBe(
    'tron_unreachable: it cannot be reached; look at APP_TRON_URL',
  );
  condition.passed();
  expect(condition.problem).toBeUndefined();
});

test('a short failure is no problem; a long one states its duration, cause and remedy', () => {
  let now = 0;
  const condition = opened(() => now, 'transaction ab to TKm');
  condition.passed();
  condition.failed(AWAY);
  now = 1_000;
  expect(condition.problem).toBeUndefined();
  now = 4_400;
  expect(condition.problem?.message).toBe(
    'no address was watched for 4 s: tron_unreachable: it cannot be reached; look at APP_TRON_URL',
  );
  condition.well();
  expect(condition.problem).toBeUndefined();
});

test('an endless step without a fault is reported by its name', () => {
  let now = 0;
  const condition = opened(() => now, 'transaction ab to TKm');
  condition.passed();
  void condition.appending(() => new Promise(() => undefined));
  now = 60_000;
  expect(condition.problem?.message).toBe(
    'no address was watched for 60 s: appending to tron.transfers',
  );
});

test('an append that does not end is named, and one that has ended is not', async () => {
  let now = 0;
  const condition = opened(() => now);
  condition.passed();
  condition.doing('asking_provider');
  await condition.appending(() => Promise.resolve());
  now = 60_000;
  expect(condition.problem?.waits_for).toBe('trongrid');
  void condition.appending(() => new Promise(() => undefined));
  expect(condition.problem?.waits_for).toBe('kafka');
});

test('a question that waits for a share of the quota waits for the group of watchers', () => {
  let now = 0;
  const condition = opened(() => now);
  condition.passed();
  condition.doing('asking_provider');
  condition.shared(2_000);
  now = 2_000;
  expect(condition.problem?.waits_for).toBe('trongrid');
  now = 2_001;
  expect(condition.problem?.waits_for).toBe('kafka');
});

test('an endless question names the address and the transaction', () => {
  let now = 0;
  const condition = opened(() => now, 'transaction ab to TKm');
  condition.passed();
  condition.doing('asking_provider');
  now = 147_000;
  expect(condition.problem?.message).toBe(
    "no address was watched for 147 s: asking TRON's provider (it is asked about transaction ab to TKm)",
  );
  void condition.appending(() => new Promise(() => undefined));
  expect(condition.problem?.message).not.toContain('TKm');
});

const CLOCK = new Fault('clock_behind', 'set the clock right', { retry: true });
const BROKERS = new Fault('kafka', 'no answer', { retry: true });

test.each([
  [CLOCK, null],
  [BROKERS, 'kafka'],
])(
  'passes that fail with %s are a problem although the provider answers, until one ends well',
  (fault, dependency) => {
    let now = 0;
    const condition = opened(() => now);
    condition.passed();
    for (; now <= 1_200; now += 200) {
      condition.well();
      condition.failed(fault);
      condition.doing('asking_provider');
    }
    expect(condition.problem).toMatchObject({ status: 'waiting' });
    expect(condition.problem?.waits_for ?? null).toBe(dependency);
    expect(condition.problem?.message).toContain(fault.message);
    condition.passed();
    expect(condition.problem).toBeUndefined();
  },
);

test('a pass that goes on for long after one fault is no problem while the provider answers', () => {
  let now = 0;
  const condition = opened(() => now);
  condition.passed();
  condition.failed(BROKERS);
  for (; now < 5_000; now += 500) {
    condition.well();
    expect(condition.problem).toBeUndefined();
  }
});

test('an append that does not end is a problem with its cause, although the provider answers', async () => {
  let now = 0;
  const condition = opened(() => now);
  condition.passed();
  const acknowledged = Promise.withResolvers<void>();
  const missing = topicMissing('tron.transfers', undefined);
  const appended = condition.appending(
    () => acknowledged.promise,
    () => missing,
  );
  for (; now <= 1_000; now += 500) {
    condition.well();
    expect(condition.problem).toBeUndefined();
  }
  condition.well();
  expect(condition.problem).toMatchObject({ status: 'waiting', waits_for: 'kafka' });
  expect(condition.problem?.message).toContain('have no topic tron.transfers');
  acknowledged.resolve();
  await appended;
  expect(condition.problem).toBeUndefined();
});

test('halted stays halted', () => {
  const condition = opened(() => 0);
  condition.halted('the topic is another');
  condition.passed();
  expect(condition.problem?.message).toBe('halted: the topic is another');
});
