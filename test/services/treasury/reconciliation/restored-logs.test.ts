/** The logs behind reserve runs at a restart: what halts one start halts the next. */
import { deserialize, serialize } from 'node:v8';
import { expect, onTestFinished, test } from 'vitest';
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { hashOfValue, NO_RECORDS } from '../../../../schemas/hash-chain.ts';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import {
  CHAIN_BLOCKS,
  PROJECTOR_SKIPS,
  RESERVE_RUNS,
  TREASURY_LEDGER,
  TREASURY_SNAPSHOTS,
} from '../../../../schemas/topics.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import type { Codec } from '../../../../services/runtime/kafka/codec.ts';
import type { LogEntry } from '../../../../services/runtime/kafka/record.ts';
import { LogLost } from '../../../../services/runtime/kafka/position.ts';
import { assert } from '../../../../services/runtime/process/errors.ts';
import { Snapshots } from '../../../../services/runtime/snapshots/snapshots.ts';
import { ReserveLogs } from '../../../../services/treasury/reconciliation/logs.ts';
import { NewestRun } from '../../../../services/treasury/reconciliation/newest-run.ts';
import { never, silentLog } from '../../../support/kafka.ts';
import { MemoryKafka } from '../../../support/memory-kafka.ts';
import { randomLogs } from '../../ops/audit/random-logs.ts';

const LOGS = [CHAIN_BLOCKS, TREASURY_LEDGER, RESERVE_RUNS, PROJECTOR_SKIPS];
const { ledger, chain, runs } = randomLogs(2);
const OFFSET = 5;

/** Each event has one text: V8 writes a number in one way or another as it happens to keep it. */
const texts = new WeakMap<object, Buffer>();

/** As Avro does, gives an event the default of `previous`, without which no value is hashed. */
const codec: Codec = {
  learn: () => Promise.resolve(),
  decode: (value) => ({ previous: NO_RECORDS, ...deserialize(value ?? Buffer.alloc(0)) }),
  encode: (event) => {
    const text = texts.get(event) ?? serialize(event);
    texts.set(event, text);
    return text;
  },
  fingerprintOf: () => '',
};

/** A run that published this head of the ledger's first records. */
function runOf(ledger_head: Buffer): ReserveReconciled {
  const [run] = runs;
  assert(run !== undefined, 'these logs have a run');
  return { ...run, sequence: 0, ledger_offset: OFFSET, ledger_head };
}

function entries(all: readonly { readonly type: string }[]): LogEntry[] {
  return all.map((event) => ({ key: 'k', value: codec.encode(event), headers: {}, timestamp: 1 }));
}

function kafkaOf(events: readonly TreasuryEvent[], run: ReserveReconciled): MemoryKafka {
  const kafka = new MemoryKafka([...LOGS, TREASURY_SNAPSHOTS]);
  kafka.append(CHAIN_BLOCKS.name, 0, entries(chain));
  kafka.append(TREASURY_LEDGER.name, 0, entries(events));
  kafka.append(RESERVE_RUNS.name, 0, entries([run]));
  return kafka;
}

async function start(
  kafka: MemoryKafka,
  without?: string,
): Promise<{ readonly logs: ReserveLogs; readonly snapshots: Snapshots; ended: () => unknown }> {
  const stop = new AbortController();
  const snapshots = new Snapshots({
    kafka,
    topic: TREASURY_SNAPSHOTS,
    key: Buffer.alloc(32, 1),
    log: silentLog(),
    names: ['runs', 'supply', 'reserve'],
    bytes_min: 1,
    version: 'ours',
  });
  await snapshots.load();
  expect(snapshots.unfit).toBe(undefined);
  if (without !== undefined) snapshots.take(without);
  const logs = new ReserveLogs({
    kafka,
    codec,
    log: silentLog(),
    signal: stop.signal,
    newest: new NewestRun(),
    onLag: () => undefined,
    snapshots,
  });
  let ended: unknown;
  const running = logs.run().catch((error: unknown) => (ended = error));
  onTestFinished(async () => {
    stop.abort();
    await running;
  });
  return { logs, snapshots, ended: () => ended };
}

const END = BigInt(ledger.length);

test('a ledger that is not that of a run leaves no snapshot, and halts the next start too', async () => {
  const kafka = kafkaOf(ledger, runOf(Buffer.alloc(32, 9)));
  for (let starts = 0; starts < 2; starts++) {
    const { snapshots, ended } = await start(kafka);
    await expect.poll(ended).toBeInstanceOf(LogLost);
    expect(snapshots.is_due).toBe(false);
  }
});

test('runs are read again where the ledger is: its heads are compared with all of them', async () => {
  const plain = new Ledger();
  for (const [at, event] of ledger.slice(0, OFFSET).entries())
    plain.apply(event, BigInt(at), hashOfValue(codec.encode(event)));
  const run = runOf(plain.head);
  const kafka = kafkaOf(ledger, run);
  const first = await start(kafka);
  await expect.poll(() => first.logs.ledger.end).toBe(END);
  await expect.poll(() => first.snapshots.is_due).toBe(true);
  await first.snapshots.write(never);

  const whole = await start(kafka);
  await expect.poll(() => whole.logs.ledger.end).toBe(END);
  expect(whole.ended()).toBe(undefined);

  // written anew in its middle, and the snapshot has no state of it
  const [pinned] = ledger;
  assert(pinned !== undefined, 'these logs have a ledger');
  const rewritten = kafkaOf([{ ...pinned, decided_at: 1 }, ...ledger.slice(1)], run);
  for (const { key, value, headers, timestamp } of kafka.records(TREASURY_SNAPSHOTS.name, 0))
    rewritten.append(TREASURY_SNAPSHOTS.name, 0, [
      { key: String(key), value: value ?? Buffer.alloc(0), headers, timestamp },
    ]);
  const again = await start(rewritten, 'reserve');
  await expect.poll(again.ended).toBeInstanceOf(LogLost);
});
