import { expect, inject, test } from 'vitest';
import type { PartitionRange } from '../../../../../services/ops/tail/range.ts';
import { RecordSchemas } from '../../../../../services/ops/tail/records.ts';
import { tailLog, type TailOptions } from '../../../../../services/ops/tail/tail-log.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import {
  appendAll,
  freshTopic,
  never,
  numbered,
  range,
  silentLog,
  testKafka,
} from '../../../../support/kafka.ts';

const stack = inject('stack');
const kafka = testKafka(stack);

function all(partition: number, to?: bigint): PartitionRange {
  return { partition, start: 0n, from: 0n, to, before: undefined };
}

async function tailing(
  change: Pick<TailOptions, 'topic' | 'ranges' | 'render' | 'write'> & Partial<TailOptions>,
): Promise<{ read: number; shown: number }> {
  const schemas = new RecordSchemas(stack);
  const found = await tailLog({
    kafka,
    schemas,
    onFault: () => undefined,
    limit: Infinity,
    log: silentLog(),
    signal: never,
    ...change,
  });
  return { read: found.read, shown: found.shown };
}

test('each record is shown once and in order while connections are cut and reset', async () => {
  const topic = await freshTopic(kafka, { partitions: 2 });
  const proxy = await FaultProxy.open({
    port: Number(stack.kafka_brokers.split(':')[1]),
    requests: 'kafka',
    api_keys: [1],
  });
  const seen: number[][] = [[], []];
  let cuts = 0;
  proxy.resetEvery(3, 11);
  const done = tailing({
    kafka: testKafka(stack, proxy),
    topic,
    ranges: [all(0, 1_000n), all(1, 1_000n)],
    render: (partition, { value }) => `${partition} ${value?.toString() ?? ''}\n`,
    write(text) {
      for (const line of text.trimEnd().split('\n')) {
        const [partition = 0, number = -1] = line.split(' ').map(Number);
        seen[partition]?.push(number);
      }
      if (++cuts % 10 === 0) proxy.cut();
      return Promise.resolve(true);
    },
  });
  for (let from = 0; from < 1_000; from += 100) {
    await appendAll(kafka, topic, numbered(from, 100), 0);
    await appendAll(kafka, topic, numbered(from, 100), 1);
    await expect.poll(() => seen[1]?.length).toBe(from + 100);
  }
  expect(await done).toEqual({ read: 2_000, shown: 2_000 });
  expect(seen).toEqual([range(0, 1_000), range(0, 1_000)]);
  expect(proxy.counts.reset_before + proxy.counts.reset_after).toBeGreaterThan(0);
  await proxy.close();
});

test('a slow writer is waited for, and no more text is held than one piece', async () => {
  const topic = await freshTopic(kafka);
  await appendAll(kafka, topic, numbered(0, 3_000));
  const wide = 'x'.repeat(1_000);
  let writing = 0;
  const sizes: number[] = [];
  await tailing({
    topic,
    ranges: [all(0, 3_000n)],
    render: () => `${wide}\n`,
    async write(text) {
      expect(++writing).toBe(1);
      sizes.push(text.length);
      await new Promise((resolve) => setImmediate(resolve));
      writing--;
      return true;
    },
  });
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(3_000 * 1_001);
  expect(Math.max(...sizes)).toBeLessThan(300_000);
});

const render: TailOptions['render'] = (_, { offset }) => `${offset}\n`;

test('a writer that wants no more, the limit and the signal each end it', async () => {
  const topic = await freshTopic(kafka);
  await appendAll(kafka, topic, numbered(0, 10));
  expect(
    await tailing({ topic, ranges: [all(0)], render, write: () => Promise.resolve(false) }),
  ).toEqual({ read: 10, shown: 10 });
  let text = '';
  const write = (piece: string): Promise<boolean> => {
    text += piece;
    return Promise.resolve(true);
  };
  expect(await tailing({ topic, ranges: [all(0)], render, write, limit: 3 })).toEqual({
    read: 3,
    shown: 3,
  });
  expect(text).toBe('0\n1\n2\n');
  const stopping = new AbortController();
  const stops = (): Promise<boolean> => {
    stopping.abort();
    return Promise.resolve(true);
  };
  expect(
    await tailing({ topic, ranges: [all(0)], render, write: stops, signal: stopping.signal }),
  ).toEqual({ read: 10, shown: 10 });
});

test('a log that does not hold the next offset any more ends it with a LogLost', async () => {
  const topic = await freshTopic(kafka);
  await appendAll(kafka, topic, numbered(0, 10));
  const range10 = { partition: 0, start: 20n, from: 20n, to: undefined, before: undefined };
  await expect(
    tailing({ topic, ranges: [range10], render, write: () => Promise.resolve(true) }),
  ).rejects.toThrow('does not hold offset 20 any more');
});
