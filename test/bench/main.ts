/**
 * `npm run bench -- [name] [--option number]`: all benches, or one. Prints figures and ratios, and
 * writes `.local/bench/<name>.json`.
 */
import { parseArgs } from 'node:util';
import { abuse } from './abuse.ts';
import type { Bench } from './bench.ts';
import { beyondMemory } from './beyond-memory.ts';
import { blockToAnswer } from './block-to-answer.ts';
import { blockToSubscriber } from './block-to-subscriber.ts';
import { catchingUp } from './catching-up.ts';
import { consoleBench } from './console.ts';
import { hub } from './hub.ts';
import { lists } from './lists.ts';
import { load } from './load.ts';
import { pass } from './pass.ts';
import { rebuild } from './rebuild.ts';
import { missedGoals, save, tableOf } from './report.ts';
import { start } from './start.ts';
import { sockets } from './sockets.ts';

const BENCHES: Readonly<Record<string, Bench>> = {
  'block-to-answer': blockToAnswer,
  'block-to-subscriber': blockToSubscriber,
  load,
  'catching-up': catchingUp,
  'beyond-memory': beyondMemory,
  lists,
  hub,
  sockets,
  abuse,
  pass,
  rebuild,
  start,
  console: consoleBench,
};

function usage(): string {
  const lines = [
    'usage: npm run bench -- [name] [--option number]',
    '',
    'Without a name every bench runs, one after the other, each on a stack of its own. The command exits',
    'with 2 when a goal is missed.',
  ];
  for (const [name, { about, options, switches = [] }] of Object.entries(BENCHES)) {
    lines.push('', `  ${name.padEnd(22)} ${about}`);
    for (const [option, given] of Object.entries(options))
      lines.push(
        `    --${option.padEnd(18)} ${given.about}; ${given.default.toLocaleString('en')} when not given`,
      );
    if (switches.length > 0)
      lines.push(`    --${'without'.padEnd(18)} switched off: one of ${switches.join(', ')}`);
  }
  return `${lines.join('\n')}\n`;
}

function refuse(problem: string): never {
  process.stderr.write(`${usage()}\n${problem}\n`);
  process.exit(1);
}

interface Wanted {
  readonly name: string | undefined;
  readonly given: Readonly<Record<string, string | boolean | undefined>>;
}

function readArguments(): Wanted {
  const known = Object.values(BENCHES).flatMap(({ options }) => Object.keys(options));
  const options = Object.fromEntries(known.map((option) => [option, { type: 'string' as const }]));
  try {
    const { values, positionals } = parseArgs({
      options: { ...options, without: { type: 'string' }, help: { type: 'boolean' } },
      allowPositionals: true,
    });
    if (values['help'] === true) {
      process.stdout.write(usage());
      process.exit(0);
    }
    if (positionals.length > 1) refuse('one bench at a time, or all of them');
    return { name: positionals[0], given: values };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

/** The bench's own options, as given or as they are otherwise. */
function optionsOf(
  name: string,
  { options }: Bench,
  given: Wanted['given'],
): Record<string, number> {
  for (const option of Object.keys(given))
    if (!Object.hasOwn(options, option)) refuse(`bench ${name} has no option --${option}`);
  return Object.fromEntries(
    Object.entries(options).map(([option, { default: absent }]) => {
      const text = given[option] ?? String(absent);
      if (typeof text !== 'string' || !/^[1-9][0-9]{0,11}$/.test(text))
        refuse(`--${option} must be a whole number above zero`);
      return [option, Number(text)];
    }),
  );
}

const {
  name: wanted,
  given: { without, ...given },
} = readArguments();
if (wanted !== undefined && !Object.hasOwn(BENCHES, wanted)) refuse(`there is no bench ${wanted}`);
if (wanted === undefined && (Object.keys(given).length > 0 || without !== undefined))
  refuse('options belong to one bench: name it');
const chosen = Object.entries(BENCHES)
  .filter(([name]) => wanted === undefined || name === wanted)
  .map(([name, bench]) => ({ name, bench, options: optionsOf(name, bench, given) }));
for (const { name, bench, options } of chosen) {
  const { switches = [] } = bench;
  if (without !== undefined && !switches.some((each) => each === without))
    refuse(`--without of bench ${name} is one of: ${switches.join(', ')}`);
  const report = await bench.run(options, without?.toString());
  process.stdout.write(`${tableOf(report)}\n  written to ${save(report, options)}\n\n`);
  for (const missed of missedGoals(report)) {
    process.stderr.write(`${name}: ${missed}\n`);
    process.exitCode = 2;
  }
}
process.exit();
