import { expect, test } from 'vitest';
import { approve } from '../../../../projections/deposits/domain/approval.ts';
import {
  confirmAll,
  setPolicy,
  type Deciding,
} from '../../../../projections/deposits/domain/confirmation.ts';
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { dueMints, intend } from '../../../../projections/deposits/domain/minting.ts';
import type { Recorded } from '../../../../projections/contract/projection.ts';
import type { DepositAddressEvent } from '../../../../schemas/deposit.addresses/events.ts';
import { depositIdOf } from '../../../../schemas/deposit-id.ts';
import { NETWORK_LIMITS, type PolicyLimits } from '../../../../schemas/deposit-policy.ts';
import { transferPartition } from '../../../../schemas/tron-partition.ts';
import type { TransferObserved } from '../../../../schemas/tron.transfers/events.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import {
  accountAt,
  BEGIN,
  CUSTODY,
  depositKey,
  openLedger,
  USDT_CONTRACT,
} from '../../../support/deposit-log.ts';
import { hashOf } from '../../../support/mint-ledger.ts';

const { testnet } = NETWORK_LIMITS;
const NOW = BEGIN + 1;
const DECIDING: Deciding = {
  now: NOW,
  usdt_contract: USDT_CONTRACT,
  custody_addresses: [CUSTODY],
};
const USD = 1_000_000n;

/** A ledger with these accounts' addresses, by default with the testnet's policy. */
function ledgerOf({
  accounts = 3,
  limits = testnet,
}: { readonly accounts?: number; readonly limits?: PolicyLimits | null } = {}): Ledger {
  const ledger = openLedger(accounts);
  if (limits !== null)
    append(ledger, eventsOf(setPolicy(ledger, { network: 'testnet', limits }, NOW)));
  return ledger;
}

function append(ledger: Ledger, events: readonly TreasuryEvent[]): void {
  for (const event of events) expect(ledger.apply(event, ledger.end)).toBe('applied');
}

function eventsOf<Event>(
  decision: { readonly events: readonly Event[] } | { readonly refused: string },
): readonly Event[] {
  if ('refused' in decision) throw new Error(decision.refused);
  return decision.events;
}

let transactions = 0;

function transfer(
  change: Partial<TransferObserved> & {
    readonly offset?: bigint;
    readonly partition?: number;
  } = {},
): Recorded<TransferObserved> {
  const { offset = 5n, partition, ...fields } = change;
  const index = fields.address_index ?? 0;
  const tx_id = Buffer.alloc(32);
  tx_id.writeUInt32BE(++transactions);
  const to = fields.to ?? depositKey().addressAt(index);
  const event: TransferObserved = {
    type: 'TransferObserved',
    tx_id,
    log_index: 0,
    block_number: 70_000_000,
    block_timestamp: BEGIN - 60_000,
    contract: USDT_CONTRACT,
    from: Buffer.alloc(20, 9),
    to,
    value: 10n * USD,
    address_index: index,
    ...fields,
  };
  return { event, partition: partition ?? transferPartition(to), offset, timestamp: 0 };
}

/** The decision on one transfer: its events, or why it is no deposit. */
function confirm(
  ledger: Ledger,
  observed: Recorded<TransferObserved>,
  deciding = DECIDING,
): { readonly events: readonly TreasuryEvent[] } | { readonly refused: string } {
  const { events, refused, waiting } = confirmAll(ledger, [observed], deciding);
  const refusal = refused[0] ?? waiting[0];
  return refusal === undefined ? { events } : { refused: refusal.reason };
}

test('a transfer becomes a deposit of the owner of its address, with all terms in the event', () => {
  const ledger = ledgerOf();
  const observed = transfer({ address_index: 1, log_index: 2, offset: 77n });
  const { tx_id, to } = observed.event;
  expect(confirm(ledger, observed, DECIDING)).toEqual({
    events: [
      {
        type: 'DepositConfirmed',
        sequence: 1,
        deposit_id: depositIdOf(tx_id, 2),
        tx_id,
        log_index: 2,
        deposit_address: to,
        clt_address: accountAt(1),
        gross: 10n * USD,
        fee: 2n * USD,
        credit: 8n * USD,
        policy_version: 1,
        address_ordinal: 0,
        block_number: 70_000_000,
        block_timestamp: BEGIN - 60_000,
        transfer_partition: observed.partition,
        transfer_offset: 77,
        decided_at: NOW,
      },
    ],
  });
});

test('two logs of one transaction are two deposits, the same log again is none', () => {
  const ledger = ledgerOf();
  const [one, other] = [transfer(), transfer()];
  const second = { ...other, event: { ...other.event, tx_id: one.event.tx_id, log_index: 1 } };
  append(ledger, eventsOf(confirm(ledger, one, DECIDING)));
  append(ledger, eventsOf(confirm(ledger, second, DECIDING)));
  expect(ledger.deposits.size).toBe(2);
  for (const again of [one, second, { ...one, offset: 99n }])
    expect(confirm(ledger, again, DECIDING)).toEqual({ events: [] });
});

