import { expect, test } from 'vitest';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import {
  BELIEVED,
  statusOf,
  surplusOf,
  type Receiver,
} from '../../../../projections/reserve/position.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { PAGE_ROWS } from '../../../../services/runtime/trongrid/trongrid.ts';
import { named } from '../../../support/chain-by-hand.ts';
import { depositEvents } from '../../../support/deposit-events.ts';
import { BEGIN } from '../../../support/deposit-log.ts';
import { ALICE, BOB, CUSTODY, QUIET_REQUESTS, Simulated, USD, world } from './simulated.ts';

const CAROL = named('carol');
const OUTSIDE = named('outside');

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
    minting: 0n,
    waiting: 0n,
    retained_fees: 4n * USD,
    booked_surplus: 0n,
    refunded: 0n,
    unproven: 0n,
    unminted: 0n,
    unproven_refunds: 0n,
    frozen: 0n,
    uncovered: 0n,
  });
  expect([final.height, ledger_offset]).toEqual([2, 5n]);
});

test.each(Array.from({ length: QUIET_REQUESTS + 1 }, (_, at) => at))(
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

test.each(Array.from({ length: QUIET_REQUESTS }, (_, at) => at))(
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

test('the balance of an address that is no child of the key is not in custody, whatever the ledger says', async () => {
  const simulated = world();
  simulated.pay(OUTSIDE, 1_000n * USD);
  simulated.confirm(simulated.pay(OUTSIDE, 10n * USD));
  const asked: string[] = [];
  const own_addresses = {
    catchUp: () => Promise.resolve(void asked.push('catch up')),
    has: ({ address, owners }: Receiver) => {
      asked.push('has');
      return !address.equals(OUTSIDE) && owners.length === 1;
    },
  };
  const { position } = await simulated.measure({ own_addresses });
  expect([position.custody_reported, position.uncovered]).toEqual([20n * USD, 4n * USD]);
  // no address is judged before all of them are known
  expect(asked[0]).toBe('catch up');
});

test('money that arrived, was swept and arrived again before the ledger knew is no surplus', async () => {
  const simulated = world();
  simulated.pay(BOB, 3n * USD);
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), position.custody_reported]).toEqual(['ok', 20n * USD]);
});

test('money that arrived after more transfers than a page lists is no surplus', async () => {
  const simulated = world();
  for (let known = 0; known < PAGE_ROWS; known++) simulated.confirm(simulated.pay(ALICE, 3n * USD));
  simulated.pay(ALICE, 7n * USD);
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), surplusOf(position)]).toEqual(['ok', 0n]);
});

test('money that was partly swept before the ledger knew of it is no surplus', async () => {
  const simulated = world();
  simulated.pay(ALICE, 30n * USD);
  simulated.pay(CUSTODY, 35n * USD, { from: ALICE });
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), position.custody_reported]).toEqual(['ok', 20n * USD]);
});

