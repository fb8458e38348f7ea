import { expect, test } from 'vitest';
import { indexCheck } from '../../../services/explorer-gateway/lag.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import type { Cells, Reader } from '../../../services/runtime/postgres/pool.ts';

function indexed(...rows: readonly Cells[]): Reader {
  return { rows: ({ name }) => Promise.resolve(name === 'explorer_is_indexed' ? [['t']] : rows) };
}

const ready = (reader: Reader, head: number | undefined, lagMax = 20): unknown =>
  indexCheck(
    reader,
    () =>
      Promise.resolve(head === undefined ? undefined : { height: head, finalized_height: null }),
    lagMax,
  ).check();

const waiting = (message: string): unknown => ({
  status: 'waiting',
  waits_for: 'projection:explorer',
  message,
});

test('the index is ready up to the set lag behind the node, and not beyond', async () => {
  expect(await ready(indexed(['100']), 100)).toBeUndefined();
  expect(await ready(indexed(['80']), 100)).toBeUndefined();
  expect(await ready(indexed(['79']), 100)).toEqual(
    waiting('21 blocks behind the node, more than 20: see /ready of chain-ingester and projector'),
  );
  // ahead, as after a reorganisation of the node
  expect(await ready(indexed(['105']), 100)).toBeUndefined();
});

test('an index without a block counts as one block before the first', async () => {
  expect(await ready(indexed(), 0, 0)).toEqual(
    waiting('1 blocks behind the node, more than 0: see /ready of chain-ingester and projector'),
  );
  expect(await ready(indexed(), 19)).toBeUndefined();
});

test('an unknown head does not make the gateway unready, an index that cannot be read does', async () => {
  expect(await ready(indexed(['5']), undefined)).toBeUndefined();
  const fault = new Fault('storage_missing', 'no table', { retry: false });
  await expect(ready({ rows: () => Promise.reject(fault) }, 5)).rejects.toBe(fault);
});

test('an index that is being built is not ready, even near the head', async () => {
  const building: Reader = {
    rows: ({ name }) => Promise.resolve([[name === 'explorer_is_indexed' ? 'f' : '100']]),
  };
  for (const head of [100, undefined]) {
    expect(await ready(building, head)).toEqual(
      waiting('being built, and slow until it is: see /ready of projector-explorer'),
    );
  }
});
