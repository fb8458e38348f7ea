/** `npm run test:faults -- --kills N --seed S`: the fault run as long as wanted. Exits 0 when everything holds, 1 when not, 2 on bad usage. */
import { parseArgs } from 'node:util';
import { faultRun } from './driver.ts';

const USAGE = `usage: npm run test:faults -- [--kills N] [--seed S]

Brings up a stack of its own and kills its parts at random (SIGKILL): ingester, projectors, gateway, Kafka, Postgres; now and then the chain is reorganised.
Then holds the node, the log and the explorer's tables against each other.

  --kills N   how many kills, default 100
  --seed S    the same seed chooses the same victims and moments, default: one of the clock, printed
`;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function number(text: string | undefined, absent: number): number {
  if (text === undefined) return absent;
  if (!/^[0-9]{1,15}$/.test(text)) {
    process.stderr.write(`${USAGE}\n"${text}" is not a whole number\n`);
    process.exit(2);
  }
  return Number(text);
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' }, help: { type: 'boolean' } } });
if (values.help === true) {
  say(USAGE);
  process.exit(0);
}
const kills = number(values.kills, 100);
const seed = number(values.seed, Date.now());
say(`${kills} kills, seed ${seed}`);
const report = await faultRun({ kills, seed, progress: say });
const sorted = report.recoveries_ms.toSorted((a, b) => a - b);
say(
  `killed: ${Object.entries(report.kills)
    .map(([victim, count]) => `${victim} ${count}`)
    .join(', ')}; reorganisations: ${report.reorganisations}`,
);
say(
  `log: ${report.events} events, ${report.repeated} of them repeated, ${report.reverted} reverts; chain: ${report.blocks} blocks, ${report.transactions} transactions appended`,
);
say(`recovery: p50 ${percentile(sorted, 0.5)} ms, p99 ${percentile(sorted, 0.99)} ms, most ${sorted.at(-1) ?? 0} ms`);
say(`reader's answers by status (0: nobody listened): ${JSON.stringify(report.answers)}`);
for (const violation of report.violations) say(`VIOLATED: ${violation}`);
say(report.violations.length === 0 ? 'everything holds' : `${report.violations.length} violations`);
process.exit(report.violations.length === 0 ? 0 : 1);
