import { expect, test } from 'vitest';
import { lagCheck } from '../../../services/hub-gateway/lag.ts';
import type { Reader } from '../../../services/runtime/postgres/pool.ts';

function ready(explorer: number, market: number, head: number | undefined): unknown {
  const reader: Reader = {
    rows: ({ name }) =>
      Promise.resolve([
        name === 'ride_market_head' ? ['7', String(market)] : [String(explorer), '0'],
      ]),
  };
  const newest = head === undefined ? undefined : { height: head, finalized_height: null };
  return lagCheck(reader, () => Promise.resolve(newest), 20).check();
}

test('the hub is ready while both read models are near the node, and not beyond', async () => {
  expect(await ready(80, 80, 100)).toBeUndefined();
  expect(await ready(79, 80, 100)).toMatchObject({
    status: 'waiting',
    waits_for: 'projection:explorer',
    message: expect.stringContaining('explorer is 21 blocks behind the node, more than 20'),
  });
  expect(await ready(80, 79, 100)).toMatchObject({ waits_for: 'projection:ride_market' });
});

test('an unknown head does not make the hub unready', async () => {
  expect(await ready(0, 0, undefined)).toBeUndefined();
});
