/**
 * The comments in a file of DDL, also as comments of its tables and columns in Postgres, so that
 * both have one text: the lines right above a definition, and the text behind a column. And the
 * views of its functions.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';

const DEFINITION =
  /((?:^--.*\n)*)^CREATE (?:TABLE ([\w.]+)|FUNCTION ([\w.]+)\(\) RETURNS TABLE) \(\n([^]*?)^\)/gm;
const COLUMN = /^ +(\w+) +(.*?),? +-- (.+)$/;

interface Definition {
  /** a function that returns a table stands for the view of its name */
  readonly kind: 'TABLE' | 'VIEW';
  /** quoted, as that of a column */
  readonly name: string;
  readonly about: string;
  /** the type of a table's column has its constraints too */
  readonly columns: readonly Readonly<Record<'name' | 'type' | 'about', string>>[];
}

function definitionsOf(sql: string): readonly Definition[] {
  return Array.from(sql.matchAll(DEFINITION), ([, above = '', table, view, columns = '']) => ({
    kind: table === undefined ? 'VIEW' : 'TABLE',
    name: (table ?? view ?? '').split('.').map(escapeIdentifier).join('.'),
    about: above.replaceAll(/^-- ?/gm, '').trim().replaceAll('\n', ' '),
    columns: columns
      .split('\n')
      .filter((line) => line !== '' && !/^ +PRIMARY KEY \(/.test(line))
      .map((line) => columnOf(line, table ?? view ?? '')),
  }));
}

/** Throws where there is no comment: the column would be missing in its view. */
function columnOf(line: string, of: string): Definition['columns'][number] {
  const [found, name = '', type = '', about = ''] = COLUMN.exec(line) ?? [];
  if (found === undefined)
    throw new Error(
      `write the meaning of a column of ${of} behind it, after "-- ": ${line.trim()}`,
    );
  return { name: escapeIdentifier(name), type, about };
}

function commentOn(what: string, about: string): string {
  return `COMMENT ON ${what} IS ${escapeLiteral(about)};\n`;
}

/** COMMENT statements. */
export function commentsOf(sql: string): string {
  return definitionsOf(sql)
    .map(({ kind, name, about, columns }) => {
      const ofColumns = columns.map((column) =>
        commentOn(`COLUMN ${name}.${column.name}`, column.about),
      );
      return commentOn(`${kind} ${name}`, about) + ofColumns.join('');
    })
    .join('');
}

const FUNCTION = /^CREATE FUNCTION [\w.]+\(\) RETURNS TABLE \([^]*?^\$\$;\n/gm;

/**
 * The text with a view behind each function that returns a table. The function loses the precision
 * of its types, and the view states it.
 */
export function withViews(sql: string): string {
  return sql.replaceAll(FUNCTION, (text) => {
    const [definition] = definitionsOf(text);
    const typed = definition?.columns.map(({ name, type }) => `${name}::${type} AS ${name}`);
    const { name } = definition ?? {};
    return `${text}CREATE VIEW ${name} AS SELECT ${typed?.join(', ')} FROM ${name}();\n`;
  });
}
