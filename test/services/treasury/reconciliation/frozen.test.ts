/** Money in custody that the token lets nobody move. */
import { expect, test } from 'vitest';
import { statusOf } from '../../../../projections/reserve/position.ts';
import { ALICE, BOB, CUSTODY, QUIET_REQUESTS, UNTOUCHED, USD, world } from './simulated.ts';

test.each([1, 200])(
  'money at an address that the token blocks is in custody, frozen and covers nothing, in batches of %i',
  async (batchMax) => {
    const simulated = world();
    simulated.batch_max = batchMax;
    simulated.block(ALICE);
    // nothing is at this address
    simulated.block(BOB);
    const { position, blocked, token } = await simulated.measure();
    expect([statusOf(position, 0n), position.custody_reported]).toEqual(['ok', 20n * USD]);
    expect([position.frozen, position.uncovered]).toEqual([10n * USD, 6n * USD]);
    expect([blocked, token]).toEqual([[ALICE], UNTOUCHED]);
    simulated.block(CUSTODY);
    const { position: all, blocked: both } = await simulated.measure();
    expect([all.custody_reported, all.frozen, all.uncovered]).toEqual([
      20n * USD,
      20n * USD,
      16n * USD,
    ]);
    expect(both).toEqual([CUSTODY, ALICE]);
    for (const each of [ALICE, CUSTODY]) simulated.block(each, false);
    const { position: free } = await simulated.measure();
    expect([free.frozen, free.uncovered]).toEqual([0n, 0n]);
  },
);

test.each([
  ['paused', 1],
  ['paused', 200],
  ['deprecated', 1],
  ['deprecated', 200],
] as const)(
  'all of custody is frozen while the token is %s, in batches of %i',
  async (state, most) => {
    const simulated = world();
    simulated.batch_max = most;
    simulated.token = { ...UNTOUCHED, [state]: true };
    const { position, blocked } = await simulated.measure();
    expect([position.frozen, position.uncovered]).toEqual([20n * USD, 16n * USD]);
    expect(blocked).toEqual([]);
    // what arrived and is not in the ledger is no part of custody
    simulated.pay(ALICE, 30n * USD);
    expect((await simulated.measure()).position).toMatchObject({
      custody_reported: 20n * USD,
      frozen: 20n * USD,
    });
    simulated.token = UNTOUCHED;
    expect((await simulated.measure()).position).toMatchObject({ frozen: 0n, uncovered: 0n });
  },
);

test('a fee of the token freezes nothing', async () => {
  const simulated = world();
  simulated.token = { ...UNTOUCHED, fee_basis_points: 10n, maximum_fee: 5n * USD };
  const { position, token } = await simulated.measure();
  expect([position.frozen, token]).toEqual([0n, simulated.token]);
});

test('the token is asked once a run where batches are refused, and never besides a batch', async () => {
  const simulated = world();
  await simulated.measure();
  // Alice and custody before and in the run, as they have money, and the four functions
  expect(simulated.asked_token).toBe(4 + 4);
  simulated.batch_max = 200;
  await simulated.measure();
  expect(simulated.asked_token).toBe(8);
});

test('money that arrives at a blocked address is frozen once the ledger knows it', async () => {
  const simulated = world();
  simulated.block(BOB);
  for (const [to, later] of [
    [BOB, 0],
    [ALICE, 0],
    [BOB, 61_000],
  ] as const) {
    simulated.pay(to, 30n * USD);
    simulated.head += later;
    const { position } = await simulated.measure();
    expect({ to, later, custody: position.custody_reported, frozen: position.frozen }).toEqual({
      to,
      later,
      custody: 20n * USD,
      frozen: 0n,
    });
  }
  const paid = simulated.pay(BOB, 5n * USD);
  simulated.confirm(paid);
  const { position } = await simulated.measure();
  expect([position.custody_reported, position.frozen]).toEqual([25n * USD, 5n * USD]);
});

test.each(Array.from({ length: QUIET_REQUESTS }, (_, at) => at))(
  'a sweep before request %i into a blocked custody address is counted once, and no more is frozen than is there',
  async (when) => {
    const simulated = world();
    simulated.block(CUSTODY);
    simulated.beforeBalance = (asked) => {
      if (asked === when) simulated.pay(CUSTODY, 10n * USD, { from: ALICE });
    };
    const { position } = await simulated.measure();
    expect([statusOf(position, 0n), position.custody_reported]).toEqual(['ok', 20n * USD]);
    expect([10n * USD, 20n * USD]).toContain(position.frozen);
    expect(position.uncovered).toBe(position.frozen - 4n * USD);
  },
);

test('an address that is blocked while balances are read is frozen', async () => {
  const simulated = world();
  simulated.beforeBalance = (asked) => {
    // after the first reading of custody
    if (asked === 3) simulated.block(CUSTODY);
  };
  const { position } = await simulated.measure();
  expect([position.frozen, position.uncovered]).toEqual([10n * USD, 6n * USD]);
});
