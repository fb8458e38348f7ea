/**
 * `npm run bench -- all`, or `npm run bench -- NAME [--option number]`: all benches, or one. Prints
 * figures and ratios, and writes `.local/bench/NAME.json`.
 */
import { inspect, parseArgs } from 'node:util';
import type { Bench } from './bench.ts';
import { BENCHES, type Listed } from './benches.ts';
import { missedGoals, save, tableOf } from './report.ts';

const ALL = 'all';

function usage(): string {
  const minutes = Object.values(BENCHES).reduce((sum, each) => sum + each.minutes, 0);
  const lines = [
    'usage: npm run bench -- all',
    '       npm run bench -- NAME [--option number]',
    '',
    `all: every bench, one after the other, each on a stack of its own, in about ${minutes} minutes.`,
    'The command exits with 2 when a goal is missed, and with 1 when a bench fails.',
  ];
  for (const [name, { bench, minutes: expected, after, in_all: inAll }] of Object.entries(
    BENCHES,
  )) {
    const { about, options, switches = [] } = bench;
    const sizes = argumentsOf(inAll);
    lines.push(
      '',
      `  ${name.padEnd(22)} ${about}`,
      `    about ${expected} minutes in \`all\`${sizes.length === 0 ? '' : `, with ${sizes.join(' ')}`}; run it after ${after}`,
    );
    for (const [option, given] of Object.entries(options))
      lines.push(
        `    --${option.padEnd(18)} ${given.about}; ${given.default.toLocaleString('en')} when not given`,
      );
    if (switches.length > 0)
      lines.push(`    --${'without'.padEnd(18)} switched off: one of ${switches.join(', ')}`);
  }
  return `${lines.join('\n')}\n`;
}

function argumentsOf(sizes: Listed['in_all'] = {}): readonly string[] {
  return Object.entries(sizes).flatMap(([option, size]) => [`--${option}`, String(size)]);
}

function refuse(problem: string): never {
  process.stderr.write(`${usage()}\n${problem}\n`);
  process.exit(1);
}

interface Wanted {
  readonly name: string;
  readonly given: Readonly<Record<string, string | boolean | undefined>>;
}

function readArguments(): Wanted {
  const known = Object.values(BENCHES).flatMap(({ bench }) => Object.keys(bench.options));
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
    const [name, ...more] = positionals;
    if (name === undefined || more.length > 0) return refuse('name one bench, or all');
    return { name, given: values };
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

interface Chosen {
  readonly name: string;
  readonly bench: Bench;
  readonly options: Readonly<Record<string, number>>;
  /** the arguments of the same run by its name */
  readonly args: readonly string[];
}

function chosenOf({ name, given: { without, ...given } }: Wanted): readonly Chosen[] {
  if (name === ALL) {
    if (Object.keys(given).length > 0 || without !== undefined)
      refuse('options belong to one bench: name it');
    return Object.entries(BENCHES).map(([each, { bench, in_all: inAll = {} }]) => {
      const sizes = Object.entries(inAll).map(([option, size]) => [option, String(size)] as const);
      const options = optionsOf(each, bench, Object.fromEntries(sizes));
      return { name: each, bench, options, args: [each, ...argumentsOf(inAll)] };
    });
  }
  const listed = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined;
  if (listed === undefined) return refuse(`there is no bench ${name}`);
  const { bench } = listed;
  const { switches = [] } = bench;
  if (without !== undefined && !switches.some((each) => each === without))
    refuse(`--without of bench ${name} is one of: ${switches.join(', ')}`);
  return [{ name, bench, options: optionsOf(name, bench, given), args: process.argv.slice(2) }];
}

async function run({ name, bench, options, args }: Chosen, without?: string): Promise<void> {
  const begun = performance.now();
  const report = await bench.run(options, without);
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const file = save(report, options, { args, seconds });
  process.stdout.write(`${tableOf(report)}\n  written to ${file} after ${seconds} s\n\n`);
  for (const missed of missedGoals(report)) {
    process.stderr.write(`${name}: ${missed}\n`);
    process.exitCode ??= 2;
  }
}

const wanted = readArguments();
for (const chosen of chosenOf(wanted))
  try {
    await run(chosen, wanted.given['without']?.toString());
  } catch (error) {
    // the other benches do not need this one
    process.stderr.write(`${chosen.name}: ${inspect(error)}\n`);
    process.exitCode = 1;
  }
process.exit();
