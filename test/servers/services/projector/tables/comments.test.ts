import { expect, inject, test } from 'vitest';
import { PROJECTIONS } from '../../../../../services/projector/registry.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { freshDatabase, rowsOf } from '../../../../support/database.ts';

/** Tables, views and columns without a comment, outside Postgres' own schemas. */
const UNCOMMENTED = `
  SELECT concat_ws('.', n.nspname, c.relname, a.attname) AS name
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum >= 0
   WHERE c.relkind IN ('r', 'v') AND n.nspname = ANY (string_to_array('SCHEMAS', ','))
     AND coalesce(col_description(c.oid, a.attnum), '') = ''
   UNION ALL
  SELECT concat_ws('.', n.nspname, c.relname)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE c.relkind IN ('r', 'v') AND n.nspname = ANY (string_to_array('SCHEMAS', ','))
     AND coalesce(obj_description(c.oid, 'pg_class'), '') = ''`;

test('each table, view and column of projections and analytics has a comment', async () => {
  const { writer_url: writerUrl } = await freshDatabase(inject('stack'));
  for (const projection of PROJECTIONS) await prepareDatabase(writerUrl, projection);
  const names = ['analytics', ...PROJECTIONS.map(({ name }) => name)];
  expect(await rowsOf(writerUrl, UNCOMMENTED.replaceAll('SCHEMAS', names.join()))).toEqual([]);
  const about = `SELECT obj_description('deposits.deposits'::regclass) AS of_table,
                        col_description('deposits.deposits'::regclass, 8) AS of_column`;
  expect(await rowsOf(writerUrl, about)).toEqual([
    {
      of_table: 'The part of a deposit that is fixed at its confirmation.',
      of_column: 'micro-USDT that arrived',
    },
  ]);
});
