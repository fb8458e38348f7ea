/** The net under the lists: what a provider lists late, never, or with a bad receipt, is found. */
import { describe, expect, test } from 'vitest';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { alarmsOf } from '../../../../services/tron-watcher/service.ts';
import {
  HOUR_MS,
  MINUTE_MS,
  Simulated,
  type Answer,
} from '../../../services/tron-watcher/simulated.ts';

/** A row is credited so soon after it is listed, whatever the lists had said before. */
const NET_MS = 30 * MINUTE_MS;
const OVERLAP_MS = HOUR_MS;

/** How long ago the account of the address looked at its panel last. */
const TIERS: readonly (readonly [tier: string, ms: number])[] = [
  ['a hot address', 0],
  ['a hot address that is asked about seldom', 20 * HOUR_MS],
  ['a cold address', 30 * 24 * HOUR_MS],
];

function payeeOf(ago: number): { readonly world: Simulated; readonly payee: Buffer } {
  const world = new Simulated();
  const [payee] = world.request(1, world.now - ago);
  if (payee === undefined) throw new Error('there is one');
  world.request(30, world.now - ago);
  return { world, payee };
}

/** The user opens the panel every ten minutes. */
async function watchedBy(world: Simulated, payee: Buffer, ms: number, until: string[] = ['']) {
  const end = world.now + ms;
  while (world.now < end && until.some((id) => !world.observed.has(id))) {
    world.open(payee);
    await world.run(10 * MINUTE_MS, until);
  }
}