test.each(Array.from({ length: QUIET_REQUESTS }, (_, at) => at))(
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

test('endless sweeping of more than the fees is a fault without amounts', async () => {
  const simulated = world();
  let requests = 0;
  let isBegin = false;
  simulated.beforeCatchUp = (which) => {
    // the chain is read at the begin and at the end of each attempt
    if (which === 'chain') isBegin = !isBegin;
    if (which !== 'chain' || !isBegin) return;
    requests = 0;
    if (simulated.balanceOf(ALICE) === 0n) simulated.pay(ALICE, 10n * USD, { from: CUSTODY });
  };
  // after the first reading of custody
  simulated.beforeBalance = () => {
    if (requests++ === 1) simulated.pay(CUSTODY, 10n * USD, { from: ALICE });
  };
  await expect(simulated.measure()).rejects.toMatchObject({ code: 'custody_moving', retry: true });
});

test('dust that is sent to custody while balances are read does not stop a run', async () => {
  const simulated = world();
  simulated.beforeBalance = () => void simulated.pay(CUSTODY, 1n);
  const { position } = await simulated.measure({ tolerance: USD });
  expect(statusOf(position, USD)).toBe('ok');
});

test.each(Array.from({ length: QUIET_REQUESTS }, (_, at) => at))(
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

test('progress reports the number of requests and each one that is answered', async () => {
  const simulated = world();
  simulated.batch_max = 200;
  await simulated.measure();
  // a second reading of custody is planned for, and not needed for balances of one request
  expect([simulated.planned, simulated.read]).toEqual([3, 2]);
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
    if (asked !== 4 || done) return;
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

/** Requests of the first two runs over 45 balances. */
async function requestsOf(batchMax: number): Promise<readonly number[]> {
  const simulated = new Simulated();
  simulated.batch_max = batchMax;
  for (let at = 0; at < 45; at++) simulated.credited(named(`user ${at}`), 10n * USD);
  const counts: number[] = [];
  for (let run = 0; run < 2; run++) {
    const before = simulated.asked;
    expect((await simulated.measure()).position.custody_reported).toBe(450n * USD);
    counts.push(simulated.asked - before);
  }
  return counts;
}

test('balances are read in batches, and one by one where the provider refuses batches', async () => {
  // the first run reads unknown balances before it begins
  expect(await requestsOf(200)).toEqual([2, 1]);
  expect(await requestsOf(20)).toEqual([9, 5]);
  expect(await requestsOf(1)).toEqual([45 + 47, 47]);
});

test('balances of one request need no second reading of custody', async () => {
  const simulated = world();
  simulated.batch_max = 200;
  simulated.beforeBalance = () => void simulated.pay(CUSTODY, 1n, { from: ALICE });
  const { position } = await simulated.measure();
  expect([position.custody_reported, simulated.asked]).toEqual([20n * USD, 2]);
});

test('a run reads again what may have changed, and the rest in turn', async () => {
  const simulated = new Simulated();
  simulated.batch_max = 200;
  const users = Array.from({ length: 1_000 }, (_, at) => named(`user ${at}`));
  const user = (at: number): Buffer => users[at] ?? CUSTODY;
  simulated.requested(users.map((to) => simulated.confirm(simulated.pay(to, 3n * USD))));
  simulated.finalize();
  for (const from of users.slice(3)) simulated.pay(CUSTODY, 3n * USD, { from });
  let now = simulated.head + 2 * 3_600_000;
  const run = async (refreshed: number): Promise<readonly number[]> => {
    const before = simulated.asked;
    now += 1_000;
    const { position, begun_at, oldest_reading_at } = await simulated.measure({
      now: () => now,
      refresh_requests: refreshed,
    });
    expect(position.custody_reported).toBe(3_000n * USD);
    return [simulated.asked - before, (begun_at - oldest_reading_at) / 1_000];
  };
  // all balances for the first time, then custody and those that are not empty
  expect(await run(2)).toEqual([5 + 1, 0]);
  expect(await run(2)).toEqual([2 + 1, 1]);
  expect(await run(2)).toEqual([2 + 1, 2]);
  expect(await run(1)).toEqual([1 + 1, 2]);
  expect(await run(5)).toEqual([5 + 1, 0]);
  // money that arrives where nothing was is read once the ledger knows
  simulated.confirm(simulated.pay(user(500), 7n * USD));
  now = simulated.head;
  expect((await simulated.measure({ now: () => now })).position.custody_reported).toBe(
    3_007n * USD,
  );
});

test('money that arrived long enough ago does not hide a theft of less', async () => {
  const simulated = world();
  simulated.pay(ALICE, 30n * USD);
  simulated.pay(OUTSIDE, 5n * USD, { from: CUSTODY });
  simulated.head += 61_000;
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), position.custody_reported]).toEqual(['mismatch', 15n * USD]);
});

test('a transfer between our own addresses explains no surplus', async () => {
  const simulated = world();
  simulated.pay(ALICE, 3n * USD, { from: CUSTODY });
  simulated.pay(CUSTODY, 5n * USD, { listed: false });
  simulated.head += 61_000;
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), surplusOf(position)]).toEqual(['over_backed_drift', 5n * USD]);
});

test('money of a waiting deposit that is gone leaves a reserve that is ok, and uncovered', async () => {
  const simulated = new Simulated();
  simulated.credited(ALICE, 12n * USD);
  simulated.confirm(simulated.pay(BOB, 1_002n * USD));
  const whole = (await simulated.measure()).position;
  expect([statusOf(whole, USD), whole.waiting, whole.uncovered]).toEqual(['ok', 1_000n * USD, 0n]);
  simulated.pay(OUTSIDE, 1_002n * USD, { from: BOB });
  const { position } = await simulated.measure();
  expect([statusOf(position, USD), position.uncovered]).toEqual(['ok', 998n * USD]);
});

test('credits being minted have to be covered, until they are part of the liability', async () => {
  const simulated = new Simulated();
  const id = simulated.confirm(simulated.pay(ALICE, 12n * USD));
  simulated.requested([id]);
  simulated.pay(OUTSIDE, 5n * USD, { from: ALICE });
  const { position } = await simulated.measure();
  expect(position).toMatchObject({ minting: 10n * USD, waiting: 0n, uncovered: 3n * USD });
  simulated.finalize();
  const { position: final } = await simulated.measure();
  expect(statusOf(final, USD)).toBe('mismatch');
  expect(final).toMatchObject({ minting: 0n, ledger_liability: 10n * USD, uncovered: 3n * USD });
});

