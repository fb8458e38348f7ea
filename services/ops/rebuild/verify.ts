/** `ops verify`: whether the tables of a projection are what their log says. */
import type { Compared, Difference } from '../../projector/rebuild/compare.ts';
import { verify as verifyTables, type Verified } from '../../projector/rebuild/verify.ts';
import { NAMES, projectionOf, withRebuildOptions } from './steps.ts';
import { Misuse, readArguments } from '../usage.ts';

const USAGE = `usage: npm run ops -- verify <projection> [--afresh] [--json] [--help]

Folds the log of a projection anew from its beginning, into tables beside those that are read, and compares every row of every table, both at the same
offsets. Projector and gateways go on meanwhile. Interrupted, it goes on where it was with the next call.

  <projection>  one of: ${NAMES.join(', ')}
  --afresh      throws away what an interrupted call had built
  --json        JSON lines instead of text
  --stack       the stack file to take addresses from where no APP_... variable gives them; default .local/stack.json, in APP_LOCAL_DIR where that is set

Exits 0 when all rows are equal, 1 when it is refused, 2 when they differ (with the first row that does) or something did not answer.
`;

const OPTIONS = {
  afresh: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
  stack: { type: 'string' },
} as const;

/** `args` are those behind `verify`. The exit code. */
export async function verify(args: readonly string[], stackFile: string): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, USAGE);
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const named = projectionOf(positionals, USAGE);
  const outcome = await withRebuildOptions(
    named,
    { ...values, stack_file: values.stack ?? stackFile },
    verifyTables,
  );
  if ('refused' in outcome) throw new Misuse(outcome.message);
  process.stdout.write(
    `${values.json ? verifiedJson(named.name, outcome) : verifiedText(named.name, outcome)}\n`,
  );
  return isEqual(outcome) ? 0 : 2;
}

function isEqual({ tables }: Verified): boolean {
  return tables.every(({ difference }) => difference === undefined);
}

export function verifiedText(name: string, verified: Verified): string {
  const width = Math.max(...verified.tables.map(({ table }) => table.length));
  return [
    ...[...verified.positions].map(
      ([partition, next]) => `position     ${partition} up to ${next}`,
    ),
    ...verified.tables.map(({ table, rows, digest, difference }) => {
      const what = `${table.padEnd(width)}  ${String(rows).padStart(11)} rows  ${digest}`;
      return difference === undefined ? `equal        ${what}` : `DIFFERS      ${what}`;
    }),
    ...firstDifference(verified.tables),
    isEqual(verified)
      ? `${name} is what its log says`
      : `${name} is not what its log says: ops rebuild ${name} puts it right`,
  ].join('\n');
}

function firstDifference(tables: readonly Compared[]): readonly string[] {
  const first = tables.find(({ difference }) => difference !== undefined);
  return first?.difference === undefined
    ? []
    : [`first        ${differenceText(first.table, first.difference)}`];
}

function differenceText(table: string, { key, column, live, fresh }: Difference): string {
  const row = Object.entries(key)
    .map(([name, value]) => `${name} ${value ?? 'null'}`)
    .join(', ');
  const where = row === '' ? table : `${table}, row ${row}`;
  if (column !== undefined)
    return `${where}: ${column} is ${live ?? 'null'}, by the log ${fresh ?? 'null'}`;
  if (live === undefined) return `${where}: missing, by the log there is ${fresh}`;
  return fresh === undefined
    ? `${where}: there is ${live}, by the log there is none`
    : `${where}: ${live}, by the log ${fresh}`;
}

function verifiedJson(name: string, { version, positions, tables }: Verified): string {
  const whole = {
    step: 'done',
    projection: name,
    version,
    equal: isEqual({ version, positions, tables }),
    positions: Object.fromEntries(positions),
    tables,
  };
  return JSON.stringify(whole, (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}
