/** A generated chain of some size: in the topic, loaded by the projector, served by a gateway. */
import { explorer } from '../../projections/explorer/explorer.ts';
import { warmTables } from '../../services/projector/tables/index-build.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { Random } from '../support/random.ts';
import type { Stack } from '../support/stack.ts';
import { askInTurns, compare, type Asked, type Compared } from './ask-pages.ts';
import { say } from './bench.ts';
import { emptyDatabase, settle, vacuum, withPool, type BenchDatabase } from './databases.ts';
import { fillTopic, type Filled } from './fill-topic.ts';
import type { GeneratedChainSettings } from './generator.ts';
import { loadByProjector, type Loaded } from './load-projection.ts';
import { pageMixOf } from './page-mix.ts';
import type { BenchReport, Measured, Ratio } from './report.ts';

/** Kinds of what is asked for. */
type Kind = 'list' | 'balance' | 'thing';

function kindOf(asked: string): Kind {
  if (/^(blocks|transactions|activity|validators)\b/.test(asked)) return 'list';
  return asked.startsWith('balance ') ? 'balance' : 'thing';
}

const log = openLog({ service: 'bench', level: 'error' });

export interface Sized {
  readonly transactions: number;
  readonly filled: Filled;
  readonly database: BenchDatabase;
  readonly loaded: Loaded;
}

/** Fills the topic, and loads it. */
export async function loadChain(stack: Stack, settings: GeneratedChainSettings): Promise<Sized> {
  const { transactions } = settings;
  const filled = await fillTopic(stack.addresses, settings, log, say);
  const database = await emptyDatabase(stack);
  const loaded = await loadByProjector(stack, database, filled.end);
  say(
    `${transactions} transactions loaded in ${loaded.seconds.toFixed(1)} s, at most ${Math.round(Math.max(...loaded.resident))} MiB`,
  );
  await vacuum(stack, database);
  return { transactions, filled, database, loaded };
}

/** Without the start, which takes as long at any size. */
export function loadSeconds({ loaded }: Sized): number {
  return loaded.seconds - loaded.starting_seconds;
}

/** A gateway that keeps no answers, and what it is asked for. */
async function serveChain(stack: Stack, { database, filled }: Sized, seed: number): Promise<Asked> {
  const settings = {
    APP_POSTGRES_READER_URL: database.reader_url,
    APP_RATE_PER_SECOND: '0',
    APP_ANSWERS_KEPT_MAX: '0',
    APP_LOG_LEVEL: 'warn',
  };
  const gateway = await stack.spawnService('explorer-gateway', settings);
  await gateway.ready();
  const mix = await withPool(database, (pool) => pageMixOf(pool, filled.counts, new Random(seed)));
  return { url: gateway.url, mix };
}

/** Pages of 8 KiB that were not in Postgres' memory when they were asked for, so far. */
async function blocksRead({ database }: Sized): Promise<number> {
  const { rows } = await withPool(database, (pool) =>
    pool.query<{ read: number }>(
      'SELECT blks_read::int AS read FROM pg_stat_database WHERE datname = current_database()',
    ),
  );
  return rows[0]?.read ?? 0;
}

/** The load times of each, and the projector's memory. */
export function loadFigures(sizes: readonly Sized[]): readonly Measured[] {
  return [
    ...sizes.map(({ transactions: count, loaded }) => ({
      what: `load of ${count.toLocaleString('en')}, empty database to live`,
      unit: 's',
      rounds: [loaded.seconds],
    })),
    ...sizes.map(({ transactions: count, loaded }) => ({
      what: `  of which start of the process and its tables (${count.toLocaleString('en')})`,
      unit: 's',
      rounds: [loaded.starting_seconds],
    })),
    ...sizes.flatMap(({ transactions: count, loaded }) =>
      (['projector', 'postgres', 'kafka'] as const).map((who) => ({
        what: `  processor time of ${who} (${count.toLocaleString('en')})`,
        unit: 'µs a transaction',
        rounds: [(loaded.processor[who] / count) * 1e6],
      })),
    ),
    ...sizes.map(({ transactions: count, loaded }) => ({
      what: `  the projector's resident memory, at most (${count.toLocaleString('en')})`,
      unit: 'MiB',
      rounds: [Math.max(...loaded.resident)],
    })),
  ];
}

/**
 * Pages of a small chain, which is in memory, and of a large one, asked for in turns; the p99 of
 * the worst list, and the worst balance at a height, against their goal.
 */
export async function comparePages(
  stack: Stack,
  [small, large]: readonly [Sized, Sized],
  requests: number,
  seed: number,
  goal: string,
): Promise<Pick<BenchReport, 'measured' | 'ratios'> & { readonly detail: readonly Compared[] }> {
  // the large load has evicted it: waiting for the disk here would favour the large one
  const warm = await withPool(small.database, (pool) =>
    warmTables(pool, explorer.tables, { signal: new AbortController().signal }),
  );
  if (warm === undefined)
    throw new Error(
      'the database has no extension pg_prewarm, without which the two cannot be compared: install it',
    );
  const both = [small, large];
  const asked = [await serveChain(stack, small, seed), await serveChain(stack, large, seed)];
  await settle(stack);
  say(`${requests} requests of each list to each, after a warm-up`);
  const before = await Promise.all(both.map(blocksRead));
  const [ofSmall, ofLarge] = await askInTurns(asked, requests, seed);
  const after = await Promise.all(both.map(blocksRead));
  if (ofSmall === undefined || ofLarge === undefined) throw new Error('nobody was asked');
  const detail = compare(ofSmall, ofLarge);
  const slowest = detail.toSorted((one, other) => other.p99_ratio - one.p99_ratio);
  const worstOf = (what: string, kind: Kind): Ratio => {
    const worst = slowest.find(({ list }) => kindOf(list) === kind);
    return {
      what: `p99 of ${what}, large / small, worst (${worst?.list ?? ''})`,
      ratio: worst?.p99_ratio ?? Number.NaN,
      ...(kind === 'thing' ? {} : { goal }),
    };
  };
  return {
    detail,
    measured: ['small', 'large'].map((which, at) => ({
      what: `blocks of the ${which} that were not in Postgres’ buffers when they were asked for`,
      unit: '',
      rounds: [(after[at] ?? 0) - (before[at] ?? 0)],
    })),
    ratios: [
      worstOf('a list', 'list'),
      worstOf('a balance at a height', 'balance'),
      worstOf('one thing', 'thing'),
    ],
  };
}
