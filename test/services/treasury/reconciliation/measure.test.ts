import { expect, test } from 'vitest';
import { statusOf, surplusOf } from '../../../../projections/reserve/position.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { named } from '../../../support/chain-by-hand.ts';
import { BEGIN } from '../../../support/deposit-log.ts';
import { CUSTODY, DAY_MS, Simulated, USD } from './simulated.ts';

const ALICE = named('alice');
const BOB = named('bob');
const CAROL = named('carol');
const OUTSIDE = named('outside');

/** Alice and Bob have 8 USD each; what Bob paid was swept. */
function world(): Simulated {
  const simulated = new Simulated();
  simulated.credited(ALICE, 10n * USD);
  simulated.credited(BOB, 10n * USD);
  simulated.pay(CUSTODY, 10n * USD, { from: BOB });
  return simulated;
}

/** Questions about balances in a quiet world: custody, Alice, Bob, custody again. */
const QUIET = 4;

test('custody is the sum of deposit addresses and custody addresses', async () => {
  const { position, final, ledger_offset } = await world().measure();
  expect(position).toEqual({
    onchain_supply: 1_016n * USD,
    genesis_allocation: 1_000n * USD,
    treasury_minted: 16n * USD,
    burned: 0n,
    ledger_liability: 16n * USD,
    custody_reported: 20n * USD,
    held: 0n,
    retained_fees: 4n * USD,
  });
  expect([final.height, ledger_offset]).toEqual([2, 5n]);
});

test.each(Array.from({ length: QUIET + 1 }, (_, at) => at))(
  'money that arrives before request %i and is confirmed before the second look at the ledger is counted',
  async (when) => {
    for (const to of [ALICE, BOB, CAROL]) {
      const simulated = world();
      let arrived: Buffer | undefined;
      simulated.beforeBalance = (asked) => {
        if (asked === when) arrived = simulated.pay(to, 30n * USD);
      };
      simulated.beforeCatchUp = (which) => {
        if (which === 'ledger' && arrived !== undefined) simulated.confirm(arrived);
        if (which === 'ledger') arrived = undefined;
      };
      const { position } = await simulated.measure();
      expect({ to, status: statusOf(position, 0n), surplus: surplusOf(position) }).toEqual({
        to,
        status: 'ok',
        surplus: 0n,
      });
    }
  },
);

test.each(Array.from({ length: QUIET }, (_, at) => at))(
  'money that arrives before request %i and is not in the ledger yet is no surplus',
  async (when) => {
    for (const to of [ALICE, BOB, CAROL]) {
      const simulated = world();
      simulated.beforeBalance = (asked) => {
        if (asked === when) simulated.pay(to, 30n * USD);
      };
      const { position } = await simulated.measure();
      expect({ to, status: statusOf(position, 0n), custody: position.custody_reported }).toEqual({
        to,
        status: 'ok',
        custody: 20n * USD,
      });
    }
  },
);

test('money that arrived, was swept and arrived again before the ledger knew is no surplus', async () => {
  const simulated = world();
  simulated.pay(BOB, 3n * USD);
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), position.custody_reported]).toEqual(['ok', 20n * USD]);
});

test('money that was partly swept before the ledger knew of it is no surplus', async () => {
  const simulated = world();
  simulated.pay(ALICE, 30n * USD);
  simulated.pay(CUSTODY, 35n * USD, { from: ALICE });
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), position.custody_reported]).toEqual(['ok', 20n * USD]);
});

test.each(Array.from({ length: QUIET }, (_, at) => at))(
  'a sweep before request %i is counted once',
  async (when) => {
    const simulated = world();
    simulated.beforeBalance = (asked) => {
      if (asked === when) simulated.pay(CUSTODY, 10n * USD, { from: ALICE });
    };
    const { position } = await simulated.measure();
    expect([statusOf(position, 0n), position.custody_reported]).toEqual(['ok', 20n * USD]);
  },
);

test('endless sweeping is a fault without amounts', async () => {
  const simulated = world();
  simulated.beforeBalance = () => void simulated.pay(CUSTODY, 1n, { from: ALICE });
  await expect(simulated.measure()).rejects.toMatchObject({ code: 'custody_moving', retry: true });
});

test.each([0, 1, 2, 3])(
  'an unreadable balance at request %i is a fault without amounts',
  async (when) => {
    const simulated = world();
    simulated.beforeBalance = (asked) => {
      if (asked === when)
        throw new Fault('tron_unreachable', 'the provider is away', { retry: true });
    };
    await expect(simulated.measure()).rejects.toMatchObject({ code: 'tron_unreachable' });
  },
);

test('money that no listed transfer explains is a surplus, without what arrives at the same time', async () => {
  for (const to of [ALICE, BOB, CUSTODY]) {
    const simulated = world();
    simulated.pay(to, 5n * USD, { listed: false });
    simulated.pay(ALICE, 7n * USD);
    const { position } = await simulated.measure();
    expect({ to, status: statusOf(position, USD), surplus: surplusOf(position) }).toEqual({
      to,
      status: 'over_backed_drift',
      surplus: 5n * USD,
    });
  }
});

test('an old transfer that never came into the ledger does not explain a surplus', async () => {
  for (const to of [ALICE, BOB]) {
    const simulated = world();
    simulated.pay(to, 30n * USD);
    simulated.head += DAY_MS;
    expect(statusOf((await simulated.measure()).position, 0n)).toBe('ok');
    simulated.head += 1;
    simulated.pay(ALICE, 7n * USD);
    const { position } = await simulated.measure();
    expect({ to, status: statusOf(position, 0n), surplus: surplusOf(position) }).toEqual({
      to,
      status: 'over_backed_drift',
      surplus: 30n * USD,
    });
  }
});

test('progress reports the number of balances and each one that is read', async () => {
  const simulated = world();
  await simulated.measure();
  expect([simulated.planned, simulated.read]).toEqual([QUIET, QUIET]);
});

test('money sent to an unknown address is missing', async () => {
  const simulated = world();
  simulated.pay(OUTSIDE, 5n * USD, { from: CUSTODY });
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), position.custody_reported]).toEqual(['mismatch', 15n * USD]);
});

test('an unrequested mint shows once it is final', async () => {
  const simulated = world();
  simulated.mint(ALICE, USD);
  expect(statusOf((await simulated.measure()).position, 0n)).toBe('ok');
  simulated.finalize();
  expect(statusOf((await simulated.measure()).position, 0n)).toBe('mismatch');
});

test('a deposit minted while balances are read is compared at the earlier block', async () => {
  const simulated = world();
  let done = false;
  simulated.beforeBalance = (asked) => {
    if (asked !== 2 || done) return;
    done = true;
    simulated.credited(ALICE, 12n * USD);
  };
  const { position, final } = await simulated.measure();
  expect([final.height, simulated.height]).toEqual([2, 3]);
  expect(position).toMatchObject({
    onchain_supply: 1_016n * USD,
    treasury_minted: 16n * USD,
    held: 10n * USD,
    custody_reported: 32n * USD,
  });
  expect(statusOf(position, 0n)).toBe('ok');
});

test('a provider behind its earlier block is a fault without amounts', async () => {
  const simulated = world();
  simulated.head = BEGIN;
  await expect(simulated.measure()).rejects.toMatchObject({ code: 'tron_behind', retry: true });
});

test('a stale chain is a fault without amounts', async () => {
  const simulated = world();
  await expect(simulated.measure({ block_age_max_ms: 1_000 })).rejects.toMatchObject({
    code: 'chain_stale',
    retry: true,
  });
});
