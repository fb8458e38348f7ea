/** Figures of the watcher at a scrape: they tell the truth while no pass is made. */
import { expect, test } from 'vitest';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { alarmsOf, openLateness } from '../../../services/tron-watcher/service.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, Simulated } from './simulated.ts';

async function figuresOf(metrics: Metrics): Promise<Readonly<Record<string, number>>> {
  const text = await metrics.text();
  return Object.fromEntries(
    [...text.matchAll(/^(tron_\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels = '', value]) => [
      labels.includes('paid=') ? `${name} ${/paid="(\w+)"/.exec(labels)?.[1]}` : (name ?? ''),
      Number(value),
    ]),
  );
}

test('the time for which an address is due moves while the provider hangs', async () => {
  const world = new Simulated();
  world.request(3);
  const metrics = new Metrics('tron-watcher');
  openLateness(metrics, world.watcher, () => [0, 1, 2, 3, 4, 5]);
  await world.run(MINUTE_MS);
  // nothing is asked about any more
  world.now += 5 * HOUR_MS;
  const first = await figuresOf(metrics);
  world.now += HOUR_MS;
  const later = await figuresOf(metrics);
  for (const name of ['tron_hot_late_seconds false', 'tron_cold_check_age_seconds'])
    expect((later[name] ?? 0) - (first[name] ?? 0), name).toBe(3_600);
});

test('without the read model they do not fall', async () => {
  const { watcher } = new Simulated();
  let isAway = false;
  const metrics = new Metrics('tron-watcher');
  const ages = { turn: 5_000, paid: 0, unpaid: 7_000 };
  openLateness(
    metrics,
    {
      retries: watcher.retries,
      ages: async () => {
        if (isAway) throw new Fault('postgres_unreachable', 'away', { retry: true });
        return ages;
      },
    },
    () => [],
  );
  await figuresOf(metrics);
  isAway = true;
  const figures = await figuresOf(metrics);
  expect(figures['tron_cold_check_age_seconds']).toBeGreaterThanOrEqual(5);
  expect(figures['tron_hot_late_seconds false']).toBeGreaterThanOrEqual(7);
  expect(figures['tron_hot_late_seconds true']).toBe(0);
});

test('failing addresses and undecided transfers are counted while they are', async () => {
  const world = new Simulated();
  const [payee] = world.request(2);
  if (payee === undefined) throw new Error('there are two');
  const metrics = new Metrics('tron-watcher');
  openLateness(metrics, world.watcher, () => [0, 1, 2, 3, 4, 5]);
  await world.run(10 * SECOND_MS);
  const bad = [world.pay(payee), world.pay(payee)];
  world.rule = ({ tx_id: txId }) => (bad.includes(txId) ? 'none' : undefined);
  await world.run(15 * MINUTE_MS);
  const figures = await figuresOf(metrics);
  expect(figures['tron_addresses_failing']).toBe(0);
  expect(figures['tron_transfers_undecided']).toBe(2);
  expect(figures['tron_transfers_undecided_seconds']).toBeGreaterThan(600);
  expect(alarmsOf(world.watcher.retries.shown(), world.now)).toHaveLength(1);
  world.rule = () => undefined;
  await world.run(10 * MINUTE_MS, bad);
  await world.run(MINUTE_MS);
  const after = await figuresOf(metrics);
  for (const name of [
    'tron_addresses_failing',
    'tron_transfers_undecided',
    'tron_transfers_undecided_seconds',
  ])
    expect(after[name], name).toBe(0);
});

test.each([
  { kind: 'address', tron_tx_id: null, said: 'bad answers' },
  { kind: 'transfer', tron_tx_id: 'ab'.repeat(32), said: 'undecided' },
  { kind: 'balance', tron_tx_id: null, said: 'unexplained' },
] as const)('an alarm of kind $kind calls it $said, and names it', ({ said, ...about }) => {
  const since = '2026-11-26T05:00:00.000Z';
  const retry = { ...about, address: 'T', since, why: 'why', failures: 9, next_attempt: since };
  const [alarm = ''] = alarmsOf([retry], Date.parse(since) + HOUR_MS);
  for (const part of [said, since, about.tron_tx_id ?? retry.address])
    expect(alarm).toContain(part);
});
