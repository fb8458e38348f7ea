import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import * as fc from 'fast-check';
import type { Pool } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { CopyRows } from '../../../../../services/runtime/postgres/copy-rows.ts';
import type {
  ColumnType,
  Row,
  Table,
  Value,
} from '../../../../../projections/contract/projection.ts';
import { openWriter } from '../../../../../services/runtime/postgres/pool.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { silentLog } from '../../../../support/kafka.ts';
import { anyCharacter } from '../../../../support/any-character.ts';

let pool: Pool;

beforeAll(async () => {
  const { writer_url } = await freshDatabase(inject('stack'));
  pool = openWriter(
    { postgres_url: writer_url, application_name: 'test', schema: 'public' },
    silentLog(),
  );
});

afterAll(async () => {
  await pool.end();
});

const INT8_MAX = 2n ** 63n - 1n;
const NUMERIC_EDGES = [
  0n,
  1n,
  9_999n,
  10_000n,
  10_001n,
  10n ** 8n,
  10n ** 16n,
  10n ** 20n,
  123_000_000_000_000n,
  9_007_199_254_739_999n,
  2n ** 53n - 1n,
  2n ** 53n,
  INT8_MAX,
  2n ** 256n - 1n,
];

/** Values of each type, edge cases first. */
const VALUES: { readonly [Type in ColumnType]: fc.Arbitrary<Value> } = {
  bool: fc.boolean(),
  bytea: fc.oneof(
    fc.constantFrom(
      Buffer.alloc(0),
      Buffer.alloc(32),
      Buffer.alloc(70_000, 'large'),
      Buffer.from([0, 255, 10, 92]),
    ),
    bytes(40),
  ),
  int4: fc.oneof(fc.constantFrom(0, -1, 2 ** 31 - 1, -(2 ** 31), 5n), fc.integer()),
  int8: fc.oneof(
    fc.constantFrom<number | bigint>(
      0,
      -1,
      2 ** 32,
      -(2 ** 32),
      2 ** 32 - 1,
      -(2 ** 32) - 1,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
      INT8_MAX,
      -INT8_MAX - 1n,
    ),
    fc.maxSafeInteger(),
    fc.bigInt({ min: -INT8_MAX - 1n, max: INT8_MAX }),
  ),
  numeric: fc.oneof(
    fc.constantFrom(...NUMERIC_EDGES, ...NUMERIC_EDGES.map((edge) => -edge)),
    fc
      .tuple(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }), fc.integer({ min: 0, max: 24 }))
      .map(([digits, zeros]) => digits * 10n ** BigInt(zeros)),
    fc.bigInt({ min: -(2n ** 300n), max: 2n ** 300n }),
  ),
  text: fc.oneof(
    fc.constantFrom(
      '',
      'RidePay',
      '\\N',
      'a\tb\n',
      "'",
      '"',
      '{}',
      'NULL',
      '😀',
      'ß',
      '€'.repeat(30_000),
    ),
    fc.string({ unit: anyCharacter }).map(storable),
  ),
  timestamptz: fc.oneof(
    fc.constantFrom(
      0,
      1,
      -1,
      946_684_800_000,
      946_684_799_999,
      1_700_000_000_123,
      -62_135_596_800_000,
      253_402_300_799_999,
    ),
    fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 }),
  ),
};

function bytes(lengthMax: number): fc.Arbitrary<Buffer> {
  return fc.uint8Array({ maxLength: lengthMax }).map((array) => Buffer.from(array));
}

