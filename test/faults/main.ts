/**
 * `npm run test:faults -- [run] [--option N]`: one fault run of any length. Exits 0 when all claims
 * hold, 1 when not, 2 on bad usage.
 */
import { parseArgs } from 'node:util';
import { alerts } from './alerts.ts';
import { cluster } from './cluster.ts';
import { deposits } from './deposits.ts';
import { drills } from './drills.ts';
import { explorer } from './explorer.ts';
import { failover } from './failover.ts';
import type { FaultRun } from './fault-run.ts';
import { fuzz } from './fuzz.ts';
import { hub } from './hub.ts';
import { interleavings } from './interleavings.ts';
import { mint } from './mint.ts';
import { model } from './model.ts';
import { rebuild } from './rebuild.ts';
import { replica } from './replica.ts';
import { rotations } from './rotations.ts';
import { schemathesis } from './schemathesis.ts';
import { soak } from './soak.ts';
import { tail } from './tail.ts';
import { upgrade } from './upgrade.ts';

const RUNS: Readonly<Record<string, FaultRun>> = {
  explorer,
  deposits,
  mint,
  hub,
  fuzz,
  schemathesis,
  rebuild,
  tail,
  cluster,
  failover,
  rotations,
  soak,
  interleavings,
  model,
  alerts,
  upgrade,
  drills,
  replica,
};
const UNNAMED = 'explorer';

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function usage(): string {
  const lines = [
    `usage: npm run test:faults -- [${Object.keys(RUNS).join(' | ')}] [--option N]`,
    '',
    `Each run has a stack of its own. Without a name it is ${UNNAMED}.`,
  ];
  for (const [name, { about, options }] of Object.entries(RUNS)) {
    lines.push(
      '',
      ...about.split('\n').map((line, at) => `  ${(at === 0 ? name : '').padEnd(14)} ${line}`),
    );
    for (const [option, given] of Object.entries(options))
      lines.push(
        `    --${option.padEnd(12)} ${given.about}; ${given.default.toLocaleString('en')} when not given`,
      );
  }
  lines.push(
    '',
    '  --seed S       the same seed chooses the same victims and moments; one of the clock when not given, printed',
  );
  return lines.join('\n');
}

function refuse(problem: string): never {
  process.stderr.write(`${usage()}\n\n${problem}\n`);
  process.exit(2);
}

function number(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) refuse(`"${text}" is not a whole number`);
  return Number(text);
}

interface Wanted {
  readonly name: string;
  readonly given: Readonly<Record<string, number>>;
}

function readArguments(): Wanted {
  const known = new Set([
    'seed',
    ...Object.values(RUNS).flatMap(({ options }) => Object.keys(options)),
  ]);
  const options = Object.fromEntries(
    [...known].map((option) => [option, { type: 'string' as const }]),
  );
  try {
    const { values, positionals } = parseArgs({
      options: { ...options, help: { type: 'boolean' } },
      allowPositionals: true,
    });
    if (values['help'] === true) {
      say(usage());
      process.exit(0);
    }
    const [name = UNNAMED, ...others] = positionals;
    if (others.length > 0) refuse('one run at a time');
    const texts = Object.entries<string | boolean | undefined>(values);
    return {
      name,
      given: Object.fromEntries(texts.map(([option, text]) => [option, number(String(text))])),
    };
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

const { name, given } = readArguments();
const run = Object.hasOwn(RUNS, name) ? RUNS[name] : undefined;
if (run === undefined) refuse(`there is no run ${name}`);
const { seed = Date.now(), ...chosen } = given;
for (const option of Object.keys(chosen))
  if (!Object.hasOwn(run.options, option)) refuse(`run ${name} has no option --${option}`);
const options = Object.fromEntries(
  Object.entries(run.options).map(([option, { default: absent }]) => [
    option,
    chosen[option] ?? absent,
  ]),
);
say(
  `${name}: ${Object.entries({ ...options, seed })
    .map(([option, value]) => `${option} ${value}`)
    .join(', ')}`,
);
const { lines, violations } = await run.run(options, { seed, progress: say });
for (const line of lines) say(line);
for (const violation of violations) say(`VIOLATED: ${violation}`);
say(violations.length === 0 ? 'everything holds' : `${violations.length} violations`);
process.exit(violations.length === 0 ? 0 : 1);
