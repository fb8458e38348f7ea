import { expect, test } from 'vitest';
import type { Checkpoint } from '../../../../services/projector/engine/checkpoint.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { topicMissing } from '../../../../services/runtime/kafka/port.ts';
import { Progress } from '../../../../services/projector/engine/progress.ts';
import { silentLog } from '../../../support/kafka.ts';

function open(
  checkpoints: () => Promise<readonly Checkpoint[]>,
  silenceMs = 60_000,
): { progress: Progress; undone: () => number; lag: () => Promise<string | undefined> } {
  const metrics = new Metrics('test');
  let undone = 0;
  return {
    progress: new Progress({
      metrics,
      log: silentLog(),
      silence_ms: silenceMs,
      checkpoints,
      onUndone: () => void undone++,
    }),
    undone: () => undone,
    lag: async () => /projection_lag_records\{.*\} (\d+)/.exec(await metrics.text())?.[1],
  };
}

function checkpoint(next: bigint): Checkpoint {
  return {
    topic: 'log',
    partition: 0,
    cluster_id: 'c',
    next_offset: next,
    last_record: null,
    digest: Buffer.alloc(32),
  };
}

test('the lag is that of the end of the log', async () => {
  const { progress, lag } = open(() => Promise.resolve([]));
  expect(await lag()).toBeUndefined();
  progress.heard('log', 0, 7n);
  expect(await lag()).toBe('7');
});

test('checkpoints are read only while nothing is applied here', async () => {
  let asked = 0;
  const { progress } = open(() => {
    asked++;
    return Promise.resolve([checkpoint(40n)]);
  });
  progress.applied.set('log/0', 5n);
  progress.heard('log', 0, 10n);
  progress.applied.set('log/0', 9n);
  progress.heard('log', 0, 6n);
  expect(asked).toBe(0);
  progress.heard('log', 0, 31n);
  progress.heard('log', 0, 31n);
  expect(asked).toBe(1);
  await expect.poll(() => progress.applied.get('log/0')).toBe(40n);
});

test('a checkpoint read before later commits is not reported as lost', async () => {
  const asked = Promise.withResolvers<readonly Checkpoint[]>();
  const { progress, undone } = open(() => asked.promise);
  progress.applied.set('log/0', 40n);
  progress.heard('log', 0, 13n);
  progress.heard('log', 0, 13n);
  progress.applied.set('log/0', 50n);
  asked.resolve([checkpoint(40n), { ...checkpoint(4n), partition: 1 }]);
  await expect.poll(() => progress.applied.get('log/1')).toBe(4n);
  expect(progress.applied.get('log/0')).toBe(50n);
  expect(undone()).toBe(0);
});

test('a checkpoint below the applied offset, or a missing one, is reported as lost commits', async () => {
  for (const left of [[checkpoint(40n)], []]) {
    const { progress, undone } = open(() => Promise.resolve(left));
    progress.applied.set('log/0', 50n);
    progress.heard('log', 0, 0n);
    progress.heard('log', 0, 0n);
    await expect.poll(undone).toBe(1);
    expect(progress.applied.get('log/0')).toBe(left[0]?.next_offset ?? 0n);
  }
});

test('checkpoints that cannot be read are read again later', async () => {
  const answers = [
    () => Promise.reject(new Error('away')),
    () => Promise.resolve([checkpoint(8n)]),
  ];
  const { progress } = open(() => answers.shift()?.() ?? Promise.resolve([]));
  progress.heard('log', 0, 3n);
  await expect
    .poll(() => {
      progress.heard('log', 0, 3n);
      return progress.applied.get('log/0');
    })
    .toBe(8n);
});

test('brokers silent for too long are a fault until they answer', async () => {
  const { progress } = open(() => Promise.resolve([]), 150);
  progress.heard('log', 0, 0n);
  expect(progress.silence).toBeUndefined();
  await expect.poll(() => progress.silence).toMatchObject({ code: 'kafka', retry: true });
  progress.heard('log', 0, 0n);
  expect(progress.silence).toBeUndefined();
});

test('brokers that answer without a topic are not called silent', async () => {
  const { progress } = open(() => Promise.resolve([]), 1);
  const missing = topicMissing('chain.blocks', undefined);
  progress.looked(missing);
  await expect.poll(() => progress.silence).toBe(missing);
  progress.looked(undefined);
  expect(progress.silence).toMatchObject({ code: 'kafka' });
});
