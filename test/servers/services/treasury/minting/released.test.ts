/** An operator releases a mint that a block takes all the same: nothing is minted twice. */
import { expect, inject, test } from 'vitest';
import { depositIdOf } from '../../../../../schemas/deposit-id.ts';
import type { TransferObserved } from '../../../../../schemas/tron.transfers/events.ts';
import { depositEvents } from '../../../../support/deposit-events.ts';
import { addressOf, alice, BY } from '../../../../support/operators.ts';
import { credited, ownMintWorld } from '../../../../services/treasury/mint-world.ts';
import { transferTo } from '../../../../services/treasury/world.ts';

const stack = inject('stack');
const USD = 1_000_000n;
const GOVERNED = { operators: [addressOf(alice)] };

function idOf({ tx_id, log_index }: TransferObserved): string {
  return depositIdOf(tx_id, log_index);
}

test('a released mint that a block takes halts minting until it is acknowledged, and is minted once', async () => {
  const world = await ownMintWorld(stack);
  await world.world.openAddresses(2);
  await world.mine();
  const transfer = transferTo(0, 10n * USD);
  const working = world.start({}, GOVERNED);
  await world.world.observe(transfer);
  await expect
    .poll(() => working.counted('treasury_broadcasts_total', 'accepted'))
    .toBeGreaterThan(0);
  await world.decide(depositEvents(idOf(transfer)).rejected());
  await expect.poll(() => working.counted('treasury_mints_in_flight')).toBe(0);
  for (let blocks = 0; blocks < 6; blocks++) await world.mine();
  await expect
    .poll(() => working.treasury.problem?.message)
    .toMatch(/^minting halted: .* was given up in the ledger/);
  const [mint] = await world.minted();
  if (mint === undefined) throw new Error('nothing is minted');
  await world.decide({ type: 'MintAcknowledged', ...BY, ...mint });
  await world.world.observe(transferTo(1, 10n * USD));
  await credited(world, working, 1);
  expect([await world.balanceOf(0), await world.balanceOf(1)]).toEqual([8n * USD, 8n * USD]);
  await working.ready();
});
