/** A ledger whose records were replaced on disk by a topic of the same length (LOG-8). */
import { expect, inject, onTestFinished, test } from 'vitest';
import { deposits } from '../../../projections/deposits/deposits.ts';
import { headAfter, hashOfValue, NO_RECORDS } from '../../../schemas/hash-chain.ts';
import { isTreasuryEvent, type TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { TREASURY_LEDGER } from '../../../schemas/topics.ts';
import { Findings } from '../../../services/ops/audit/findings.ts';
import { ChainHeads, readHead } from '../../../services/ops/audit/head.ts';
import { LedgerAudit } from '../../../services/ops/audit/ledger-audit.ts';
import { LedgerLog } from '../../../services/ops/deposit/ledger-log.ts';
import { Runner } from '../../../services/projector/engine/runner.ts';
import { LogLost } from '../../../services/runtime/kafka/position.ts';
import { readLogEvents } from '../../../services/runtime/kafka/range.ts';
import { readLogEnds } from '../../../services/runtime/kafka/ends.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { openNotificationPublisher } from '../../../services/runtime/redis.ts';
import { freshDatabase } from '../../support/database.ts';
import { placed } from '../../support/deposit-events.ts';
import { rewriteTopic, silentLog } from '../../support/kafka.ts';
import { openTables } from '../../projections/deposits/applied.ts';
import {
  expectDeposits,
  expectHalted,
  ownWorld,
  startTreasury,
  transferTo,
  type World,
} from '../../services/treasury/world.ts';

const stack = inject('stack');
const ACCOUNTS = 6;
const BROKEN = / names [0-9a-f]{64} as the hash of the record before .* it is [0-9a-f]{64}/;

type Rewrite = (events: readonly TreasuryEvent[]) => readonly TreasuryEvent[];

/** A world with a deposit of each account, and no treasury at work. */
async function settled(): Promise<World> {
  const made = await ownWorld(stack);
  await made.openAddresses(ACCOUNTS);
  const working = startTreasury(made);
  await working.ready();
  for (let index = 0; index < ACCOUNTS; index++) {
    await made.observe(transferTo(index, 5_000_000n));
    await expectDeposits(made, { ledger_of: working, deposits: index + 1 });
  }
  await working.stop();
  return made;
}

/** Puts other events in the place of the ledger's, each with the link that it has or is given. */
async function rewrite({ kafka, codec, topics }: World, events: Rewrite): Promise<void> {
  await rewriteTopic(kafka, topics.ledger.name, (records) => {
    const before = records.map(({ value }) => codec.decode(value)).filter(isTreasuryEvent);
    const after = events(before);
    expect(after).toHaveLength(before.length);
    return after.map((event) => ({ key: Buffer.from('?'), value: codec.encode(event) }));
  });
}

interface Projecting {
  readonly runner: Pick<Runner<never>, 'status'>;
  readonly stop: () => Promise<void>;
}

/** A projector on the world's topics. */
async function project({ kafka, codec, topics }: World, writerUrl: string): Promise<Projecting> {
  const names = { topics: [topics.addresses.name, topics.ledger.name] };
  const projection = { ...deposits, ...names };
  const pool = await openTables(writerUrl, projection);
  const stopping = new AbortController();
  const metrics = new Metrics('test');
  const log = silentLog();
  const notifications = openNotificationPublisher({ ...stack, client_name: 'test' }, log, metrics);
  const group_id = `projector-${topics.ledger.name}`;
  const { signal } = stopping;
  const own = { kafka, codec, pool, notifications, metrics, log, signal, group_id };
  const runner = new Runner({ projection, ...own });
  const ended = runner.run();
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> =>
    (stopped ??= (async () => {
      stopping.abort();
      await ended;
      await notifications.close();
      await pool.end();
    })());
  onTestFinished(stop);
  return { runner, stop };
}

/** As `ops audit` reads the ledger. */
async function auditLedger({ kafka, codec, topics }: World, noted?: string): Promise<ChainHeads> {
  const topic = topics.ledger.name;
  const heads = new ChainHeads(noted === undefined ? undefined : readHead(noted));
  const audit = new LedgerAudit(new Findings(), () => false);
  const { high } = await readLogEnds(kafka, topic, 0);
  const range = { topic, partition: 0, from: 0n, to: high };
  await readLogEvents({ kafka, codec }, range, (event, record) => {
    if (!isTreasuryEvent(event)) throw new Error(`${event.type} stands in the ledger`);
    heads.record(TREASURY_LEDGER.name, 0, event, record);
    audit.apply(event, record.offset, hashOfValue(record.value));
  });
  return heads;
}

const changed: Rewrite = (events) =>
  events.map((event, at) =>
    at === 2 && event.type === 'DepositConfirmed' ? { ...event, gross: 9_000_000n } : event,
  );

const REWRITES: readonly (readonly [string, Rewrite])[] = [
  ['a changed record', changed],
  [
    'two records in another order',
    (events) => {
      const [policy, one, other, ...rest] = events;
      if (policy === undefined || one === undefined || other === undefined) return events;
      return [policy, { ...other, sequence: 1 }, { ...one, sequence: 2 }, ...rest];
    },
  ],
  [
    'a record removed, and another at the end',
    (events) => {
      const moved = placed(events.toSpliced(2, 1));
      const [last] = moved.slice(-1);
      return last === undefined ? moved : [...moved, { ...last, sequence: moved.length }];
    },
  ],
];

test.each(REWRITES)('%s halts every reader of the ledger', async (_, events) => {
  const world = await settled();
  await rewrite(world, events);
  const treasury = startTreasury(world);
  await expectHalted(treasury, BROKEN);
  await treasury.stop();
  const { writer_url: url } = await freshDatabase(stack);
  const { runner, stop } = await project(world, url);
  await expect
    .poll(() => runner.status, { interval: 20 })
    .toMatchObject({
      status: 'halted',
      reason: expect.stringMatching(BROKEN),
    });
  await stop();
  const { kafka, codec, topics } = world;
  const log = new LedgerLog({ kafka, codec, log: silentLog(), topic: topics.ledger.name });
  await expect(log.catchUp()).rejects.toThrow(LogLost);
  await expect(auditLedger(world)).rejects.toThrow(LogLost);
});

/** With new hashes: a chain of its own. */
function relinked(world: World, events: readonly TreasuryEvent[]): readonly TreasuryEvent[] {
  let previous = NO_RECORDS;
  return events.map((event) => {
    const linked = { ...event, previous };
    previous = headAfter(previous, hashOfValue(world.codec.encode(linked)));
    return linked;
  });
}

test('a head that was noted is found in the log that has grown, and not in one written anew with new hashes', async () => {
  const world = await settled();
  const [noted] = (await auditLedger(world)).heads;
  const treasury = startTreasury(world);
  await treasury.ready();
  await world.observe(transferTo(0, 7_000_000n));
  await expectDeposits(world, { ledger_of: treasury, deposits: ACCOUNTS + 1 });
  await treasury.stop();
  const grown = await auditLedger(world, noted?.head);
  expect(grown.found).toMatchObject({ offset: noted?.offset });

  await rewrite(world, (events) => relinked(world, changed(events)));
  expect((await auditLedger(world, noted?.head)).found).toBe(null);
});