test.each([
  ['nothing', { value: 0n }, 'zero_value'],
  ['less than nothing', { value: -1n }, 'broken_rule'],
  ['from itself', { from: depositKey().addressAt(0) }, 'self_transfer'],
  ['of another token', { contract: Buffer.alloc(20, 8) }, 'wrong_contract'],
  [
    'in the partition of others',
    { partition: (transferPartition(depositKey().addressAt(0)) + 1) % 6 },
    'wrong_partition',
  ],
  ['to an address that is not handed out', { address_index: 3 }, 'unknown_address'],
  [
    'to an address beyond all indexes',
    { address_index: 2 ** 40, to: Buffer.alloc(20, 7) },
    'unknown_address',
  ],
  ['to an address that its index does not derive', { to: Buffer.alloc(20, 7) }, 'other_address'],
] as const)('a transfer %s is refused', (_what, change, reason) => {
  expect(confirm(ledgerOf(), transfer(change), DECIDING)).toEqual({ refused: reason });
});

test('without a policy nothing is decided, and without a scheme no address is known', () => {
  expect(confirm(ledgerOf({ limits: null }), transfer(), DECIDING)).toEqual({
    refused: 'no_policy',
  });
  expect(confirm(new Ledger(), transfer(), DECIDING)).toEqual({ refused: 'unknown_address' });
});

test('the first deposit of each account pays the first fee, even when it is too small', () => {
  const ledger = ledgerOf();
  const observed = [1n, 10n * USD, 0n, 10n * USD].map((value) => transfer({ value }));
  const { events } = confirmAll(ledger, [...observed, transfer({ address_index: 1 })], DECIDING);
  const confirmed = events.filter((event) => event.type === 'DepositConfirmed');
  expect(
    confirmed.map(({ gross, fee, credit, address_ordinal: addressOrdinal }) => [
      gross,
      fee,
      credit,
      addressOrdinal,
    ]),
  ).toEqual([
    [1n, 2n * USD, 0n, 0],
    [10n * USD, USD / 2n, 9_500_000n, 1],
    [10n * USD, USD / 2n, 9_500_000n, 2],
    [10n * USD, 2n * USD, 8n * USD, 0],
  ]);
});

test.each([
  [1n, 'below_minimum'],
  [2n * USD, 'below_minimum'],
  [3n * USD - 1n, 'below_minimum'],
  [3n * USD, undefined],
  [1_002n * USD, undefined],
  [1_002n * USD + 1n, 'over_single_cap'],
] as const)('a first deposit of %d is held: %s', (value, reason) => {
  const ledger = ledgerOf();
  const observed = transfer({ value });
  const events = eventsOf(confirm(ledger, observed, DECIDING));
  const id = depositIdOf(observed.event.tx_id, 0);
  expect(events.slice(1)).toEqual(
    reason === undefined
      ? []
      : [{ type: 'DepositHeld', sequence: 2, deposit_id: id, reason, decided_at: NOW }],
  );
  append(ledger, events);
  expect(ledger.deposit(id).status).toBe(reason === undefined ? 'confirmed' : 'needs_manual');
});

const MINTING = { now: NOW, final_nonce: 0, most: 10, hashOf: hashOf };

test.each([
  ['a deposit address', depositKey().addressAt(1), 10n * USD],
  ['a deposit address, below the minimum', depositKey().addressAt(2), 1n],
  ['a custody address', CUSTODY, 10n * USD],
] as const)(
  'a transfer from %s is confirmed on its terms and held with reason internal_transfer',
  (_what, from, value) => {
    const ledger = ledgerOf();
    const events = eventsOf(confirm(ledger, transfer({ from, value })));
    expect(events).toMatchObject([
      { type: 'DepositConfirmed', gross: value, fee: 2n * USD },
      { type: 'DepositHeld', sequence: 2, reason: 'internal_transfer' },
    ]);
    append(ledger, events);
    expect(dueMints(ledger, MINTING)).toEqual([]);
  },
);

test('a payer whom a stranger has written to the log of addresses is no address of ours', () => {
  const ledger = new Ledger();
  const from = Buffer.alloc(20, 0xbd);
  const { fingerprint } = depositKey();
  const written: DepositAddressEvent[] = [
    { type: 'SchemePinned', scheme: 'hd', extended_public_key: '', fingerprint, pinned_at: 0 },
    ...[depositKey().addressAt(0), from].map(
      (deposit_address, derivation_index): DepositAddressEvent => ({
        type: 'AddressRequested',
        clt_address: accountAt(derivation_index),
        requested_at: 0,
        derivation_index,
        deposit_address,
      }),
    ),
  ];
  for (const [offset, event] of written.entries()) {
    expect(ledger.addresses.apply(event, BigInt(offset))).toBe('applied');
  }
  append(ledger, eventsOf(setPolicy(ledger, { network: 'testnet', limits: testnet }, NOW)));
  const events = eventsOf(
    confirm(ledger, transfer({ from }), { ...DECIDING, deposit_key: depositKey() }),
  );
  expect(events.map(({ type }) => type)).toEqual(['DepositConfirmed']);
});

