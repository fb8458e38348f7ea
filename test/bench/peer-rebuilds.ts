/** First loads of the explorer by the projector, by batched upserts and by emmett, in turns. */
import type { Pool } from 'pg';
import { explorer } from '../../projections/explorer/explorer.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { openCodec } from '../support/codec.ts';
import type { Stack } from '../support/stack.ts';
import { rebuildByBatches } from './batched-upserts.ts';
import { say } from './bench.ts';
import { checkRows } from './check-rows.ts';
import {
  dropDatabase,
  emptyDatabase,
  settle,
  vacuum,
  withPool,
  type BenchDatabase,
} from './databases.ts';
import { fillEventStore, rebuildByEmmett } from './emmett.ts';
import type { Filled } from './fill-topic.ts';
import { loadByProjector } from './load-projection.ts';
import { median, type Part } from './report.ts';

/** With the projector's last database. */
export async function measureRebuilds(
  stack: Stack,
  { end, counts }: Filled,
  settings: { readonly transactions: number; readonly seed: number; readonly rounds: number },
): Promise<Part & { readonly database: BenchDatabase }> {
  const codec = await openCodec(stack.addresses.registry_url, [CHAIN_BLOCKS], explorer.unread);
  const store = await emptyDatabase(stack);
  say('the chain is appended to the event store of emmett');
  await fillEventStore(store, settings);
  await vacuum(stack, store);
  const rates = { projector: [] as number[], batches: [] as number[], emmett: [] as number[] };
  const starts: number[] = [];
  let database = await emptyDatabase(stack);
  for (let round = 1; round <= settings.rounds; round++) {
    if (round > 1) {
      await dropDatabase(stack, database);
      database = await emptyDatabase(stack);
    }
    const { seconds, starting_seconds: start } = await loadByProjector(stack, database, end);
    const { rows, digest } = await withPool(database, async (pool) => {
      await checkRows(pool, settings, counts);
      return await digestOf(pool);
    });
    // else autovacuum does it during the next load
    await vacuum(stack, database);
    const secondsOf = async (into: BenchDatabase, by: (pool: Pool) => Promise<number>) =>
      await withPool(into, async (pool) => {
        const took = await by(pool);
        if ((await digestOf(pool)).digest !== digest)
          throw new Error('the rows differ from those of the projector: their speed means nothing');
        return took;
      });
    const other = await emptyDatabase(stack);
    const batches = await secondsOf(other, (pool) => rebuildByBatches(stack, codec, pool, end));
    await dropDatabase(stack, other);
    await settle(stack);
    const emmett = await secondsOf(store, (pool) => rebuildByEmmett(store, pool));
    starts.push(start);
    rates.projector.push(rows / seconds);
    rates.batches.push(rows / batches);
    rates.emmett.push(rows / emmett);
    say(
      `round ${round} of ${settings.rounds}: projector ${seconds.toFixed(1)} s, batched upserts ${batches.toFixed(1)} s, emmett ${emmett.toFixed(1)} s`,
    );
  }
  await dropDatabase(stack, store);
  const unit = 'rows/s';
  const ratio = median(rates.projector);
  return {
    database,
    measured: [
      { what: 'bulk load: projector process, from its start', unit, rounds: rates.projector },
      { what: '  of which start of the process and its tables', unit: 's', rounds: starts },
      { what: 'bulk load: batched upserts, in a running process', unit, rounds: rates.batches },
      { what: 'bulk load: emmett, in a running process', unit, rounds: rates.emmett },
    ],
    ratios: [
      {
        what: 'bulk load: rows/s, projector / batched upserts',
        ratio: ratio / median(rates.batches),
        goal: '>= 1',
      },
      {
        what: 'bulk load: rows/s, projector / emmett',
        ratio: ratio / median(rates.emmett),
        goal: '>= 1',
      },
    ],
  };
}

/** Equal digests: the same rows in all tables. */
export async function digestOf(
  pool: Pool,
): Promise<{ readonly rows: number; readonly digest: string }> {
  const digests: string[] = [];
  let rows = 0;
  for (const { name } of explorer.tables) {
    const { rows: found } = await pool.query<{ count: number; digest: string | null }>(
      `SELECT count(*)::int AS count, sum(hashtextextended(t::text, 0)::numeric)::text AS digest FROM ${name} t`,
    );
    digests.push(`${name} ${found[0]?.count} ${found[0]?.digest}`);
    rows += found[0]?.count ?? 0;
  }
  return { rows, digest: digests.join('\n') };
}