/** Postgres has no text with NUL, and a lone surrogate is no text at all. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}

const TYPES = [
  'bool',
  'bytea',
  'int4',
  'int8',
  'numeric',
  'text',
  'timestamptz',
] as const satisfies readonly ColumnType[];
const TABLE: Table = {
  name: 'copied',
  columns: Object.fromEntries(TYPES.map((type) => [`a_${type}`, type])),
  key: [],
};
const ROWS = fc.array(fc.tuple(...TYPES.map((type) => fc.option(VALUES[type], { freq: 8 }))), {
  minLength: 1,
  maxLength: 20,
});

function parameter(value: Value, type: ColumnType): unknown {
  if (type === 'timestamptz' && typeof value === 'number')
    return new Date(value).toISOString().replace(/^([+-])0*(\d{4})/, '$2');
  return typeof value === 'bigint' ? String(value) : value;
}

async function texts(table: string): Promise<unknown> {
  const columns = TYPES.map((type) =>
    type === 'bytea' ? `encode(a_${type}, 'hex')` : `a_${type}::text`,
  );
  const { rows } = await pool.query({
    text: `SELECT ${columns.join(', ')} FROM ${table} ORDER BY at`,
    rowMode: 'array',
  });
  return rows;
}

test('every value copied in binary reads back as the same value inserted as a parameter does', async () => {
  const columns = TYPES.map((type) => `a_${type} ${type}`).join(', ');
  for (const table of ['copied', 'inserted'])
    await pool.query(`CREATE TABLE ${table} (at serial, ${columns})`);
  await fc.assert(
    fc.asyncProperty(ROWS, async (rows) => {
      await pool.query('TRUNCATE copied, inserted RESTART IDENTITY');
      await copy(TABLE, rows);
      for (const row of rows) {
        const values = TYPES.map((type, at) => parameter(row[at] ?? null, type));
        await pool.query(
          `INSERT INTO inserted (${Object.keys(TABLE.columns).join(', ')}) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
          values,
        );
      }
      expect(await texts('copied')).toEqual(await texts('inserted'));
    }),
    { numRuns: 60 },
  );
});

async function copy(table: Table, rows: readonly Row[]): Promise<void> {
  const client = await pool.connect();
  try {
    const stream = client.query(
      copyFrom(`COPY ${table.name} (${Object.keys(table.columns).join(', ')}) FROM STDIN BINARY`),
    );
    await pipeline(Readable.from(CopyRows.of(table, rows).pieces()), stream);
  } finally {
    client.release();
  }
}

test('numerics have the bytes that Postgres itself writes', async () => {
  await pool.query('CREATE TABLE amounts (amount numeric)');
  const table: Table = { name: 'amounts', columns: { amount: 'numeric' }, key: [] };
  const amounts = [...NUMERIC_EDGES, ...NUMERIC_EDGES.map((edge) => -edge)];
  await copy(
    table,
    amounts.map((amount) => [amount]),
  );
  const { rows } = await pool.query<{ same: boolean }>(
    'SELECT numeric_send(amount) = numeric_send(amount::text::numeric) AS same FROM amounts',
  );
  expect(rows).toEqual(amounts.map(() => ({ same: true })));
});

function streamOf(rows: CopyRows): Buffer {
  return Buffer.concat([...rows.pieces()]);
}

test('pieces of any size make the same stream', () => {
  const rows = fc.sample(ROWS, { numRuns: 3, seed: 1 }).flat();
  const whole = streamOf(CopyRows.of(TABLE, rows));
  for (const size of [1, 100, 1 << 20]) {
    const pieced = new CopyRows(TABLE, size);
    for (const row of rows) pieced.add(row);
    expect(streamOf(pieced).equals(whole)).toBe(true);
  }
});

test('a savepoint removes all rows added since, wherever the pieces end', () => {
  fc.assert(
    fc.property(ROWS, ROWS, ROWS, fc.constantFrom(1, 100, 1 << 20), (kept, cut, added, size) => {
      const rows = new CopyRows(TABLE, size);
      for (const row of kept) rows.add(row);
      const undo = rows.savepoint();
      for (const row of cut) rows.add(row);
      undo();
      for (const row of added) rows.add(row);
      expect(rows.length).toBe(kept.length + added.length);
      expect(streamOf(rows).equals(streamOf(CopyRows.of(TABLE, [...kept, ...added])))).toBe(true);
    }),
  );
});

const LETTERS: Table = { name: 'letters', columns: { at: 'int8', letters: 'text' }, key: ['at'] };

function lettersOf(letter: string, count: number): CopyRows {
  return CopyRows.of(
    LETTERS,
    Array.from({ length: count }, (_, at) => [at, letter.repeat(50)]),
  );
}

/** Where its bytes are; without the end of the stream, which all share. */
function memoryOf(rows: CopyRows): ArrayBufferLike[] {
  return [...rows.pieces()].slice(0, -1).map(({ buffer }) => buffer);
}

test('released memory is used for other rows, each piece for one list', () => {
  const [kept, released] = [lettersOf('a', 60_000), lettersOf('b', 60_000)];
  const before = streamOf(kept);
  const expected = streamOf(lettersOf('c', 60_000));
  const memory = new Set(memoryOf(released));
  released.release();
  released.release();
  const others = Array.from({ length: 4 }, () => lettersOf('c', 60_000));
  const used = [kept, ...others].flatMap(memoryOf);
  expect(used.filter((each) => memory.has(each)).length).toBeGreaterThan(0);
  expect(new Set(used).size).toBe(used.length);
  for (const each of others) expect(streamOf(each).equals(expected)).toBe(true);
  expect(streamOf(kept).equals(before)).toBe(true);
});

test('released rows cannot be written again, and rows added later are dropped', () => {
  const rows = lettersOf('a', 60_000);
  rows.release();
  const others = lettersOf('b', 60_000);
  const before = streamOf(others);
  rows.add([0, 'late']);
  expect(streamOf(others).equals(before)).toBe(true);
  expect(() => [...rows.pieces()]).toThrow('released');
});

test('a stream without rows is valid', async () => {
  await pool.query('CREATE TABLE nothing (amount numeric)');
  await copy({ name: 'nothing', columns: { amount: 'numeric' }, key: [] }, []);
  expect((await pool.query('SELECT count(*)::int AS count FROM nothing')).rows).toEqual([
    { count: 0 },
  ]);
});

test.each<[ColumnType, Value]>([
  ['bool', 1],
  ['bytea', 'text'],
  ['int4', 1.5],
  ['int4', 2 ** 31],
  ['int8', 2 ** 53],
  ['int8', 2n ** 63n],
  ['int8', '1'],
  ['numeric', 1],
  ['text', Buffer.alloc(1)],
  ['timestamptz', 0.5],
  ['timestamptz', 1n],
])('a column of %s refuses %s instead of writing something else', (type, value) => {
  expect(() =>
    CopyRows.of({ name: 'one', columns: { value: type }, key: [] }, [[value]]),
  ).toThrow();
});
