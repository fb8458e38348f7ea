import { expect, test } from 'vitest';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import {
  openTreasuryMetrics,
  QueueMetrics,
  type TreasuryState,
} from '../../../services/treasury/metrics.ts';
import { decidedEvent, depositEvents } from '../../support/deposit-events.ts';
import { BEGIN, HOUR_MS, MintLedger, USD } from '../../support/mint-ledger.ts';
import { addressOf, alice, bob, signed } from '../../support/operators.ts';

async function samples(metrics: Metrics): Promise<Record<string, string>> {
  const lines = [
    ...(await metrics.text()).matchAll(/^treasury_queue_(\w+)\{status="(\w+)".*\} (\S+)$/gm),
  ];
  return Object.fromEntries(
    lines.map(([, name, status, value = '']) => [`${name} ${status}`, value]),
  );
}

test('deposits are counted by status, dust apart, with the age of the oldest', async () => {
  const made = new MintLedger();
  const metrics = new Metrics('treasury');
  let now = BEGIN;
  const queue = new QueueMetrics(
    metrics,
    () => made.ledger,
    10_000n,
    () => now,
  );
  expect(await samples(metrics)).toMatchObject({
    'deposits confirmed': '0',
    'oldest_seconds confirmed': '0',
    'oldest_seconds needs_manual': '0',
  });
  made.setPolicy({ first_fee: 0n, later_fee: 0n });
  made.deposit(8n * USD);
  made.deposit(9n * USD, BEGIN + HOUR_MS);
  const small = made.deposit(USD / 2n, BEGIN + HOUR_MS);
  const dust = [1n, 9_999n].map((gross) => made.deposit(gross, BEGIN + HOUR_MS + 1_000));
  made.deposit(10_000n, BEGIN + HOUR_MS);
  for (const event of made.log) queue.applied(event);
  now = BEGIN + 2 * HOUR_MS;
  expect(await samples(metrics)).toEqual({
    'deposits confirmed': '2',
    'deposits mint_requested': '0',
    'deposits needs_manual': '2',
    'deposits dust': '2',
    'oldest_seconds confirmed': '7200',
    'oldest_seconds mint_requested': '0',
    'oldest_seconds needs_manual': '3600',
    'oldest_seconds dust': '3599',
  });
  const text = await metrics.text();
  expect(text).toMatch(/^treasury_held_amount\{status="needs_manual".*\} 510000$/m);
  expect(text).toMatch(/^treasury_held_amount\{status="dust".*\} 10000$/m);
  const rejection = { ...depositEvents(small).rejected('alice'), sequence: made.log.length };
  expect(made.write(rejection)).toBe('applied');
  queue.applied(rejection);
  expect(await samples(metrics)).toMatchObject({ 'deposits needs_manual': '1' });
  const decided = {
    ...decidedEvent('reject', made.ledger, dust),
    sequence: made.log.length,
  };
  expect(made.write(decided)).toBe('applied');
  queue.applied(decided);
  expect(await samples(metrics)).toMatchObject({
    'deposits needs_manual': '1',
    'deposits dust': '0',
    'oldest_seconds dust': '0',
  });
});

test('a deposit waits for a person until its second approval, where it needs two', async () => {
  const made = new MintLedger();
  const metrics = new Metrics('treasury');
  const queue = new QueueMetrics(
    metrics,
    () => made.ledger,
    10_000n,
    () => BEGIN,
  );
  made.setPolicy();
  made.write({
    type: 'OperatorsSet',
    sequence: 0,
    version: 1,
    operators: [alice, bob].map(addressOf),
    two_above: USD,
    actor: 'treasury',
    reason: 'its settings',
    decided_at: BEGIN,
  });
  const large = made.deposit(2_000n * USD);
  for (const event of made.log) queue.applied(event);
  for (const [wallet, waiting] of [
    [alice, '1'],
    [bob, '0'],
  ] as const) {
    const sequence = made.log.length;
    const approval = signed({ ...depositEvents(large).approved(), sequence }, wallet);
    expect(made.write(approval)).toBe('applied');
    queue.applied(approval);
    expect(await samples(metrics)).toMatchObject({ 'deposits needs_manual': waiting });
  }
});

const STATE: TreasuryState = {
  has_own_policy: true,
  halted: false,
  has_lease: true,
  waiting: 0,
  held_up: 0,
  minting_closed: false,
  forged: false,
  nodes_disagree: false,
  agreed_height: -1,
  snapshot_at: undefined,
  applied: [],
  broken: [],
};

test('a treasury that has lost its lease shows no lag', async () => {
  const made = new MintLedger();
  const metrics = new Metrics('treasury');
  let state = STATE;
  const treasury = openTreasuryMetrics(
    metrics,
    () => state,
    () => made.ledger,
    0n,
  );
  treasury.lag('tron.transfers', 1, 7n);
  expect(await metrics.text()).toMatch(/^treasury_lag_records\{.*\} 7$/m);
  state = { ...STATE, has_lease: false };
  expect(await metrics.text()).not.toMatch(/^treasury_lag_records\{/m);
});

test('the part of the rolling cap that is used is shown', async () => {
  const made = new MintLedger();
  const metrics = new Metrics('treasury');
  openTreasuryMetrics(
    metrics,
    () => STATE,
    () => made.ledger,
    0n,
  );
  made.setPolicy({});
  expect(await metrics.text()).toMatch(/^treasury_rolling_cap_used_ratio\{.*\} 0$/m);
});
