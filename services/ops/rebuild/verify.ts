/** `ops verify`: whether the tables of a projection are what its log says. */
import type { Compared, Difference } from '../../projector/rebuild/compare.ts';
import { verify as verifyTables, type Verified } from '../../projector/rebuild/verify.ts';
import { jsonOf, print } from '../connections.ts';
import { withProjection, type ProjectionArguments } from './steps.ts';

export async function verify(args: ProjectionArguments): Promise<number> {
  const { projection } = args;
  const verified = await withProjection(args, verifyTables);
  const { version, positions, tables } = verified;
  const equal = isEqual(verified);
  print(
    args.json === true
      ? jsonOf({
          step: 'done',
          projection,
          version,
          equal,
          positions: Object.fromEntries(positions),
          tables,
        })
      : verifiedText(projection, verified),
  );
  return equal ? 0 : 2;
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