test('an internal transfer is minted after a person has approved it, and an intent before has no effect', () => {
  const ledger = ledgerOf();
  const observed = transfer({ from: CUSTODY });
  const deposit_id = depositIdOf(observed.event.tx_id, 0);
  const events = eventsOf(confirm(ledger, observed));
  const [confirmed] = events;
  if (confirmed === undefined) throw new Error('nothing was confirmed');
  const unheld = ledgerOf();
  append(unheld, [confirmed]);
  const [early] = intend(unheld, MINTING).events;
  if (early === undefined) throw new Error('nothing was intended');

  append(ledger, events);
  expect(ledger.apply({ ...early, sequence: 3 }, 3n)).toBe('ignored');
  append(
    ledger,
    eventsOf(approve(ledger, { deposit_id, actor: 'alice', reason: 'known', now: NOW })),
  );
  expect(dueMints(ledger, MINTING)).toMatchObject([{ deposit_id }]);
});

test('the custody addresses that the ledger pins go before those of the settings', () => {
  const ledger = ledgerOf();
  const pinned = Buffer.alloc(20, 0xc6);
  append(ledger, [
    {
      type: 'CustodyPinned',
      sequence: 1,
      version: 1,
      usdt_contract: USDT_CONTRACT,
      custody_addresses: [pinned],
      actor: 'treasury',
      reason: 'settings',
      decided_at: NOW,
    },
  ]);
  const reasons = [pinned, CUSTODY].map((from) =>
    eventsOf(confirm(ledger, transfer({ from }))).flatMap((event) =>
      event.type === 'DepositHeld' ? [event.reason] : [],
    ),
  );
  expect(reasons).toEqual([['internal_transfer'], []]);
});

test('a transfer to an unknown address holds up its own partition alone, until the address is known', () => {
  const ledger = ledgerOf({ accounts: 40 });
  const late = transfer({ address_index: 40 });
  const indexes = Array.from({ length: 40 }, (_, index) => index);
  const behind = indexes.filter(
    (index) => transferPartition(depositKey().addressAt(index)) === late.partition,
  );
  const others = indexes.filter((index) => !behind.includes(index));
  expect(behind.length).toBeGreaterThan(0);
  const observed = [...others.slice(0, 5), ...behind, ...others.slice(5)].map((index) =>
    transfer({ address_index: index }),
  );
  const first = confirmAll(ledger, [late, ...observed], DECIDING);
  expect(first.events).toHaveLength(others.length);
  expect(first.waiting.map(({ reason }) => reason)).toEqual(
    Array.from({ length: behind.length + 1 }, () => 'unknown_address'),
  );
  expect(first.waiting[0]?.observed).toBe(late);
  expect(first.refused).toEqual([]);
  append(ledger, first.events);
  ledger.addresses.apply(
    { type: 'AddressRequested', clt_address: accountAt(40), requested_at: 0 },
    41n,
  );
  const waiting = first.waiting.map((each) => each.observed);
  const second = confirmAll(ledger, waiting, DECIDING);
  expect(second).toMatchObject({ refused: [], waiting: [] });
  expect(second.events).toHaveLength(waiting.length);
});

test('a refused transfer does not delay later ones', () => {
  const [zero, sound] = [transfer({ value: 0n }), transfer()];
  const { events, refused, waiting } = confirmAll(ledgerOf(), [zero, sound, sound], DECIDING);
  expect(events).toHaveLength(1);
  expect(refused).toEqual([{ observed: zero, reason: 'zero_value' }]);
  expect(waiting).toEqual([]);
});

test('a policy applies to later deposits, and earlier ones keep theirs', () => {
  const ledger = ledgerOf();
  const [before, after] = [transfer(), transfer({ address_index: 1 })];
  append(ledger, eventsOf(confirm(ledger, before, DECIDING)));
  const set = eventsOf(
    setPolicy(ledger, { network: 'testnet', limits: { ...testnet, first_fee: 3n * USD } }, NOW),
  );
  expect(set).toMatchObject([
    { type: 'PolicySet', sequence: 2, version: 2, first_fee: 3n * USD, decided_at: NOW },
  ]);
  append(ledger, set);
  append(ledger, eventsOf(confirm(ledger, after, DECIDING)));
  const terms = [...ledger.deposits.values()].map((deposit) =>
    deposit.status === 'absent' ? undefined : deposit.terms,
  );
  expect(terms).toMatchObject([
    { fee: 2n * USD, policy_version: 1 },
    { fee: 3n * USD, policy_version: 2 },
  ]);
  expect(ledger.policyOf(1)?.first_fee).toBe(2n * USD);
});

test('a policy in force is not set again, a contradicting one never, and the network cannot change', () => {
  const ledger = ledgerOf();
  expect(setPolicy(ledger, { network: 'testnet', limits: { ...testnet } }, NOW)).toEqual({
    events: [],
  });
  expect(setPolicy(ledger, { network: 'mainnet', limits: testnet }, NOW)).toEqual({
    refused: 'other_network',
  });
  expect(
    setPolicy(ledger, { network: 'testnet', limits: { ...testnet, minimum: -1n } }, NOW),
  ).toEqual({ refused: 'contradicting_limits' });
});
