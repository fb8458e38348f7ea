/** One address or transaction about which the provider fails never stops the others. */
import * as fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { detections } from '../../../services/tron-watcher/beside.ts';
import {
  BAD,
  HOUR_MS,
  MINUTE_MS,
  SECOND_MS,
  Simulated,
  type Answer,
} from '../../../services/tron-watcher/simulated.ts';

/** Without any bad answer a deposit to a hot address takes one pass. */
const SOON_MS = 15 * SECOND_MS;

/** Two passes of 50 addresses that each cost two seconds, at ten requests in a second. */
const BOUND_MS = 5 * MINUTE_MS;

/** Every answer by which one receipt fails. */
const BAD_RECEIPTS: readonly Answer[] = [...BAD, 'none', 'future'];
const BAD_LISTS: readonly Answer[] = [...BAD, 'endless', 'suspended'];

describe.each(BAD_RECEIPTS)('a receipt that is for ever %s', (answer) => {
  test('delays no deposit to another address, nor another one to its own', async () => {
    const world = new Simulated();
    const [lame, other] = world.request(2);
    if (lame === undefined || other === undefined) throw new Error('there are two');
    await world.run(10 * SECOND_MS);
    const bad = [world.pay(lame), world.pay(lame), world.pay(lame)];
    world.rule = ({ tx_id: txId }) => (bad.includes(txId) ? answer : undefined);
    await world.run(20 * SECOND_MS);
    for (const to of [other, lame]) {
      world.open(to);
      const begun = world.now;
      const paid = world.pay(to);
      await world.run(10 * MINUTE_MS, [paid]);
      expect((world.observed.get(paid) ?? Infinity) - begun).toBeLessThan(SOON_MS);
    }
    await world.run(12 * MINUTE_MS);
    // the alert, and the page of the operator
    expect(world.watcher.retries.undecided_ms).toBeGreaterThan(10 * MINUTE_MS);
    expect(
      world.watcher.retries
        .shown()
        .filter(({ kind }) => kind === 'transfer')
        .map(({ address, tron_tx_id: tronTxId }) => [address, tronTxId]),
    ).toEqual(bad.map((id) => [toTronAddress(lame), id]));
    world.rule = () => undefined;
    await world.run(6 * MINUTE_MS, bad);
    expect(bad.every((id) => world.observed.has(id))).toBe(true);
    await world.run(MINUTE_MS);
    expect(world.watcher.retries.shown()).toEqual([]);
  });
});

test.each(BAD_LISTS)('an address whose list is for ever %s delays no other', async (answer) => {
  const world = new Simulated();
  const [lame, other] = world.request(2);
  if (lame === undefined || other === undefined) throw new Error('there are two');
  const late = world.pay(lame);
  const base58 = toTronAddress(lame);
  world.rule = ({ route, address }) =>
    route === 'list' && address === base58 ? answer : undefined;
  for (let time = 0; time < 5; time++) {
    world.open(lame);
    world.open(other);
    const begun = world.now;
    const paid = world.pay(other);
    await world.run(10 * MINUTE_MS, [paid]);
    // which the provider asks for
    const pause = answer === 'suspended' ? 5 * SECOND_MS : 0;
    expect((world.observed.get(paid) ?? Infinity) - begun).toBeLessThan(SOON_MS + pause);
    await world.run(MINUTE_MS);
  }
  expect(world.watcher.retries.failing).toBe(1);
  world.rule = () => undefined;
  await world.run(6 * MINUTE_MS, [late]);
  expect(world.observed.has(late)).toBe(true);
});

describe.each(['paid', 'unpaid'] as const)(
  'deposits to addresses that were %s before',
  (payees) => {
    const common = { payees, deposits: 20, seed: 1 } as const;
    let slowestWell = 0;
    beforeAll(async () => {
      const well = await detections({ ...common, bad: 0, answer: 'hang', of: 'list' });
      slowestWell = Math.max(...well);
      expect(slowestWell).toBeLessThan(SOON_MS);
    });

    test.each([
      ...(['list', 'receipt'] as const).flatMap((of) =>
        [1, 10, 100].map((bad) => [of, bad, 'hang'] as const),
      ),
      ['list', 100, 'malformed'],
      ['receipt', 100, 'malformed'],
    ] as const)(
      'take at most twice as long while the %s of each of %d others is %s',
      async (of, bad, answer) => {
        const took = await detections({ ...common, bad, answer, of });
        expect(Math.max(...took)).toBeLessThanOrEqual(2 * slowestWell);
      },
    );
  },
);

test('a transaction that pays addresses that are checked at once is appended once for each', async () => {
  const world = new Simulated();
  const payees = world.request(10);
  world.append_ms = SECOND_MS;
  const paid = world.pay(payees);
  await world.run(MINUTE_MS, [paid]);
  await world.run(MINUTE_MS);
  expect(world.paidTo(payees)).toEqual(payees.map(() => [paid]));
});

test.each(BAD)(
  'a provider that answers everything %s is asked once a minute in the end',
  async (answer) => {
    const world = new Simulated();
    world.request(100);
    await world.run(MINUTE_MS);
    world.rule = () => answer;
    await world.run(20 * MINUTE_MS);
    const before = world.asked.length;
    await world.run(HOUR_MS);
    expect(world.asked.length - before).toBeLessThanOrEqual(80);
    expect(world.faults.length).toBeGreaterThan(0);
    world.rule = () => undefined;
    const paid = world.addresses.map((to) => world.pay(to));
    await world.run(5 * MINUTE_MS, paid);
    expect(paid.filter((id) => !world.observed.has(id))).toEqual([]);
  },
);

