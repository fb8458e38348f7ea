/** A generated chain of some size: in the topic, loaded by the projector, served by a gateway. */
import { openLog } from '../../services/runtime/process/log.ts';
import { Random } from '../support/random.ts';
import type { Stack } from '../support/stack.ts';
import type { Asked } from './ask-pages.ts';
import { say } from './bench.ts';
import { dropDatabase, emptyDatabase, vacuum, withPool, type BenchDatabase } from './databases.ts';
import { fillTopic, type Filled } from './fill-topic.ts';
import type { GeneratedChainSettings } from './generator.ts';
import { loadByProjector, type Loaded } from './load-projection.ts';
import { pageMixOf } from './page-mix.ts';
import { median, type Measured } from './report.ts';

const log = openLog({ service: 'bench', level: 'error' });

export interface Sized {
  readonly transactions: number;
  readonly filled: Filled;
  readonly database: BenchDatabase;
  /** by round */
  readonly loaded: readonly Loaded[];
}

/** Fills the topic, and loads it so many times; the last database stays. */
export async function loadChain(
  stack: Stack,
  settings: GeneratedChainSettings,
  rounds = 1,
): Promise<Sized> {
  const { transactions } = settings;
  const filled = await fillTopic(stack.addresses, settings, log, say);
  const loaded: Loaded[] = [];
  for (;;) {
    const database = await emptyDatabase(stack);
    const round = await loadByProjector(stack, database, filled.end);
    say(
      `${transactions} transactions loaded in ${round.seconds.toFixed(1)} s, at most ${Math.round(Math.max(...round.resident))} MiB`,
    );
    await vacuum(stack, database);
    loaded.push(round);
    if (loaded.length >= rounds) return { transactions, filled, database, loaded };
    await dropDatabase(stack, database);
  }
}

/** Median, without the start, which takes as long at any size. */
export function loadSeconds({ loaded }: Sized): number {
  return median(loaded.map(({ seconds, starting_seconds: starting }) => seconds - starting));
}

/** A gateway that keeps no answers, and what it is asked for. */
export async function serveChain(
  stack: Stack,
  { database, filled }: Sized,
  seed: number,
): Promise<Asked> {
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
export async function blocksRead({ database }: Sized): Promise<number> {
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
      rounds: loaded.map(({ seconds }) => seconds),
    })),
    ...sizes.map(({ transactions: count, loaded }) => ({
      what: `  of which start of the process and its tables (${count.toLocaleString('en')})`,
      unit: 's',
      rounds: loaded.map(({ starting_seconds: starting }) => starting),
    })),
    ...sizes.map(({ transactions: count, loaded }) => ({
      what: `the same, of the projector's resident memory the peak`,
      unit: `MiB (${count.toLocaleString('en')})`,
      rounds: loaded.map(({ resident }) => Math.max(...resident)),
    })),
  ];
}
