/**
 * Rows as JSON text, by the definition of the answer. Cells are the columns as Postgres writes
 * them, so integers keep every digit: none becomes a JavaScript number.
 *
 * The columns of a row are the fields in their order; a constant has no column. The function that
 * writes a row is compiled once, as `avsc` and `ajv` do it: a loop over the fields takes a quarter
 * more processor time for a page.
 */
import type { TObject, TProperties, TSchema } from 'typebox';
import type { Defined } from '../../../schemas/http-api/answer.ts';
import { byteaDigits, isoTime, type Cell } from './cells.ts';
import type { Cells } from './sessions.ts';

/** Fields that are not just their column. */
export interface Exceptions<Fields extends TProperties, Subject> {
  /** JSON text of fields that have no column */
  readonly made?: {
    readonly [Name in keyof Fields]?: (cells: Cells, subject: Subject) => string;
  };
  /** JSON text of fields that have one */
  readonly shown?: { readonly [Name in keyof Fields]?: (cell: Cell, cells: Cells) => string };
}

/** `subject`: anything that the fields of an answer are made of besides the row. */
export type RowWriter<Subject = void> = (cells: Cells, subject: Subject) => string;

export function rowWriter<Fields extends TProperties, Subject = void>(
  { properties }: TObject<Fields>,
  { made = {}, shown = {} }: Exceptions<Fields, Subject> = {},
): RowWriter<Subject> {
  const own: ((...given: never[]) => string)[] = [];
  /** The name of a function in the compiled one. */
  const named = (writer: (...given: never[]) => string): string => `own${own.push(writer) - 1}`;
  let column = 0;
  const fields = Object.entries<TSchema>(properties).map(([name, schema]) => {
    const [make, show] = [made[name], shown[name]];
    if (make !== undefined) return `"${name}":\${${named(make)}(cells, subject)}`;
    const { const: constant }: Defined = schema;
    if (constant !== undefined) return `"${name}":${escaped(JSON.stringify(constant))}`;
    const cell = `cells[${column++}]`;
    if (show !== undefined) return `"${name}":\${${named(show)}(${cell}, cells)}`;
    return `"${name}":${pieceOf(schema, cell)}`;
  });
  const body = `return (cells, subject) => \`{${fields.join(',')}}\`;`;
  const names = own.map((_, at) => `own${at}`);
  // made of definitions alone, never of input
  // oxlint-disable-next-line typescript/no-implied-eval
  const compile = new Function('byteaDigits', 'hex', 'time', ...names, body);
  return compile(byteaDigits, hex, time, ...own);
}

/** A piece of a template literal. */
function pieceOf(schema: TSchema, cell: string): string {
  const { oneOf: [inner, nothing] = [] }: Defined = schema;
  const isNullable = nothing !== undefined && typeOf(nothing) === 'null';
  const type = typeOf(isNullable && inner !== undefined ? inner : schema);
  switch (type) {
    case 'hex':
      // few pieces of text are put together faster
      return isNullable ? `\${hex(${cell})}` : `"0x\${byteaDigits(${cell})}"`;
    case 'time':
      return isNullable ? `\${${cell} === null ? null : time(${cell})}` : `\${time(${cell})}`;
    case 'integer':
      return `\${${cell}}`;
    case 'boolean':
      return `\${${cell} === 't'}`;
    case 'string':
      return `\${JSON.stringify(${cell})}`;
    default:
      throw new Error(`no column is written as ${type}: ${JSON.stringify(schema)}`);
  }
}

function typeOf(schema: TSchema): string {
  const { type, format, pattern, oneOf: [first] = [], anyOf: [any] = [] }: Defined = schema;
  if (first !== undefined || any !== undefined) return typeOf(first ?? any ?? {});
  if (pattern?.startsWith('^0x') === true) return 'hex';
  return format === 'date-time' ? 'time' : String(type);
}

function escaped(text: string): string {
  return text.replaceAll(/[`\\$]/g, String.raw`\$&`);
}

/** 0x and hex digits in quotes, or null. */
export function hex(bytea: Cell): string {
  return bytea === null || bytea === undefined ? 'null' : `"0x${bytea.slice(2)}"`;
}

/** ISO 8601 in quotes. */
export function time(timestamptz: Cell): string {
  if (timestamptz !== last.timestamptz) last = timed(timestamptz ?? '');
  return last.json;
}

function timed(timestamptz: string): { readonly timestamptz: string; readonly json: string } {
  return { timestamptz, json: `"${isoTime(timestamptz)}"` };
}

/** Cached, since neighbours in a list are mostly of the same block and time. */
let last = timed('1970-01-01 00:00:00+00');