describe.each(TIERS)('%s', (tier, ago) => {
  const isWatched = tier === 'a hot address';
  const pass = (world: Simulated, payee: Buffer, ms: number, until?: string[]): Promise<void> =>
    isWatched ? watchedBy(world, payee, ms, until) : world.run(ms, until);

  test.each([
    ['that was never paid', false],
    ['whose money has left', true],
  ])(
    '%s is credited soon for a row that is listed later than the overlap',
    async (_what, swept) => {
      const { world, payee } = payeeOf(ago);
      if (swept) {
        const first = world.pay(payee, 100_000_000n);
        await pass(world, payee, 20 * MINUTE_MS, [first]);
        world.sweep(payee);
      }
      await pass(world, payee, 10 * MINUTE_MS);
      const before = world.observed.size;
      const base58 = toTronAddress(payee);
      world.rule = ({ route, address }) =>
        route === 'list' && address === base58 ? 'left_out' : undefined;
      const late = world.pay(payee);
      await pass(world, payee, 2 * OVERLAP_MS);
      expect(world.observed.size).toBe(before);
      // meanwhile a person is told
      expect(world.cross_checks).toContain('missing');
      world.rule = () => undefined;
      const listed = world.now;
      await pass(world, payee, HOUR_MS, [late]);
      expect((world.observed.get(late) ?? Infinity) - listed).toBeLessThan(NET_MS);
    },
  );

  test('is credited soon when a receipt that came once without its logs is whole', async () => {
    const { world, payee } = payeeOf(ago);
    await pass(world, payee, 5 * MINUTE_MS);
    const late = world.pay(payee);
    world.rule = ({ tx_id: txId }) => (txId === late ? 'silent' : undefined);
    await pass(world, payee, 2 * OVERLAP_MS);
    world.rule = () => undefined;
    const whole = world.now;
    await pass(world, payee, HOUR_MS, [late]);
    expect((world.observed.get(late) ?? Infinity) - whole).toBeLessThan(NET_MS);
  });

  test.each<Answer>(['none', 'malformed', 'status_503'])(
    'shows a transfer whose receipt is for ever %s after ten minutes, and its balance is compared',
    async (answer) => {
      const { world, payee } = payeeOf(ago);
      await pass(world, payee, 5 * MINUTE_MS);
      const paid = world.pay(payee);
      world.rule = ({ tx_id: txId }) => (txId === paid ? answer : undefined);
      await pass(world, payee, 20 * MINUTE_MS);
      const { retries } = world.watcher;
      expect(retries.undecided_ms).toBeGreaterThan(10 * MINUTE_MS);
      const [alarm = ''] = alarmsOf(retries.shown(), world.now);
      expect(alarm).toContain(paid);
      expect(alarm).toContain(toTronAddress(payee));
      expect(world.cross_checks).toContain('more_on_chain');
      expect(world.cross_checks).toContain('missing');
      world.rule = () => undefined;
      await pass(world, payee, 10 * MINUTE_MS, [paid]);
      expect(world.observed.has(paid)).toBe(true);
      await pass(world, payee, 5 * MINUTE_MS);
      expect(alarmsOf(retries.shown(), world.now)).toEqual([]);
    },
  );

  test('shows a transfer that every second list leaves out, until it is credited', async () => {
    const { world, payee } = payeeOf(ago);
    await pass(world, payee, 5 * MINUTE_MS);
    const [base58, paid] = [toTronAddress(payee), world.pay(payee)];
    let lists = 0;
    world.rule = ({ route, address, tx_id: txId }) => {
      if (txId === paid) return 'none';
      return route === 'list' && address === base58 && lists++ % 2 === 1 ? 'left_out' : undefined;
    };
    await pass(world, payee, HOUR_MS);
    expect(world.watcher.retries.undecided_ms).toBeGreaterThan(50 * MINUTE_MS);
    world.rule = () => undefined;
    await pass(world, payee, 10 * MINUTE_MS, [paid]);
    expect(world.observed.has(paid)).toBe(true);
  });

  test('is rid of an undecided transfer that no list names any more, once a person was told', async () => {
    const { world, payee } = payeeOf(ago);
    await pass(world, payee, 5 * MINUTE_MS);
    const [base58, paid] = [toTronAddress(payee), world.pay(payee)];
    world.sweep(payee);
    world.rule = ({ tx_id: txId }) => (txId === paid ? 'none' : undefined);
    await pass(world, payee, 5 * MINUTE_MS);
    world.rule = ({ route, address }) =>
      route === 'list' && address === base58 ? 'left_out' : undefined;
    // it never was: the provider knows no receipt of it either
    world.forget(paid);
    await pass(world, payee, 20 * MINUTE_MS);
    expect(alarmsOf(world.watcher.retries.shown(), world.now)).toHaveLength(1);
    await pass(world, payee, 5 * HOUR_MS);
    expect(world.watcher.retries.shown()).toEqual([]);
  });

  test('is credited for a transfer that the treasury finds, though its money has left', async () => {
    const { world, payee } = payeeOf(ago);
    await pass(world, payee, 5 * MINUTE_MS);
    const base58 = toTronAddress(payee);
    world.rule = ({ route, address }) =>
      route === 'list' && address === base58 ? 'left_out' : undefined;
    const late = world.pay(payee);
    world.sweep(payee);
    await pass(world, payee, 20 * MINUTE_MS);
    expect(world.watcher.retries.shown()).toEqual([]);
    const found = { address: payee, tx_id: Buffer.from(late, 'hex') };
    const invented = { address: payee, tx_id: Buffer.alloc(32, 7) };
    await world.watcher.find([found, invented], [0, 1, 2, 3, 4, 5]);
    await pass(world, payee, MINUTE_MS, [late]);
    // nothing is believed: the provider knows no such transaction
    expect([...world.observed.keys()]).toEqual([late]);
  });
});

test('a transfer that the treasury finds at an unknown address, or that the log has, is not asked about', async () => {
  const { world, payee } = payeeOf(0);
  const paid = world.pay(payee);
  await world.run(MINUTE_MS, [paid]);
  const ids = [Buffer.from(paid, 'hex'), Buffer.alloc(32, 7)];
  const [known = Buffer.alloc(0), other = Buffer.alloc(0)] = ids;
  await world.watcher.find(
    [
      { address: payee, tx_id: known },
      { address: Buffer.alloc(20, 9), tx_id: other },
    ],
    [0, 1, 2, 3, 4, 5],
  );
  expect(world.watcher.retries.shown()).toEqual([]);
});

test('the balances of a million addresses are compared within an hour, at ten requests a second of 50 ms', async () => {
  const world = new Simulated();
  const count = 8_000;
  world.request(count);
  const begun = world.now;
  const asked = (): number => world.asked.filter(({ route }) => route === 'balances').length;
  // all of them are hot and due, so that every pass is full
  while (asked() < count / 200) await world.run(1);
  const passes = (world.now - begun) / (asked() / 20);
  expect(asked()).toBe(count / 200);
  expect((1_000_000 / 200 / 20) * passes).toBeLessThan(HOUR_MS);
});
