import { beforeAll, expect, inject, onTestFinished, test } from 'vitest';
import { settled } from '../../../../../projections/chain/chain.ts';
import type { Projection } from '../../../../../projections/contract/projection.ts';
import type { ExplorerEvent } from '../../../../../projections/explorer/events.ts';
import { Engine, type EngineOptions } from '../../../../../services/projector/engine/engine.ts';
import { partitionKey } from '../../../../../services/runtime/kafka/position.ts';
import { chainEvents } from '../../../../support/chain.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { insisting, silentLog } from '../../../../support/kafka.ts';
import {
  holdWrites,
  isMarkedIndexed,
  isRunning,
} from '../../../../services/projector/engine/loading.ts';
import {
  faultAtCommit,
  ownExplorer,
  proxyOf,
  type TableOptions,
  type Tables,
} from '../../../../services/projector/engine/projected.ts';
import {
  expectProjected,
  openOwnLog,
  openProjected,
  type Projected,
} from '../../../../services/projector/engine/running.ts';

const stack = inject('stack');
let writerUrl: string;

beforeAll(async () => {
  ({ writer_url: writerUrl } = await freshDatabase(stack));
});

const EVENTS = [
  ...chainEvents({ seed: 7, blocks: 60, transactions_per_block: 3, reorg_probability: 0 }),
];

/** A log of these events, and tables of it; no batch has more than ten records. */
async function open(
  change: (topic: string) => Promise<Partial<Projection<ExplorerEvent>>> = async () => ({}),
  options: TableOptions = { indexed: false },
): Promise<Projected> {
  const log = await openOwnLog(stack);
  await log.append(EVENTS);
  const own = { settled, records_max: 10, ...(await change(log.topic)) };
  return openProjected(log, writerUrl, options, own);
}

/** An engine over them; it is closed when the test has finished. */
async function start(
  { projection, pool, log }: Projected,
  change: Partial<EngineOptions<ExplorerEvent>> = {},
): Promise<Engine<ExplorerEvent>> {
  const over = new AbortController();
  const engine = new Engine({
    projection,
    kafka: log.kafka,
    codec: log.codec,
    pool,
    log: silentLog(),
    signal: over.signal,
    retrying: insisting,
    applied: new Map(),
    ...change,
  });
  onTestFinished(async () => {
    over.abort();
    await engine.close();
  });
  await engine.start();
  await engine.refresh();
  return engine;
}

/** Statements that Postgres runs in the database of this file, but those that ask this. */
async function running({ pool }: Tables): Promise<readonly string[]> {
  const { rows } = await pool.query<{ query: string }>(
    `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND state = 'active' AND query NOT LIKE '%pg_stat_activity%'`,
  );
  return rows.map(({ query }) => query);
}

const FOLD_MS = 40;

test.each([
  ['of many batches', false],
  ['of one batch, as several topics are read,', true],
])(
  'a load in transactions %s rests as long as its pace says, and Postgres runs nothing meanwhile',
  async (_transactions, hasTwoTopics) => {
    let now = 0;
    let worked = 0;
    const plain = ownExplorer();
    const opened = await open(async (topic) => ({
      topics: hasTwoTopics ? [topic, (await openOwnLog(stack)).topic] : [topic],
      fold: (...given: Parameters<typeof plain.fold>) => {
        now += FOLD_MS;
        worked += FOLD_MS;
        return plain.fold(...given);
      },
    }));
    const rests: object[] = [];
    const wanted: object[] = [];
    const wait = async (ms: number): Promise<void> => {
      wanted.push({ ms: worked * 4, busy: [] });
      worked = 0;
      rests.push({ ms, busy: await running(opened) });
      now += ms;
    };
    const engine = await start(opened, { pace: 0.2, timing: { now: () => now, wait } });
    const held = await holdWrites(writerUrl, opened.projection.name, 'blocks');
    await engine.begin();
    const loading = engine.finishLoad();
    await expect.poll(() => isRunning(opened.pool, '%COPY blocks %')).toBe(true);
    // the rest before the first batch
    expect(rests).toEqual([{ ms: 0, busy: [] }]);
    await held.letGo();
    await loading;
    expect(rests).toEqual(wanted);
    expect(rests.length).toBeGreaterThan(EVENTS.length / 10);
    await expectProjected(opened, EVENTS);
  },
);

test.each([
  ['live tables', true],
  ['a load up to given offsets, which builds no index', false],
])('%s reach the end of a log although no COMMIT is answered', async (_tables, indexed) => {
  const proxy = await proxyOf(writerUrl);
  // limit under test: a broken connection may leave a lock for so long
  const opened = await open(undefined, { through: proxy, lock_timeout_ms: 2_000, indexed });
  const { projection, pool, log } = opened;
  faultAtCommit(pool, proxy, () => 'reset_after');
  const ends = new Map([[partitionKey(log.topic, 0), BigInt(EVENTS.length)]]);
  const built: string[] = [];
  const engine = await start(opened, {
    exact: !indexed,
    indexes: { onStep: (what) => built.push(what) },
  });
  await engine.begin(indexed ? undefined : ends);
  await engine.reach(ends);
  expect(proxy.counts.reset_after).toBeGreaterThan(0);
  await expectProjected(opened, EVENTS);
  expect(built).toEqual([]);
  expect(await isMarkedIndexed(pool, projection.name)).toBe(indexed);
});
