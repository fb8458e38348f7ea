import { buildSchema, execute, parse } from 'graphql';
import { expect, test } from 'vitest';
import type { Query } from '../../../../projections/contract/page.ts';
import { ListReader, toObjects } from '../../../../services/hub-gateway/graphql/list-reader.ts';
import { Turns } from '../../../../services/runtime/limits/turns.ts';
import { Clients } from '../../../../services/runtime/limits/clients.ts';
import type { Cells } from '../../../../services/runtime/postgres/pool.ts';

const query = (limit: number): Query => ({ name: 'rows', text: 'SELECT', values: [limit] });

/** A table of so many rows, and the limits that it was read with. */
function table(rows: number) {
  const limits: number[] = [];
  const reader = {
    rows: ({ values }: Query): Promise<readonly Cells[]> => {
      const limit = Number(values[0]);
      limits.push(limit);
      return Promise.resolve(Array.from({ length: Math.min(rows, limit) }, (_, at) => [`${at}`]));
    },
  };
  return { limits, reader };
}

async function read(
  lists: ListReader,
  limit?: number,
  fields = 1,
): Promise<readonly [rows: number, isTruncated: boolean]> {
  const { rows, isTruncated } = await lists.read(query, { limit, fields });
  return [rows.length, isTruncated];
}

test('the lists of an operation share its rows in their order, and tell that they have more', async () => {
  const { limits, reader } = table(6);
  const lists = new ListReader(
    { shared_reads: reader, turns: new Turns(1), list_rows_max: 10 },
    () => new Clients(['a']),
  );
  const all = await Promise.all([
    read(lists, 3),
    read(lists),
    read(lists, 1),
    read(lists),
    read(lists, 5),
  ]);
  expect(all).toEqual([
    [3, false],
    [6, false],
    [1, false],
    [0, true],
    [0, true],
  ]);
  expect(limits).toEqual([3, 8, 1, 1, 1]);
});

test('a row with many fields counts as several', async () => {
  const { limits, reader } = table(6);
  const lists = new ListReader(
    { shared_reads: reader, turns: new Turns(1), list_rows_max: 10 },
    () => new Clients(['a']),
  );
  expect(await read(lists, undefined, 41)).toEqual([3, true]);
  expect(await read(lists, undefined, 20)).toEqual([1, true]);
  expect(limits).toEqual([4, 2]);
});

test('an operation reads once others have ended their turns, and nothing after its own end', async () => {
  const { limits, reader } = table(1);
  const sources = { shared_reads: reader, turns: new Turns(1), list_rows_max: 10 };
  const first = new ListReader(sources, () => new Clients(['a']));
  const second = new ListReader(sources, () => new Clients(['b']));
  await first.read(query);
  const reading = second.read(query);
  await first.read(query);
  expect(limits).toHaveLength(2);
  first.close();
  await reading;
  second.close();
  expect(await second.read(query)).toEqual({ rows: [], isTruncated: false });
  expect(limits).toHaveLength(3);
});

test('an operation that ends while it waits gives its turn on', async () => {
  const { reader } = table(1);
  const sources = { shared_reads: reader, turns: new Turns(1), list_rows_max: 10 };
  const [first, second, third] = [1, 2, 3].map(
    () => new ListReader(sources, () => new Clients(['a'])),
  );
  await first?.read(query);
  const waiting = second?.read(query);
  second?.close();
  const next = third?.read(query);
  first?.close();
  await Promise.all([waiting, next]);
});

test('the event loop has turns while a long list becomes a result', async () => {
  const rows = Array.from({ length: 1_001 }, (_, at): Cells => [String(at)]);
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const schema = buildSchema('type Query { rows: [Row!]! } type Row { value: String! }');
  const result = await execute({
    schema,
    document: parse('{ rows { value } }'),
    rootValue: { rows: () => toObjects(rows, ([value]) => ({ value })) },
  });
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(4);
  expect(JSON.stringify(result)).toBe(
    JSON.stringify({ data: { rows: rows.map(([value]) => ({ value })) } }),
  );
});
