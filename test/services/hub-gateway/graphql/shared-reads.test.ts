import { expect, test } from 'vitest';
import { SharedReads } from '../../../../services/hub-gateway/graphql/shared-reads.ts';
import type { Cells } from '../../../../services/runtime/postgres/pool.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { ReadVersion, VERSION_CHECK_MS } from '../../../../services/runtime/read-version.ts';

const AWAY = 'away';

/** A market of one row, which is read at once unless `gate` holds up the reads that begin. */
async function market() {
  const state = { row: '1', rows: 1, position: '1', now: 0, reads: 0, gate: Promise.resolve() };
  const version = new ReadVersion({
    reader: {
      rows: () =>
        state.position === AWAY
          ? Promise.reject(new Fault('postgres', 'no answer', { retry: true }))
          : Promise.resolve([[state.position]]),
    },
    position: { name: 'position', text: 'SELECT', values: [] },
    now: () => state.now,
  });
  const table = {
    rows: async (): Promise<readonly Cells[]> => {
      state.reads++;
      const { row, rows, gate } = state;
      await gate;
      return Array.from({ length: rows }, () => [row]);
    },
  };
  const shared = new SharedReads(table, version);
  await version.current();
  const read = async (limit = 1): Promise<unknown> =>
    (await shared.rows({ name: 'list', text: 'SELECT', values: [limit] }))[0]?.[0];
  return { state, version, read };
}

test('the same rows are read once until the market changes, others by themselves', async () => {
  const { state, version, read } = await market();
  expect(await Promise.all([read(), read()])).toEqual(['1', '1']);
  expect([await read(), state.reads]).toEqual(['1', 1]);
  await read(2);
  expect(state.reads).toBe(2);
  state.row = '2';
  version.changed(['any key']);
  expect(await Promise.all([read(), read()])).toEqual(['2', '2']);
  expect(state.reads).toBe(3);
});

test('a read that begins after a change does not share one from before it', async () => {
  const { state, version, read } = await market();
  await read(2);
  const gate = Promise.withResolvers<void>();
  state.gate = gate.promise;
  const before = read();
  state.row = '2';
  version.changed();
  const after = read();
  gate.resolve();
  expect(await Promise.all([before, after])).toEqual(['1', '2']);
  expect(await read()).toBe('2');
});

test('rows are at most as old as the last look at the market when a notification is lost', async () => {
  const { state, read } = await market();
  await read();
  [state.row, state.position] = ['2', '2'];
  state.now = VERSION_CHECK_MS;
  expect(await read()).toBe('2');
});

test('a read that fails is not shared with those that begin later', async () => {
  const { state, read } = await market();
  state.gate = Promise.reject(new Error('away'));
  const failed = await Promise.allSettled([read(), read()]);
  expect([failed.map(({ status }) => status), state.reads]).toEqual([['rejected', 'rejected'], 1]);
  state.gate = Promise.resolve();
  expect([await read(), state.reads]).toEqual(['1', 2]);
});

test.each([
  ['is looked up', '1'],
  ['cannot be read', AWAY],
])('each operation reads by itself while the version of the market %s', async (_what, position) => {
  const { state, read } = await market();
  await read();
  state.position = position;
  state.now = VERSION_CHECK_MS;
  expect(await Promise.all([read(), read()])).toEqual(['1', '1']);
  expect(state.reads).toBe(3);
});

test('reads are shared again once the version of the market was looked up', async () => {
  const { state, version, read } = await market();
  state.now = VERSION_CHECK_MS;
  await read();
  await version.current();
  state.reads = 0;
  await Promise.all([read(), read()]);
  expect(state.reads).toBe(1);
});

test('a list of more rows than are kept is shared only while it is read', async () => {
  const { state, read } = await market();
  for (const [rows, reads] of [
    [10_001, 1],
    [10_002, 2],
  ] as const) {
    [state.rows, state.reads] = [rows, 0];
    await Promise.all([read(rows), read(rows)]);
    expect(state.reads).toBe(1);
    await read(rows);
    expect(state.reads).toBe(reads);
  }
});
