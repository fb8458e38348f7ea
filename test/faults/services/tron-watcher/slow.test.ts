/** Answers that take long, and are good in the end: they are waited for, and hold up nobody. */
import { expect, test } from 'vitest';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import {
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  Simulated,
} from '../../../services/tron-watcher/simulated.ts';

const SOON_MS = 15 * SECOND_MS;

interface Party {
  readonly world: Simulated;
  readonly slow: Buffer;
  readonly other: Buffer;
}

async function party(): Promise<Party> {
  const world = new Simulated();
  const [slow, other] = world.request(2);
  if (slow === undefined || other === undefined) throw new Error('there are two');
  await world.run(10 * SECOND_MS);
  return { world, slow, other };
}

/** Milliseconds until a payment to the address is observed. */
async function detection(world: Simulated, to: Buffer): Promise<number> {
  world.open(to);
  const begun = world.now;
  const paid = world.pay(to);
  await world.run(HOUR_MS, [paid]);
  return (world.observed.get(paid) ?? Infinity) - begun;
}

test.each([50, 1_900, 9_000])(
  'a hundred receipts of one address that take %d ms each delay no other',
  async (ms) => {
    const { world, slow, other } = await party();
    const paid = Array.from({ length: 100 }, () => world.pay(slow));
    const slowOnes = new Set(paid);
    world.slowness = ({ tx_id: txId }) => (slowOnes.has(txId) ? ms : world.answer_ms);
    world.open(slow);
    await world.run(SECOND_MS);
    for (let time = 0; time < 5; time++)
      expect(await detection(world, other)).toBeLessThan(SOON_MS);
    await world.run(HOUR_MS, paid);
    expect(paid.filter((id) => !world.observed.has(id))).toEqual([]);
  },
);

test.each([2, 10])(
  '%d addresses with a hundred new transfers each delay no other',
  async (count) => {
    const { world, other } = await party();
    const busy = world.request(count);
    const paid = busy.flatMap((to) => Array.from({ length: 100 }, () => world.pay(to)));
    await world.run(1);
    expect(await detection(world, other)).toBeLessThan(SOON_MS);
    await world.run(HOUR_MS, paid);
    expect(paid.filter((id) => !world.observed.has(id))).toEqual([]);
  },
);

test.each([
  ['list', 3 * SECOND_MS],
  ['list', 9 * SECOND_MS],
  ['receipt', 3 * SECOND_MS],
  ['receipt', 9 * SECOND_MS],
] as const)(
  'one %s that always takes %d ms, where others are fast, is believed',
  async (of, ms) => {
    const { world, slow } = await party();
    const base58 = toTronAddress(slow);
    world.slowness = ({ route, address }) =>
      route === of && address === base58 ? ms : world.answer_ms;
    expect(await detection(world, slow)).toBeLessThan(MINUTE_MS);
  },
);

test('a provider that takes five seconds for everything is believed', async () => {
  const world = new Simulated();
  world.request(20);
  world.answer_ms = 5 * SECOND_MS;
  const paid = world.addresses.map((to) => world.pay(to));
  await world.run(5 * MINUTE_MS, paid);
  expect(paid.filter((id) => !world.observed.has(id))).toEqual([]);
});

test('lists alone that take six seconds are believed, also where none was fast before', async () => {
  const world = new Simulated();
  world.request(20);
  world.slowness = ({ route }) => (route === 'list' ? 6 * SECOND_MS : world.answer_ms);
  const paid = world.addresses.map((to) => world.pay(to));
  await world.run(5 * MINUTE_MS, paid);
  expect(paid.filter((id) => !world.observed.has(id))).toEqual([]);
});

test('sixty receipts that hang delay a good one behind them by minutes, not by an hour', async () => {
  const { world, slow } = await party();
  const bad = new Set(Array.from({ length: 60 }, () => world.pay(slow)));
  world.rule = ({ tx_id: txId }) => (bad.has(txId) ? 'hang' : undefined);
  expect(await detection(world, slow)).toBeLessThan(3 * MINUTE_MS);
});

