/**
 * `npm run test:fuzz -- [target...] [--minutes N]`: long campaigns of the properties that
 * `corpus.test.ts` runs shortly. Exits 0 without a crash, 1 with one, 2 on bad usage; an input that
 * does not end kills the process.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { campaign } from './campaign.ts';
import { check, loadTarget, TARGET_NAMES } from './target.ts';

const MINUTES = 30;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function usage(): Promise<string> {
  const targets: string[] = [];
  for (const name of TARGET_NAMES)
    targets.push(`  ${name.padEnd(18)} ${(await loadTarget(name)).about}`);
  return [
    'usage: npm run test:fuzz -- [target ...] [--minutes N] [--seed S]',
    '       npm run test:fuzz -- target --input FILE',
    '',
    'Runs each target on inputs near its seeds and its corpus; without a name every target, one after',
    'the other. An input that crashes is made as small as it still crashes, and kept in .local/fuzz.',
    '',
    ...targets,
    '',
    `  --minutes N    of each target; ${MINUTES} when not given`,
    '  --seed S       the same seed makes the same inputs; one of the clock when not given, printed',
    '  --input FILE   runs the target on the bytes of this file alone',
  ].join('\n');
}

async function refuse(problem: string): Promise<never> {
  process.stderr.write(`${await usage()}\n\n${problem}\n`);
  process.exit(2);
}

function given() {
  return parseArgs({
    allowPositionals: true,
    options: {
      minutes: { type: 'string', default: String(MINUTES) },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      input: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
}

async function readArguments(): Promise<ReturnType<typeof given>> {
  try {
    return given();
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

async function runOne(name: string, file: string): Promise<number> {
  try {
    await check(await loadTarget(name), readFileSync(file));
    say('no crash');
    return 0;
  } catch (error) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return 1;
  }
}

const { values, positionals } = await readArguments();
if (values.help) {
  say(await usage());
  process.exit(0);
}
for (const name of positionals)
  if (!TARGET_NAMES.includes(name)) await refuse(`there is no target ${name}`);
const [first] = positionals;
const { input } = values;
if (input !== undefined) {
  if (first === undefined || positionals.length > 1)
    await refuse('--input runs one target: give its name');
  else process.exit(await runOne(first, input));
}
const seconds = Number(values.minutes) * 60;
if (!(seconds > 0)) await refuse('--minutes must be above zero');
if (!/^[0-9]{1,9}$/.test(values.seed)) await refuse('--seed must be a whole number of nine digits');
const seed = Number(values.seed);
for (const name of positionals.length > 0 ? positionals : TARGET_NAMES) {
  say(`${name}  begins, seed ${seed}`);
  const isWell = await campaign({ name, target: await loadTarget(name), seconds, seed, say });
  if (!isWell) process.exitCode = 1;
}
process.exit();
