/**
 * Folds the logs of every projection in batches of the given sizes, interleaved by a seeded random
 * order, and prints a digest of each table as JSON: `determinism.fixture.ts <url> <size>...`.
 */
import { PROJECTIONS } from '../../../services/projector/registry.ts';
import { byChance, tablesOf } from '../../projections/readings.ts';

const [url = '', ...sizes] = process.argv.slice(2);
const found: Record<string, Record<string, unknown>> = {};
for (const { name } of PROJECTIONS) {
  const tables: Record<string, unknown> = {};
  for (const size of sizes) tables[size] = await tablesOf(url, name, byChance(11, Number(size)));
  found[name] = tables;
}
const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions();
process.stdout.write(JSON.stringify({ locale, time_zone: timeZone, found }));