test('one that hangs after it was the last to be answered stops nobody', async () => {
  const { world, slow, other } = await party();
  const base58 = toTronAddress(slow);
  world.rule = ({ route, address }) =>
    route === 'list' && address === base58 ? 'hang' : undefined;
  world.open(slow);
  await world.run(30 * SECOND_MS);
  expect(world.faults).toEqual([]);
  expect(await detection(world, other)).toBeLessThan(SOON_MS);
});

test.each([MINUTE_MS, 2 * MINUTE_MS, 4 * MINUTE_MS])(
  'a node that says balances of %d ms ago raises no alarm once it is whole',
  async (lag) => {
    const world = new Simulated();
    const payees = world.request(10);
    world.balance_lag_ms = lag;
    await world.run(3 * MINUTE_MS);
    for (const payee of payees) {
      world.open(payee);
      world.pay(payee);
      await world.run(20 * SECOND_MS);
    }
    await world.run(20 * MINUTE_MS);
    world.balance_lag_ms = 0;
    const before = world.cross_checks.length;
    await world.run(HOUR_MS);
    expect(world.cross_checks.slice(before)).toEqual([]);
    expect(world.watcher.retries.shown()).toEqual([]);
  },
);

test('an address that is asked about as the process ends is not said to be checked', async () => {
  const stop = new AbortController();
  const world = new Simulated({ signal: stop.signal });
  world.request(30);
  world.answer_ms = SECOND_MS;
  const answered = new Set<string>();
  world.rule = ({ route, address }) => {
    if (stop.signal.aborted) return 'reset';
    if (route === 'list') answered.add(address);
    return undefined;
  };
  world.at(world.now + 2_500, () => stop.abort());
  await world.run(3 * SECOND_MS);
  expect(answered.size).toBeGreaterThan(0);
  expect(new Set(world.checked.map(toTronAddress))).toEqual(answered);
});

test.each([1_000, 5_000])(
  'an address whose list takes %d ms is not asked twice for one turn',
  async (ms) => {
    const world = new Simulated({ balance_requests_max: 0 });
    world.request(5);
    world.answer_ms = ms;
    await world.run(30 * MINUTE_MS);
    const lists = world.asked.filter(({ route }) => route === 'list').length;
    // the last ones may be under way
    expect(lists - world.checked.length).toBeLessThanOrEqual(5);
    expect(lists).toBeLessThan(200);
  },
);

test('an answer that comes after the partition went to another watcher moves no cursor', async () => {
  const world = new Simulated({ balance_requests_max: 0 });
  world.request(5);
  world.slowness = ({ route }) => (route === 'list' ? 3 * SECOND_MS : world.answer_ms);
  world.partitions = [0, 1, 2, 3, 4, 5];
  await world.run(SECOND_MS);
  world.partitions = [];
  await world.run(MINUTE_MS);
  expect(world.checked).toEqual([]);
  world.partitions = [0, 1, 2, 3, 4, 5];
  await world.run(MINUTE_MS);
  expect(world.checked.length).toBeGreaterThan(4);
});

test('the rotation has its part beside hot addresses that need all requests', async () => {
  const world = new Simulated();
  const cold = world.request(20, world.now - 30 * 24 * HOUR_MS);
  const busy = world.request(40);
  await world.run(2 * MINUTE_MS);
  for (let time = 0; time < 120; time++)
    world.at(world.now + time * 5 * SECOND_MS, () => {
      for (const to of busy) for (let paid = 0; paid < 2; paid++) world.pay(to);
    });
  await world.run(MINUTE_MS);
  const [payee] = cold;
  if (payee === undefined) throw new Error('there is one');
  const begun = world.now;
  const paid = world.pay(payee);
  await world.run(10 * MINUTE_MS, [paid]);
  expect((world.observed.get(paid) ?? Infinity) - begun).toBeLessThan(2 * MINUTE_MS);
});
