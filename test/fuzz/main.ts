/**
 * `npm run test:fuzz -- [target...] [--minutes N]`: runs decoders on inputs that evolve towards
 * code that none has run yet. Exits 0 without a crash, 1 with one, 2 on bad usage.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runTarget, type Figures } from './run.ts';
import {
  check,
  corpusFile,
  inputLines,
  inputsOf,
  loadTarget,
  readInputs,
  TARGET_NAMES,
} from './target.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Inputs and crashes of the runs of this machine. */
const FOLDER = join(ROOT, '.local/fuzz');
const MINUTES = 30;
const PROGRESS_MS = 10_000;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function usage(): Promise<string> {
  const targets: string[] = [];
  for (const name of TARGET_NAMES)
    targets.push(`  ${name.padEnd(18)} ${(await loadTarget(name)).about}`);
  return [
    'usage: npm run test:fuzz -- [target ...] [--minutes N] [--seed S] [--keep]',
    '       npm run test:fuzz -- target --input FILE',
    '',
    'Runs each target on inputs that evolve towards branches that none has run yet; without a name',
    'every target, one after the other. Crashes and the inputs found are kept in .local/fuzz.',
    '',
    ...targets,
    '',
    `  --minutes N    of each target; ${MINUTES} when not given`,
    '  --seed S       the same seed makes the same inputs; one of the clock when not given, printed',
    '  --keep         replaces test/fuzz/corpus/<target>.txt by the fewest inputs that run the same',
    '                 branches as all inputs found',
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
      seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
      input: { type: 'string' },
      keep: { type: 'boolean', default: false },
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

function figuresLine(name: string, seconds: number, figures: Figures): string {
  const { runs, branches, branches_loaded: loaded, kept } = figures;
  const rate = Math.round(runs / Math.max(1, seconds)).toLocaleString('en');
  return `${name}  ${seconds} s  ${runs.toLocaleString('en')} inputs, ${rate}/s  ${branches} of ${loaded} branches loaded  ${kept} kept`;
}

async function fuzz(name: string, seconds: number, seed: number, keep: boolean): Promise<number> {
  const folder = join(FOLDER, name);
  const found = join(folder, 'inputs.txt');
  mkdirSync(folder, { recursive: true });
  const inputs = [...inputsOf(name, await loadTarget(name)), ...readInputs(found)];
  say(`${name}  begins with ${inputs.length} inputs, seed ${seed}`);
  const begun = Date.now();
  const passed = (): number => Math.round((Date.now() - begun) / 1_000);
  const { crashes, kept, essential, figures } = await runTarget({
    target: name,
    seconds,
    seed,
    inputs,
    isTimed: true,
    progress_ms: PROGRESS_MS,
    progress: (now) => say(figuresLine(name, passed(), now)),
  });
  say(`${figuresLine(name, passed(), figures)}  ${crashes.length} crashes`);
  if (kept.length > 0) writeFileSync(found, inputLines(kept.map((each) => Buffer.from(each))));
  for (const { bytes, text } of crashes) {
    const file = join(
      folder,
      `crash-${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}`,
    );
    writeFileSync(file, bytes);
    say(`\n${text}\n\nagain: npm run test:fuzz -- ${name} --input ${relative(ROOT, file)}\n`);
  }
  if (keep && essential.length > 0) {
    const lines = inputLines(essential.map((each) => Buffer.from(each)));
    mkdirSync(new URL('.', corpusFile(name)), { recursive: true });
    writeFileSync(corpusFile(name), lines);
    say(`${name}  ${essential.length} inputs, ${lines.length} bytes, are its corpus now`);
  }
  return crashes.length;
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
const minutes = Number(values.minutes);
if (!(minutes > 0)) await refuse('--minutes must be above zero');
if (!/^[0-9]{1,10}$/.test(values.seed)) await refuse('--seed must be a whole number');
let crashes = 0;
for (const name of positionals.length > 0 ? positionals : TARGET_NAMES)
  crashes += await fuzz(name, minutes * 60, Number(values.seed), values.keep);
process.exit(crashes > 0 ? 1 : 0);
