/**
 * The comments in a file of DDL, also as comments of its tables and columns in Postgres, so that
 * both have one text: the lines right above a definition, and the text behind a column.
 */
import { escapeIdentifier, escapeLiteral } from 'pg';

const DEFINITION =
  /((?:^--.*\n)*)^CREATE (?:TABLE ([\w.]+)|FUNCTION ([\w.]+)\(\) RETURNS TABLE) \(\n([^]*?)^\)/gm;
const COLUMN = /^ +(\w+) .*?-- (.+)$/gm;

/** COMMENT statements. A function that returns a table stands for the view of its name. */
export function commentsOf(sql: string): string {
  return Array.from(sql.matchAll(DEFINITION), ([, above = '', table, view, columns = '']) => {
    const name = (table ?? view ?? '').split('.').map(escapeIdentifier).join('.');
    const about = above.replaceAll(/^-- ?/gm, '').trim().replaceAll('\n', ' ');
    const on = [
      `${table === undefined ? 'VIEW' : 'TABLE'} ${name} IS ${escapeLiteral(about)}`,
      ...Array.from(
        columns.matchAll(COLUMN),
        ([, column = '', text = '']) =>
          `COLUMN ${name}.${escapeIdentifier(column)} IS ${escapeLiteral(text)}`,
      ),
    ];
    return on.map((each) => `COMMENT ON ${each};\n`).join('');
  }).join('');
}
