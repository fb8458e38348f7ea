/**
 * Projections of several topics see their records in any interleaving: the tables are the same in
 * all, with batches of any size.
 */
import { PROJECTIONS } from '../../services/projector/registry.ts';
import { byChance, inTurn, tablesOf } from '../projections/readings.ts';
import { freshDatabase } from '../support/database.ts';
import type { FaultReport, FaultRun, Given } from './fault-run.ts';
import { onStack } from './system.ts';

/** All of a log before the next one begins. */
const ALL = 1_000_000;
const TELL_EVERY = 20;

export const interleavings: FaultRun<'count'> = {
  about:
    'folds the same logs into Postgres again and again, of each projection that reads more than one topic, their records interleaved and cut into\n' +
    'batches by chance: every table must have the same rows each time',
  options: { count: { about: 'interleavings of each projection', default: 100 } },
  run: ({ count }, given) =>
    onStack({}, given, async ({ place }) =>
      runAll((await freshDatabase(place.addresses)).writer_url, count, given),
    ),
};

async function runAll(url: string, count: number, { seed, progress }: Given): Promise<FaultReport> {
  const lines: string[] = [];
  const violations: string[] = [];
  for (const { name } of PROJECTIONS.filter(({ topics }) => topics.length > 1)) {
    const wanted = await tablesOf(url, name, inTurn(ALL));
    const others = new Set<string>();
    for (let at = 1; at <= count; at++) {
      const found = await tablesOf(url, name, byChance(seed + at));
      for (const [table, digest] of Object.entries(wanted))
        if (found[table] !== digest)
          others.add(`${name}.${table} is another with seed ${seed + at}`);
      if (at % TELL_EVERY === 0) progress(`${name}: ${at} of ${count}`);
    }
    violations.push(...others);
    lines.push(
      `${name}: ${count} interleavings, ${others.size} tables that are not those of one log after the other`,
      ...Object.entries(wanted).map(
        ([table, digest]) => `  ${table.padEnd(16)} ${digest.replace(' ', ' rows ')}`,
      ),
    );
  }
  return { lines, violations };
}
