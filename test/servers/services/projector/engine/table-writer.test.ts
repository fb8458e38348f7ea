import type { Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { CopyRows } from '../../../../../services/runtime/postgres/copy-rows.ts';
import type { Changes, Row, Table } from '../../../../../projections/contract/projection.ts';
import { openWriter } from '../../../../../services/runtime/postgres/pool.ts';
import { writeChanges } from '../../../../../services/projector/engine/table-writer.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { silentLog } from '../../../../support/kafka.ts';

const STACK: Table = {
  name: 'stack',
  columns: { owner: 'bytea', ordinal: 'int8', amount: 'numeric' },
  key: ['owner', 'ordinal'],
};
const KINDS: Table = {
  name: 'kinds',
  columns: { kind: 'text', happened: 'timestamptz', sure: 'bool', count: 'int4', note: 'text' },
  key: ['kind'],
};
const A = Buffer.from([0, 1, 255]);
const B = Buffer.from([2]);
const NOTHING: Changes = { cuts: [], deletes: [], appends: [], upserts: [] };

let pool: Pool;

beforeAll(async () => {
  const { writer_url } = await freshDatabase(inject('stack'));
  pool = openWriter(
    { postgres_url: writer_url, application_name: 'test', schema: 'own' },
    silentLog(),
  );
  await pool.query('CREATE SCHEMA own');
  await pool.query(
    'CREATE TABLE stack (owner bytea, ordinal bigint, amount numeric, PRIMARY KEY (owner, ordinal))',
  );
  await pool.query(
    'CREATE TABLE kinds (kind text PRIMARY KEY, happened timestamptz, sure boolean, count integer, note text)',
  );
});

afterAll(async () => {
  await pool.end();
});

beforeEach(async () => {
  await pool.query('TRUNCATE stack, kinds');
});

async function change(changes: Partial<Changes>): Promise<number> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const rows = await writeChanges(client, { ...NOTHING, ...changes });
    await client.query('COMMIT');
    return rows;
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

async function stack(): Promise<unknown[]> {
  const { rows } = await pool.query<unknown[]>({
    text: `SELECT encode(owner, 'hex'), ordinal::int, amount FROM stack ORDER BY owner, ordinal`,
    rowMode: 'array',
  });
  return rows;
}

/** Enough rows for several buffers, which are reused. */
const MANY = 60_000;

function many(owner: Buffer, last: bigint): CopyRows {
  return CopyRows.of(
    STACK,
    Array.from({ length: MANY }, (_, at) => [owner, at, at === MANY - 1 ? last : BigInt(at)]),
  );
}

/** Without the end of the stream, which all share. */
function memoryOf(rows: CopyRows): readonly ArrayBufferLike[] {
  return [...rows.pieces()].slice(0, -1).map(({ buffer }) => buffer);
}

test('the buffers of rows return to the pool once Postgres has written them, and not when it refused them', async () => {
  await pool.query('ALTER TABLE stack ADD CONSTRAINT at_least_nothing CHECK (amount >= 0)');
  const [refused, taken] = [many(A, -1n), many(B, 1n)];
  const [ofRefused, ofTaken] = [new Set(memoryOf(refused)), new Set(memoryOf(taken))];
  await expect(change({ appends: [refused] })).rejects.toThrow('at_least_nothing');
  expect(await change({ appends: [taken] })).toBe(MANY);
  const next = [1n, 2n, 3n].map((last) => many(A, last));
  const used = next.flatMap(memoryOf);
  expect(used.some((each) => ofTaken.has(each))).toBe(true);
  expect(used.some((each) => ofRefused.has(each))).toBe(false);
  expect(new Set(used).size).toBe(used.length);
  await pool.query('ALTER TABLE stack DROP CONSTRAINT at_least_nothing');
  const { rows } = await pool.query(
    "SELECT count(*)::int, sum(amount) FROM stack WHERE owner = '\\x02'",
  );
  expect(rows).toEqual([
    { count: MANY, sum: String((BigInt(MANY - 1) * BigInt(MANY - 2)) / 2n + 1n) },
  ]);
});

test('rows are appended in the order of their columns, and counted', async () => {
  const rows = [
    [A, 0, 10n ** 20n],
    [A, 1n, -1n],
    [B, 0, 0n],
  ];
  expect(await change({ appends: [{ table: STACK, rows }] })).toBe(3);
  expect(await stack()).toEqual([
    ['0001ff', 0, '100000000000000000000'],
    ['0001ff', 1, '-1'],
    ['02', 0, '0'],
  ]);
});

test('a cut deletes rows at or above it, of the whole table or by group', async () => {
  const rows = [A, B].flatMap((owner) => [0, 1, 2, 3].map((ordinal) => [owner, ordinal, 1n]));
  await change({ appends: [{ table: STACK, rows }] });
  const groups = [
    [A, 1],
    [B, 3n],
    [Buffer.from('nobody'), 0],
  ] as const;
  expect(
    await change({ cuts: [{ table: STACK, column: 'ordinal', within: 'owner', groups }] }),
  ).toBe(4);
  expect((await stack()).length).toBe(4);
  expect(await change({ cuts: [{ table: STACK, column: 'ordinal', from: 1 }] })).toBe(2);
  expect(await stack()).toEqual([
    ['0001ff', 0, '1'],
    ['02', 0, '1'],
  ]);
  expect(
    await change({ cuts: [{ table: STACK, column: 'ordinal', within: 'owner', groups: [] }] }),
  ).toBe(0);
});

test('an upsert inserts or replaces every column, with any text, time and null', async () => {
  const odd = '{"a", \\N} \'\t\n😀,';
  const rows = [
    ['', 0, true, 1, null],
    [odd, -1, false, -5n, odd],
  ];
  expect(await change({ upserts: [{ table: KINDS, rows }] })).toBe(2);
  expect(
    await change({
      upserts: [{ table: KINDS, rows: [[odd, 1_700_000_000_123, null, null, 'NULL']] }],
    }),
  ).toBe(1);
  const { rows: found } = await pool.query(
    'SELECT kind, happened, sure, count, note FROM kinds ORDER BY kind',
  );
  expect(found).toEqual([
    { kind: '', happened: new Date(0), sure: true, count: 1, note: null },
    { kind: odd, happened: new Date(1_700_000_000_123), sure: null, count: null, note: 'NULL' },
  ]);
});

test('deletes find their rows by the key alone', async () => {
  const rows = [0, 1, 2].map((ordinal) => [A, ordinal, 5n]);
  await change({ appends: [{ table: STACK, rows }] });
  const gone = [
    [A, 1],
    [B, 1],
  ];
  expect(await change({ deletes: [{ table: STACK, rows: gone }] })).toBe(1);
  expect(await stack()).toHaveLength(2);
});

test('changes are written as cuts, deletes, appends, upserts', async () => {
  await change({ appends: [{ table: STACK, rows: [[A, 0, 1n], [A, 1, 1n]] }] }); // prettier-ignore
  const changed = await change({
    upserts: [{ table: STACK, rows: [[A, 1, 9n]] }],
    appends: [{ table: STACK, rows: [[A, 0, 7n], [A, 1, 8n]] }], // prettier-ignore
    deletes: [{ table: STACK, rows: [[A, 0]] }],
    cuts: [{ table: STACK, column: 'ordinal', from: 1 }],
  });
  expect(changed).toBe(5);
  expect(await stack()).toEqual([
    ['0001ff', 0, '7'],
    ['0001ff', 1, '9'],
  ]);
});

test('an append of an existing key is refused, and the connection stays usable', async () => {
  await change({ appends: [{ table: STACK, rows: [[A, 0, 1n]] }] });
  await expect(change({ appends: [{ table: STACK, rows: [[A, 0, 1n]] }] })).rejects.toMatchObject({
    code: '23505',
  });
  expect(await change({ appends: [{ table: STACK, rows: [[A, 1, 1n]] }] })).toBe(1);
});

test('rows of megabytes, and thousands of rows, arrive whole', async () => {
  const large = 'x'.repeat(5_000_000);
  const rows = Array.from({ length: 5_000 }, (_, at) => [
    `kind ${at}`,
    at,
    true,
    at,
    at === 4_999 ? large : null,
  ]);
  expect(await change({ appends: [{ table: KINDS, rows }] })).toBe(5_000);
  const { rows: found } = await pool.query(
    'SELECT count(*)::int AS count, sum(count)::int AS sum, max(length(note)) AS longest FROM kinds',
  );
  expect(found).toEqual([{ count: 5_000, sum: (5_000 * 4_999) / 2, longest: large.length }]);
});

function kindsFrom(first: number, note: string | null): Row[] {
  return Array.from({ length: 3_000 }, (_, at) => [`k ${first + at}`, 0, null, at, note]);
}

test('an upsert of thousands of rows acts like one of few, repeatedly on one connection', async () => {
  const odd = '{"a", \\N} \'\t\n😀,';
  expect(await change({ upserts: [{ table: KINDS, rows: kindsFrom(0, null) }] })).toBe(3_000);
  expect(await change({ upserts: [{ table: KINDS, rows: kindsFrom(1_000, odd) }] })).toBe(3_000);
  const { rows: found } = await pool.query(
    'SELECT note, count(*)::int AS count, sum(count)::int AS sum FROM kinds GROUP BY note ORDER BY note NULLS FIRST',
  );
  expect(found).toEqual([
    { note: null, count: 1_000, sum: (1_000 * 999) / 2 },
    { note: odd, count: 3_000, sum: (3_000 * 2_999) / 2 },
  ]);
});
