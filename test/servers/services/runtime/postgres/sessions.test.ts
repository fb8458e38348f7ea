import * as fc from 'fast-check';
import { Pool } from 'pg';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import {
  type Statement,
  type QueryValue,
  Sessions,
} from '../../../../../services/runtime/postgres/sessions.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { anyCharacter } from '../../../../support/any-character.ts';

const MINUTE_MS = 60_000;

let url = '';
beforeAll(async () => {
  url = (await freshDatabase(inject('stack'))).writer_url;
});

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((close) => close()));
});

function open({
  max = 1,
  idle_ms = MINUTE_MS,
}: { readonly max?: number; readonly idle_ms?: number } = {}) {
  const pool = new Pool({ connectionString: url, max });
  pool.on('error', () => undefined);
  const sessions = new Sessions(pool, idle_ms, () => false);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= sessions.close());
  opened.push(close);
  return { pool, sessions, close };
}

function question(text: string, values: readonly QueryValue[] = []): Statement {
  return { name: text.slice(0, 60), text, values };
}

const text = fc
  .string({ unit: anyCharacter, maxLength: 40 })
  .filter((given) => !given.includes('\0'));
const value = fc.oneof(
  fc.record({ cast: fc.constant('text'), given: fc.option(text) }),
  fc.record({
    cast: fc.constant('bytea'),
    given: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  }),
  fc.record({
    cast: fc.constant('bigint'),
    given: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  }),
  fc.record({ cast: fc.constant('int'), given: fc.integer() }),
  fc.record({ cast: fc.constant('boolean'), given: fc.boolean() }),
);

test("any values reach Postgres, and return as text, as with pg's own query", async () => {
  const { sessions } = open();
  const plain = new Pool({
    connectionString: url,
    max: 1,
    types: { getTypeParser: () => (cell: string) => cell },
  });
  opened.push(() => plain.end());
  await fc.assert(
    fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 12 }), async (values) => {
      const columns = values.map(({ cast }, at) => `$${at + 1}::${cast}`);
      const given = values.map((each) => each.given);
      const asked = `SELECT ${columns.join(', ')}`;
      const { rows } = await plain.query({ text: asked, values: given, rowMode: 'array' });
      expect(await sessions.rows({ name: '', text: asked, values: given })).toEqual(rows);
    }),
    { numRuns: 100 },
  );
});

test('a named statement is prepared once a connection for all parameters, one without a name each time', async () => {
  const { sessions } = open();
  const doubled = question('SELECT $1::int * 2');
  const many = question('SELECT n FROM generate_series(1, $1::int) n');
  for (let at = 0; at < 3; at++)
    expect(await sessions.rows({ ...doubled, values: [at] })).toEqual([[String(at * 2)]]);
  expect(await sessions.rows({ ...many, values: [3] })).toEqual([['1'], ['2'], ['3']]);
  expect(await sessions.rows({ ...many, values: [0] })).toEqual([]);
  expect(await sessions.rows({ ...doubled, name: '', values: [5] })).toEqual([['10']]);
  expect(await sessions.rows(question(''))).toEqual([]);
  const known = await sessions.rows(
    question('SELECT statement FROM pg_prepared_statements ORDER BY prepare_time'),
  );
  expect(known.flat().filter((each) => each !== '')).toEqual([
    doubled.text,
    many.text,
    'SELECT statement FROM pg_prepared_statements ORDER BY prepare_time',
  ]);
});

test('two statements of one name are a bug', async () => {
  const { sessions } = open();
  expect(await sessions.rows({ name: 'one', text: 'SELECT 1', values: [] })).toEqual([['1']]);
  await expect(sessions.rows({ name: 'one', text: 'SELECT 2', values: [] })).rejects.toThrow(
    'a statement has a name of its own',
  );
  expect(await sessions.rows({ name: 'one', text: 'SELECT 2', values: [] })).toEqual([['2']]);
});

test('after an error of the statement, its values or its rows the next query succeeds', async () => {
  const { sessions, pool } = open();
  const failing = ['SELEC', "SELECT 'x'::int", 'SELECT 1 / (n - 3) FROM generate_series(1, 5) n'];
  for (const each of failing) {
    await expect(sessions.rows(question(each))).rejects.toMatchObject({ severity: 'ERROR' });
    expect(await sessions.rows(question('SELECT 1'))).toEqual([['1']]);
  }
  await expect(sessions.rows(question('SELECT $1::int', ['x']))).rejects.toMatchObject({
    code: '22P02',
  });
  expect(await sessions.rows(question('SELECT $1::int', [1]))).toEqual([['1']]);
  expect(pool.totalCount).toBe(1);
});

test('any number of concurrent queries get their own answers within the connection limit', async () => {
  const { sessions, pool } = open({ max: 3 });
  const asked = Array.from({ length: 200 }, (_, at) =>
    sessions.rows(question('SELECT $1::int, pg_sleep(0.001)', [at])),
  );
  expect(await Promise.all(asked)).toEqual(
    Array.from({ length: 200 }, (_, at) => [[String(at), '']]),
  );
  expect(pool.totalCount).toBeLessThanOrEqual(3);
});

test('an idle connection returns to the pool and is reused with its prepared statements', async () => {
  const { sessions, pool } = open({ idle_ms: 20 });
  const pid = question('SELECT pg_backend_pid()');
  const [first] = await sessions.rows(pid);
  await expect.poll(() => pool.idleCount).toBe(1);
  expect(await sessions.rows(pid)).toEqual([first]);
});

test('an idle connection that breaks is replaced', async () => {
  const { sessions, pool } = open();
  const [[pid] = []] = await sessions.rows(question('SELECT pg_backend_pid()'));
  const { sessions: other } = open();
  expect(await other.rows(question('SELECT pg_terminate_backend($1::int)', [Number(pid)]))).toEqual(
    [['t']],
  );
  await expect.poll(() => pool.totalCount).toBe(0);
  expect(await sessions.rows(question('SELECT 1'))).toEqual([['1']]);
});

test('closing waits for queries in flight and accepts no further ones', async () => {
  const { sessions, close } = open();
  await sessions.rows(question('SELECT 1'));
  const asked = sessions.rows(question('SELECT pg_sleep(0.05)'));
  const closed = close();
  await expect(sessions.rows(question('SELECT 1'))).rejects.toThrow('end on the pool');
  expect(await asked).toEqual([['']]);
  await closed;
});
