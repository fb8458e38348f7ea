/** `npm run bench -- [name]`: every bench, or one; prints a table of figures and ratios and writes `.local/bench/<name>.json`. */
import { benchIngest } from './ingest.ts';
import { benchLatency } from './latency.ts';
import { save, tableOf, type BenchReport } from './report.ts';

const BENCHES: Readonly<Record<string, () => Promise<BenchReport>>> = { ingest: benchIngest, latency: benchLatency };

const [name] = process.argv.slice(2);
if (name === '--help' || (name !== undefined && !Object.hasOwn(BENCHES, name))) {
  process.stderr.write(`usage: npm run bench -- [${Object.keys(BENCHES).join(' | ')}]\n`);
  process.exit(name === '--help' ? 0 : 1);
}
for (const [bench, measure] of Object.entries(BENCHES)) {
  if (name !== undefined && bench !== name) continue;
  const report = await measure();
  process.stdout.write(`${tableOf(report)}\n  written to ${save(report)}\n\n`);
}
process.exit(0);