test.each([
  ['which was served before', MINUTE_MS],
  ['which was never served', 0],
])(
  'a provider that fails with every list alone is not asked on and on: one %s',
  async (_what, well) => {
    const world = new Simulated();
    world.request(100);
    await world.run(well);
    world.rule = ({ route }) => (route === 'list' ? 'status_503' : undefined);
    await world.run(20 * MINUTE_MS);
    const before = world.asked.length;
    await world.run(10 * MINUTE_MS);
    // each once in five minutes, and the head with it; ten in a second are allowed
    expect((world.asked.length - before) / 600).toBeLessThan(1);
  },
);

test.each([50, 400])(
  'a provider that fails with all lists of 3,000 addresses, in %d ms each, is at fault, and left alone',
  async (ms) => {
    const world = new Simulated();
    world.request(3_000);
    world.answer_ms = ms;
    await world.run(3 * MINUTE_MS);
    world.rule = ({ route }) => (route === 'list' ? 'status_503' : undefined);
    await world.run(3 * MINUTE_MS);
    const [asked, faults] = [world.asked.length, world.faults.length];
    await world.run(5 * MINUTE_MS);
    expect((world.asked.length - asked) / 300).toBeLessThan(2);
    expect(world.faults.slice(faults)).toContain('tron_answers');
  },
);

test('a transfer without a receipt at first is soon asked about again, whatever others have to be asked', async () => {
  const world = new Simulated();
  const enemies = world.request(20);
  const [honest] = world.request(1);
  if (honest === undefined) throw new Error('there is one');
  await world.run(10 * SECOND_MS);
  const lame = new Set<string>();
  for (const enemy of enemies) {
    lame.add(world.pay(enemy));
    for (let more = 1; more < 100; more++) world.pay(enemy);
  }
  const asked = new Set<string>();
  let paid = '';
  world.rule = ({ route, tx_id: txId }) => {
    if (lame.has(txId)) return 'hang';
    const isFirst = route === 'receipt' && txId === paid && !asked.has(txId);
    if (isFirst) asked.add(txId);
    return isFirst ? 'none' : undefined;
  };
  await world.run(30 * SECOND_MS);
  world.open(honest);
  const begun = world.now;
  paid = world.pay(honest);
  await world.run(10 * MINUTE_MS, [paid]);
  expect((world.observed.get(paid) ?? Infinity) - begun).toBeLessThan(2 * SOON_MS);
});

test('many bad receipts of one address cost others no more than one pass', async () => {
  const world = new Simulated();
  const [lame, other] = world.request(2);
  if (lame === undefined || other === undefined) throw new Error('there are two');
  await world.run(10 * SECOND_MS);
  const bad = new Set(Array.from({ length: 60 }, () => world.pay(lame)));
  world.rule = ({ tx_id: txId }) => (bad.has(txId) ? 'malformed' : undefined);
  const good = world.pay(lame);
  for (let time = 0; time < 8; time++) {
    world.open(lame);
    world.open(other);
    const begun = world.now;
    const paid = world.pay(other);
    await world.run(10 * MINUTE_MS, [paid]);
    expect((world.observed.get(paid) ?? Infinity) - begun).toBeLessThan(SOON_MS);
  }
  await world.run(5 * MINUTE_MS, [good]);
  expect(world.observed.has(good)).toBe(true);
});

test('a deposit that is answered well is observed in time, whatever a provider says of others', async () => {
  const anyAnswer = fc.constantFrom<Answer>(
    'malformed',
    'html',
    'error_200',
    'status_500',
    'status_503',
    'none',
    'future',
    'silent',
    'left_out',
    'endless',
  );
  const anyEnemy = fc.record({
    /** whose lists are answered so; in turns with good answers */
    lists: fc.array(fc.record({ answer: anyAnswer, every: fc.integer({ min: 1, max: 3 }) }), {
      maxLength: 40,
    }),
    /** transfers of these enemies whose receipts are answered so */
    receipts: fc.array(fc.record({ answer: anyAnswer, every: fc.integer({ min: 1, max: 3 }) }), {
      maxLength: 40,
    }),
    restart: fc.boolean(),
    seconds: fc.integer({ min: 0, max: 300 }),
  });
  await fc.assert(
    fc.asyncProperty(anyEnemy, async ({ lists, receipts, restart, seconds }) => {
      const world = new Simulated();
      const enemies = world.request(lists.length + 1);
      const [honest] = world.request(1);
      if (honest === undefined) throw new Error('there is one');
      if (!restart) await world.run(MINUTE_MS);
      const bad = new Map<string, { readonly answer: Answer; readonly every: number }>();
      for (const [at, each] of lists.entries()) bad.set(toTronAddress(enemies[at] ?? honest), each);
      for (const each of receipts) bad.set(world.pay(enemies.at(-1) ?? honest), each);
      let asked = 0;
      world.rule = ({ route, address, tx_id: txId }) => {
        const rule =
          route === 'list' ? bad.get(address) : route === 'receipt' ? bad.get(txId) : undefined;
        return rule !== undefined && ++asked % rule.every === 0 ? rule.answer : undefined;
      };
      for (const enemy of enemies) world.open(enemy);
      await world.run(seconds * SECOND_MS);
      world.open(honest);
      const begun = world.now;
      const paid = world.pay(honest);
      await world.run(HOUR_MS, [paid]);
      expect((world.observed.get(paid) ?? Infinity) - begun).toBeLessThan(BOUND_MS);
    }),
    { numRuns: 40 },
  );
});
