import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { beforeAll, expect, inject, test } from 'vitest';
import type { ColumnType, Table } from '../../../../../projections/contract/projection.ts';
import { PROJECTIONS } from '../../../../../services/projector/registry.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import {
  compareTables,
  TEXT_SETTINGS,
  type Difference,
} from '../../../../../services/projector/rebuild/compare.ts';
import { verifyName } from '../../../../../services/projector/rebuild/switch.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { Random } from '../../../../support/random.ts';

const ROWS = 25;
let client: Client;

beforeAll(async () => {
  const { writer_url } = await freshDatabase(inject('stack'));
  client = new Client({ connectionString: writer_url });
  await client.connect();
  await client.query(TEXT_SETTINGS);
  for (const projection of PROJECTIONS) {
    await prepareDatabase(writer_url, projection);
    await prepareDatabase(
      writer_url,
      { ...projection, name: verifyName(projection.name) },
      { beside: projection.name },
    );
  }
  return () => client.end();
});

/** Some value of that type, another one for each number. */
function cell(type: ColumnType, number: number): string {
  const digits = createHash('sha256').update(`${type} ${number}`).digest('hex');
  switch (type) {
    case 'bool':
      return 'true';
    case 'bytea':
      return `\\x${digits.slice(0, 40)}`;
    case 'int4':
    case 'int8':
      return String(number);
    case 'numeric':
      return `${BigInt(`0x${digits}`)}`;
    case 'text':
      return digits.slice(0, 12);
    case 'timestamptz':
      return new Date(1_700_000_000_000 + number * 7_919).toISOString();
  }
}

/** A single row where the table can hold no more. */
function rowsOf(table: Table): readonly number[] {
  return Object.values(table.columns).includes('bool') &&
    table.key.length === 1 &&
    table.columns[table.key[0] ?? ''] === 'bool'
    ? [0]
    : Array.from({ length: ROWS }, (_, at) => at);
}

async function insert(schema: string, { name, columns }: Table, number: number): Promise<void> {
  const cells = Object.values(columns).map((type) => cell(type, number));
  const places = cells.map((_, at) => `$${at + 1}`).join(', ');
  await client.query(
    `INSERT INTO ${schema}.${name} (${Object.keys(columns).join(', ')}) VALUES (${places})`,
    cells,
  );
}

/** The differences after a change, which is rolled back. */
async function differencesAfter(
  projection: string,
  tables: readonly Table[],
  change: () => Promise<unknown>,
): Promise<Record<string, Difference>> {
  await client.query('BEGIN');
  await change();
  const compared = await compareTables(
    { client, schema: projection },
    { client, schema: verifyName(projection) },
    tables,
  );
  await client.query('ROLLBACK');
  return Object.fromEntries(
    compared.flatMap(({ table, difference }) =>
      difference === undefined ? [] : [[table, difference]],
    ),
  );
}

function keyOf({ columns, key }: Table, number: number): Record<string, string> {
  return Object.fromEntries(
    key.map((column) => {
      const text = cell(columns[column] ?? 'text', number);
      return [column, columns[column] === 'bool' ? 'true' : text];
    }),
  );
}

function where({ key }: Table): string {
  return key.map((column, at) => `${column} = $${at + 1}`).join(' AND ');
}

/** A column that is neither of the key nor can have one value alone. */
function someColumn({ columns, key }: Table, random: Random): string | undefined {
  const others = Object.keys(columns).filter(
    (column) => !key.includes(column) && columns[column] !== 'bool',
  );
  return others.length === 0 ? undefined : random.pick(others);
}

test.each(PROJECTIONS.map(({ name, tables }) => [name, tables] as const))(
  'a changed cell, a missing and an extra row are found in each table of %s',
  async (name, tables) => {
    const random = new Random(7);
    for (const table of tables) {
      for (const number of rowsOf(table)) await insert(name, table, number);
      for (const number of rowsOf(table).toReversed())
        await insert(verifyName(name), table, number);
    }
    expect(await differencesAfter(name, tables, () => Promise.resolve())).toEqual({});

    const victims = tables.map((table) => ({
      table,
      key: keyOf(table, random.pick(rowsOf(table))),
      column: someColumn(table, random),
    }));
    const changed = victims.flatMap(({ column, ...victim }) =>
      column === undefined ? [] : [{ ...victim, column }],
    );
    const found = await differencesAfter(name, tables, async () => {
      for (const { table, key, column } of changed) {
        const set = `UPDATE ${name}.${table.name} SET ${column} = $${table.key.length + 1} WHERE ${where(table)}`;
        await client.query(set, [
          ...Object.values(key),
          cell(table.columns[column] ?? 'text', 1_000),
        ]);
      }
    });
    const named = changed.map(({ table, column }) => [
      table.name,
      { key: keysOf(table), column, live: expect.any(String), fresh: expect.any(String) },
    ]);
    expect(found).toEqual(Object.fromEntries(named));

    const gone = await differencesAfter(name, tables, async () => {
      for (const { table, key } of victims)
        await client.query(
          `DELETE FROM ${name}.${table.name} WHERE ${where(table)}`,
          Object.values(key),
        );
    });
    const missing = tables.map((table) => [
      table.name,
      { key: keysOf(table), column: undefined, live: undefined, fresh: expect.any(String) },
    ]);
    expect(gone).toEqual(Object.fromEntries(missing));

    const growing = tables.filter((table) => rowsOf(table).length > 1);
    const more = await differencesAfter(name, tables, async () => {
      for (const table of growing) await insert(name, table, 1_001);
    });
    const extra = growing.map((table) => [
      table.name,
      { key: keysOf(table), column: undefined, live: expect.any(String), fresh: undefined },
    ]);
    expect(more).toEqual(Object.fromEntries(extra));
  },
);

function keysOf({ key }: Table): object {
  return Object.fromEntries(key.map((column) => [column, expect.any(String)]));
}

test('duplicate rows, similar text, and missing tables and columns are found', async () => {
  const tables = PROJECTIONS.find(({ name }) => name === 'explorer')?.tables ?? [];
  const changes = {
    transactions:
      'INSERT INTO explorer.transactions SELECT * FROM explorer.transactions WHERE seq = 3',
    blocks: 'UPDATE explorer.blocks SET block_reward = block_reward + 0.0 WHERE height = 5',
    activity: 'UPDATE explorer.activity SET counterparty = NULL WHERE ordinal = 4',
    head: 'ALTER TABLE explorer.head DROP COLUMN validators',
    validators: 'DROP TABLE explorer.validators',
  };
  const found = await differencesAfter('explorer', tables, async () => {
    for (const change of Object.values(changes)) await client.query(change);
  });
  expect(found).toEqual({
    transactions: {
      key: { seq: '3' },
      column: undefined,
      live: expect.any(String),
      fresh: undefined,
    },
    blocks: {
      key: { height: '5' },
      column: 'block_reward',
      live: expect.stringMatching(/\.0$/),
      fresh: expect.stringMatching(/^\d+$/),
    },
    activity: {
      key: expect.anything(),
      column: 'counterparty',
      live: null,
      fresh: expect.any(String),
    },
    head: {
      key: {},
      column: undefined,
      live: expect.not.stringContaining('validators'),
      fresh: expect.stringContaining('validators'),
    },
    validators: { key: {}, column: undefined, live: undefined, fresh: 'columns address, ordinal' },
  });
});