test('a burn frees what was booked as surplus, and a theft of as much shows as missing', async () => {
  const simulated = new Simulated();
  simulated.credited(ALICE, 102n * USD);
  simulated.burn(60n * USD);
  const drift = (await simulated.measure()).position;
  expect([statusOf(drift, USD), surplusOf(drift)]).toEqual(['over_backed_drift', 60n * USD]);
  simulated.book(60n * USD);
  expect(statusOf((await simulated.measure()).position, USD)).toBe('ok');
  simulated.pay(OUTSIDE, 60n * USD, { from: ALICE });
  const { position } = await simulated.measure();
  expect([surplusOf(position), position.retained_fees]).toEqual([-60n * USD, 2n * USD]);
});

test('a burn of more than was ever minted frees nothing of the waiting deposits', async () => {
  const simulated = new Simulated();
  simulated.confirm(simulated.pay(BOB, 12n * USD));
  simulated.burn(500n * USD);
  simulated.pay(OUTSIDE, 12n * USD, { from: BOB });
  const { position } = await simulated.measure();
  expect(position).toMatchObject({ ledger_liability: -500n * USD, uncovered: 10n * USD });
});

test('dust before a deposit takes its fee, and a sweep that costs more leaves it uncovered', async () => {
  for (const [first, uncovered] of [
    [1n, USD - 1n],
    [USD / 2n, USD / 2n],
    [USD, 0n],
  ] as const) {
    const simulated = new Simulated(NETWORK_LIMITS.mainnet);
    const dust = simulated.confirm(simulated.pay(ALICE, first));
    simulated.append(depositEvents(dust).held('below_minimum'));
    simulated.confirm(simulated.pay(ALICE, 100n * USD));
    // the relay takes 1.50 for the activation and 1.50 for the transfer
    simulated.pay(OUTSIDE, 3n * USD, { from: ALICE });
    simulated.pay(CUSTODY, 97n * USD + first, { from: ALICE });
    const { position } = await simulated.measure();
    expect(position).toMatchObject({ waiting: 98n * USD, uncovered });
  }
});

test('a refund of a rejected deposit leaves what custody is expected to hold', async () => {
  const simulated = world();
  const paid = (5n * USD) / 2n;
  const credit = USD / 2n;
  const id = simulated.confirm(simulated.pay(CAROL, paid));
  const events = depositEvents(id);
  simulated.append(events.held('below_minimum'));
  expect((await simulated.measure()).position).toMatchObject({ held: credit, waiting: credit });
  simulated.decide(events.rejected());
  expect((await simulated.measure()).position).toMatchObject({ held: credit, waiting: 0n });
  simulated.decide(events.refunded(paid));
  simulated.pay(OUTSIDE, paid, { from: CAROL });
  const { position } = await simulated.measure();
  expect([statusOf(position, 0n), surplusOf(position)]).toEqual(['ok', 0n]);
  expect(position).toMatchObject({ refunded: paid, uncovered: 0n });
});

test('a transfer between our own addresses is no money, unless a person approves it', async () => {
  const simulated = world();
  const id = simulated.confirm(simulated.pay(ALICE, 5n * USD, { from: CUSTODY }));
  simulated.append(depositEvents(id).held('internal_transfer'));
  const { position } = await simulated.measure();
  expect([surplusOf(position), position.waiting]).toEqual([0n, 0n]);
  simulated.decide(depositEvents(id).approved());
  expect((await simulated.measure()).position).toMatchObject({ waiting: 3n * USD });
});

test('a rejected deposit that is not proven is no money, unless it is paid back', async () => {
  const simulated = world();
  const id = simulated.confirm(simulated.pay(CAROL, 1_000n * USD));
  simulated.pay(OUTSIDE, 1_000n * USD, { from: CAROL });
  const events = depositEvents(id);
  simulated.append(events.held('unproven'));
  const { position } = await simulated.measure();
  expect([surplusOf(position), position.uncovered]).toEqual([-1_000n * USD, 994n * USD]);
  simulated.decide(events.rejected());
  const closed = (await simulated.measure()).position;
  expect([surplusOf(closed), closed.uncovered, closed.held]).toEqual([0n, 0n, 0n]);
  simulated.pay(CAROL, 1_000n * USD);
  simulated.pay(OUTSIDE, 1_000n * USD, { from: CAROL });
  simulated.decide(events.refunded(1_000n * USD));
  expect(surplusOf((await simulated.measure()).position)).toBe(0n);
});

test('a transfer in whose place the ledger has something else is no part of custody, also once it is gone', async () => {
  const simulated = world();
  const before = (await simulated.measure()).position;
  // an address that no deposit in the ledger names
  simulated.pay(BOB, 30n * USD, { listed: false });
  const proofs = { ...BELIEVED, displaced: () => [{ to: BOB, value: 30n * USD }] };
  expect((await simulated.measure({ proofs })).position).toEqual(before);
  simulated.pay(OUTSIDE, 30n * USD, { from: BOB });
  const { position } = await simulated.measure({ proofs });
  expect(position).toMatchObject({ custody_reported: before.custody_reported - 30n * USD });
  expect(position.uncovered).toBe(26n * USD);
});
