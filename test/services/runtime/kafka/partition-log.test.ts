import { expect, test } from 'vitest';
import { PartitionLog } from '../../../../services/runtime/kafka/partition-log.ts';
import type { Fetcher, LogBatch } from '../../../../services/runtime/kafka/port.ts';
import { LogLost } from '../../../../services/runtime/kafka/position.ts';
import { fingerprint, type LogRecord } from '../../../../services/runtime/kafka/record.ts';

const TOPIC = { topic: 't', topic_id: 'id', partition: 0 };

function record(offset: number, value: string): LogRecord {
  return {
    offset: BigInt(offset),
    timestamp: 1,
    key: null,
    value: Buffer.from(value),
    headers: {},
  };
}

/** Consecutive records from `from` on; no values: the mark of a transaction. */
function batch(from: number, leader_epoch: number, ...values: readonly string[]): LogBatch {
  const records = values.map((value, at) => record(from + at, value));
  return {
    base_offset: BigInt(from),
    last_offset: BigInt(from + Math.max(0, values.length - 1)),
    leader_epoch,
    is_void: values.length === 0,
    records,
  };
}

/** A log of a test, which may change while it is read. `at_once`: batches of one answer. */
function logOf(...batches: LogBatch[]) {
  return answering(Infinity, batches);
}

function answering(at_once: number, batches: LogBatch[]) {
  const fetched: bigint[] = [];
  const fetcher: Fetcher = {
    topicId: () => Promise.resolve('id'),
    disconnect: () => Promise.resolve(),
    fetch({ offset }) {
      fetched.push(offset);
      const rest = batches.filter((each) => each.last_offset >= offset);
      return Promise.resolve(rest.slice(0, at_once));
    },
  };
  return { batches, fetched, fetcher };
}

function readerOf(fetcher: Fetcher, next = 0, last?: LogRecord): PartitionLog {
  return new PartitionLog({
    ...TOPIC,
    fetcher,
    next_offset: BigInt(next),
    last_record: last === undefined ? null : fingerprint(last),
    bytes_max: 1,
    wait_ms: 1,
  });
}

async function valuesOf(reader: PartitionLog): Promise<readonly string[]> {
  return (await reader.read()).map(({ value }) => String(value));
}

test('an unclean election that replaced the last record halts the reader at the next one', async () => {
  const { batches, fetcher } = logOf(batch(0, 0, 'pin', 'alice', 'bob'));
  const reader = readerOf(fetcher);
  expect(await valuesOf(reader)).toEqual(['pin', 'alice', 'bob']);
  // the leader of epoch 1 lacks bob; his record is written again behind another one
  batches.splice(0, 1, batch(0, 0, 'pin', 'alice'), batch(2, 1, 'carol'), batch(3, 1, 'bob'));
  await expect(reader.read()).rejects.toThrow(
    't/0: the record at offset 2 is not the one that was applied',
  );
});

test('another leader that has everything is read on, after one comparison', async () => {
  const { batches, fetched, fetcher } = logOf(batch(0, 0, 'a', 'b'));
  const reader = readerOf(fetcher);
  await reader.read();
  batches.push(batch(2, 1, 'c'), batch(3, 2, 'd'));
  expect(await valuesOf(reader)).toEqual(['c', 'd']);
  batches.push(batch(4, 2, 'e'));
  expect(await valuesOf(reader)).toEqual(['e']);
  expect(fetched).toEqual([0n, 2n, 1n, 4n]);
});

test('another leader is read on where no two batches fit into one answer', async () => {
  const { fetched, fetcher } = answering(1, [
    batch(0, 0, 'a', 'b'),
    batch(2, 0),
    batch(3, 1, 'c'),
    batch(4, 2, 'd'),
  ]);
  for (const [next, last, rest] of [
    [0, undefined, ['a', 'b', 'c', 'd']],
    [3, record(1, 'b'), ['c', 'd']],
  ] as const) {
    const reader = readerOf(fetcher, next, last);
    const values: string[] = [];
    while (reader.next < 5n && fetched.length < 100) values.push(...(await valuesOf(reader)));
    expect(values).toEqual(rest);
  }
});

test('the record before the position is looked for behind marks of transactions', async () => {
  const { fetcher } = logOf(batch(0, 0, 'a'), batch(1, 0), batch(2, 0), batch(3, 0, 'b'));
  expect(await valuesOf(readerOf(fetcher, 3, record(0, 'a')))).toEqual(['b']);
  await expect(readerOf(fetcher, 3, record(0, 'x')).read()).rejects.toThrow(LogLost);
  const { fetcher: begun } = logOf(batch(0, 0), batch(1, 0, 'a'));
  expect(await valuesOf(readerOf(begun, 1, record(0, 'x')))).toEqual(['a']);
});

test.each([
  ['between batches', [batch(0, 0, 'a'), batch(2, 0, 'b')], 1, 2],
  [
    'within a batch',
    [{ ...batch(0, 0, 'a'), last_offset: 2n, records: [record(0, 'a'), record(2, 'c')] }],
    1,
    2,
  ],
  ['at the end of a batch', [{ ...batch(0, 0, 'a'), last_offset: 2n }], 1, 3],
] as const)('a missing record halts: %s', async (_where, batches, missing, next) => {
  await expect(readerOf(logOf(...batches).fetcher).read()).rejects.toThrow(
    `the log has no record at offset ${missing}, after the one before it comes ${next}`,
  );
});

test('a compacted log halts a reader in words, and one of any log reads over the gap', async () => {
  // of the first batch the records at offsets 1 and 2 were compacted away, then a whole batch
  const kept = { ...batch(0, 0, 'a'), last_offset: 2n };
  const batches = [kept, batch(13, 0, 'b')];
  await expect(readerOf(logOf(...batches).fetcher).read()).rejects.toThrow('it was compacted');
  // in the gap: brokers answer with the batch around the offset, whose records are all before it
  const reader = new PartitionLog({
    ...TOPIC,
    fetcher: answering(1, batches).fetcher,
    next_offset: 1n,
    last_record: null,
    lenient: true,
    bytes_max: 1,
    wait_ms: 1,
  });
  expect([await valuesOf(reader), reader.next]).toEqual([[], 3n]);
  expect([await valuesOf(reader), reader.next]).toEqual([['b'], 14n]);
});
