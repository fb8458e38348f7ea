/**
 * Fees and caps change between two parts of a log: earlier decisions stay, and tables rebuilt from
 * offset 0 are byte-identical.
 */
import { expect, inject, test } from 'vitest';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import { NETWORK_LIMITS, type PolicyLimits } from '../../../../schemas/deposit-policy.ts';

import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { freshDatabase } from '../../../support/database.ts';
import { plainDeposits } from '../../../support/plain-deposits.ts';
import { differences, digestOf, readTables, type TableTexts } from '../../../support/plain-fold.ts';
import { credited, ownMintWorld, type MintWorld } from '../../../services/treasury/mint-world.ts';
import { expectDeposits, transferTo } from '../../../services/treasury/world.ts';

const USD = 1_000_000n;
const CHANGED: PolicyLimits = {
  first_fee: 3n * USD,
  later_fee: USD,
  minimum: 4n * USD,
  single_cap: 30n * USD,
  rolling_cap: 60n * USD,
};

/** The tables after these parts of the ledger, in batches of this size. */
async function tablesOf(
  parts: readonly Awaited<ReturnType<MintWorld['world']['wholeLedger']>>[],
  size: number,
): Promise<TableTexts> {
  const { writer_url } = await freshDatabase(inject('stack'));
  const pool = await openTables(writer_url, deposits);
  let from = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += size) {
      const events = part.slice(at, at + size);
      await applyStretch(pool, deposits, { topic: 'treasury.ledger', partition: 0, from, events });
      from += events.length;
    }
  }
  const tables = await readTables(pool, deposits.name);
  await pool.end();
  return tables;
}

test('changed settings keep the fees, credits, holds and mints of earlier deposits, and a rebuild from offset 0 is byte-identical', async () => {
  const world = await ownMintWorld(inject('stack'));
  await world.world.openAddresses(4);
  const before = world.start();
  await world.world.observe(
    transferTo(0, 10n * USD),
    transferTo(1, 52n * USD),
    transferTo(2, 2_500_000n),
  );
  await credited(world, before, 2);
  await before.stop();
  const first = await world.world.wholeLedger();

  const after = world.start({}, { limits: CHANGED });
  await after.ready();
  await world.world.observe(
    transferTo(0, 10n * USD),
    transferTo(3, 6n * USD),
    transferTo(1, 40n * USD),
    transferTo(2, 3n * USD),
  );
  await expectDeposits(world.world, { ledger_of: after, deposits: 7 });
  await expect.poll(() => after.counted('treasury_deposits_held_total')).toBe(4);
  // 50 + 8 + 9 are above the new rolling cap: the second 10 USDT of the first address wait
  for (let blocks = 0; blocks < 4; blocks++) await world.mine();
  expect([
    await after.counted('treasury_deposits_waiting'),
    await after.counted('treasury_policy_version'),
    await after.counted('treasury_policy_is_own'),
  ]).toEqual([1, 2, 1]);
  await after.stop();

  const whole = await world.world.wholeLedger();
  expect(whole.slice(0, first.length)).toEqual(first);
  const told = whole.flatMap((event) => (event.type === 'DepositConfirmed' ? [event] : []));
  const terms = told.map(({ gross, fee, credit, policy_version }) => [
    gross,
    fee,
    credit,
    policy_version,
  ]);
  const limits = NETWORK_LIMITS.testnet;
  expect(new Set(terms.slice(0, 3).map(String))).toEqual(
    new Set(
      [
        [10n * USD, limits.first_fee, 8n * USD, 1],
        [52n * USD, limits.first_fee, 50n * USD, 1],
        [2_500_000n, limits.first_fee, 500_000n, 1],
      ].map(String),
    ),
  );
  expect(new Set(terms.slice(3).map(String))).toEqual(
    new Set(
      [
        [10n * USD, CHANGED.later_fee, 9n * USD, 2],
        [6n * USD, CHANGED.first_fee, 3n * USD, 2],
        [40n * USD, CHANGED.later_fee, 39n * USD, 2],
        [3n * USD, CHANGED.later_fee, 2n * USD, 2],
      ].map(String),
    ),
  );

  const live = await tablesOf([first, whole.slice(first.length)], 3);
  const rebuilt = await tablesOf([whole], 1_000);
  expect(differences(rebuilt, live)).toEqual([]);
  expect(digestOf(rebuilt)).toBe(digestOf(live));
  expect(differences(rebuilt, { ...plainDeposits([], whole), book: [], addresses: [] })).toEqual(
    [],
  );
});
