import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { deposits } from '../../../projections/deposits/deposits.ts';
import { NETWORK_LIMITS } from '../../../schemas/deposit-policy.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { confirmedEvent, depositEvents, placed } from '../../support/deposit-events.ts';
import { accountAt, addressLog, depositKey, ledgerLog, XPUB } from '../../support/deposit-log.ts';
import { BY } from '../../support/operators.ts';
import { plainDeposits } from '../../support/plain-deposits.ts';
import { differences } from '../../support/plain-fold.ts';
import { interleaved } from './interleaved.ts';
import { fixedCases } from '../../support/fixed-cases.ts';
import { FoldedTables } from '../folded-tables.ts';
import { specify } from '../specify.ts';

type Event = DepositAddressEvent | TreasuryEvent;

function logsOf(
  seed: number,
  events = 60,
): {
  readonly addresses: readonly DepositAddressEvent[];
  readonly ledger: readonly TreasuryEvent[];
} {
  return {
    addresses: addressLog({ seed, accounts: 12, events }),
    ledger: ledgerLog({ seed: seed + 1, accounts: 6, events }),
  };
}

const CUTS = fc.record({
  seed: fc.integer({ min: 0 }),
  cut: fc.integer({ min: 0 }),
  size_max: fc.integer({ min: 1, max: 40 }),
  back: fc.nat({ max: 6 }),
});

test('any batching, redelivery and interleaving gives the rows of a plain fold of the logs', () => {
  let deposited = 0;
  let statuses = new Set<string>();
  fc.assert(
    fc.property(CUTS, ({ seed, cut, size_max, back }) => {
      const { addresses, ledger } = logsOf(seed);
      const folded = new FoldedTables(deposits);
      const logs: { partition: number; events: readonly Event[] }[] = [
        { partition: 0, events: addresses },
        { partition: 0, events: ledger },
      ];
      for (const stretch of interleaved(logs, { seed: cut, size_max, back })) folded.apply(stretch);
      expect(differences(folded.texts(), plainDeposits(addresses, ledger))).toEqual([]);
      deposited += folded.rows('deposits').length;
      statuses = statuses.union(
        new Set(folded.rows('standings').map(({ status }) => String(status))),
      );
      // read once more from the beginning: nothing is new
      for (const { partition, events } of logs)
        expect(folded.apply({ partition, events }).outcomes.applied).toBe(0);
      expect(differences(folded.texts(), plainDeposits(addresses, ledger))).toEqual([]);
    }),
    { numRuns: 10, examples: fixedCases(5, CUTS) },
  );
  expect(deposited).toBeGreaterThan(0);
  expect(statuses).toEqual(new Set(['confirmed', 'needs_manual', 'mint_requested', 'credited']));
});

test('owners of changed deposits and of new addresses are announced once each', () => {
  const [one, other] = [
    confirmedEvent({ clt_address: accountAt(1) }),
    confirmedEvent({ clt_address: accountAt(2), log_index: 1 }),
  ];
  const log = placed<TreasuryEvent>([
    { type: 'PolicySet', ...BY, version: 1, network: 'testnet', ...NETWORK_LIMITS.testnet },
    one,
    other,
    depositEvents(one.deposit_id).held('internal_transfer'),
    one,
  ]);
  const hex = [1, 2].map((index) => `0x${accountAt(index).toString('hex')}`);
  specify<Event>(deposits)
    .when(log)
    .thenFolded({ announced: hex, outcomes: { applied: 4, replayed: 0, ignored: 1 } });
  const requested = specify<Event>(deposits).when([
    { type: 'SchemePinned', scheme: 'hd', extended_public_key: XPUB, pinned_at: 0 },
    { type: 'AddressRequested', clt_address: accountAt(1), requested_at: 1 },
    { type: 'AddressRequested', clt_address: accountAt(1), requested_at: 2 },
    { type: 'PanelOpened', clt_address: accountAt(1), opened_at: 3 },
  ]);
  requested.thenFolded({
    announced: hex.slice(0, 1),
    outcomes: { applied: 3, replayed: 1, ignored: 0 },
  });
  requested.thenRows({
    addresses: [
      {
        clt_address: accountAt(1),
        derivation_index: 0,
        deposit_address: depositKey().addressAt(0),
        requested_at: 1,
      },
    ],
  });
});

test('only events of its topics are its events', () => {
  const types = [
    'SchemePinned',
    'AddressRequested',
    'PanelOpened',
    'PolicySet',
    'DepositConfirmed',
    'MintDead',
    'MintVoided',
    'LedgerPinned',
    'TransferObserved',
    'toString',
  ];
  expect(types.map((type) => deposits.isEvent({ type }))).toEqual([
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});
