/** Samples of the three topics of deposits. Read `samples.ts` first. */
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import type { TransferEvent } from '../../../schemas/tron.transfers/events.ts';
import type { DepositConfirmed, TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { bytes, LONG_MAX } from './edges.ts';

const INT_MAX = 2 ** 31 - 1;
const AMOUNT_MAX = 2n ** 256n - 1n;
const SOME_TIME = 1_790_000_000_123;
const NONE = Buffer.alloc(20);
const ALL = Buffer.alloc(20, 255);
const ID = '6db65fd5-9fd3-86f6-b291-40571b5bcd6b';
const TEXT = 'ß 漢 \u{1F600} "quoted"\n';

interface DepositSample {
  readonly topic: string;
  readonly name: string;
  readonly event: DepositAddressEvent | TransferEvent | TreasuryEvent;
}

const ADDRESSES: readonly (readonly [string, DepositAddressEvent])[] = [
  [
    'hd',
    {
      type: 'SchemePinned',
      scheme: 'hd',
      extended_public_key: `xpub${'6F'.repeat(53)}z`,
      pinned_at: SOME_TIME,
    },
  ],
  ['one', { type: 'AddressRequested', clt_address: bytes(20, 1), requested_at: SOME_TIME }],
  ['edges', { type: 'AddressRequested', clt_address: ALL, requested_at: 0 }],
  ['one', { type: 'PanelOpened', clt_address: NONE, opened_at: LONG_MAX }],
  [
    'fingerprint',
    {
      type: 'SchemePinned',
      scheme: 'hd',
      extended_public_key: '',
      pinned_at: SOME_TIME,
      sequence: 0,
      fingerprint: bytes(32, 10),
    },
  ],
  [
    'address',
    {
      type: 'AddressRequested',
      clt_address: bytes(20, 1),
      requested_at: SOME_TIME,
      sequence: LONG_MAX,
      derivation_index: 2 ** 31 - 1,
      deposit_address: bytes(20, 11),
    },
  ],
  ['placed', { type: 'PanelOpened', clt_address: ALL, opened_at: SOME_TIME, sequence: 2 }],
  [
    'linked',
    {
      type: 'PanelOpened',
      clt_address: ALL,
      opened_at: SOME_TIME,
      sequence: 3,
      previous: bytes(32, 12),
    },
  ],
];

const TRANSFERS: readonly (readonly [string, TransferEvent])[] = [
  [
    'one',
    {
      type: 'TransferObserved',
      tx_id: bytes(32, 2),
      log_index: 0,
      block_number: 76_000_000,
      block_timestamp: SOME_TIME,
      contract: bytes(20, 3),
      from: bytes(20, 4),
      to: bytes(20, 5),
      value: 10_000_000n,
      address_index: 0,
    },
  ],
  [
    'edges',
    {
      type: 'TransferObserved',
      tx_id: Buffer.alloc(32, 255),
      log_index: INT_MAX,
      block_number: LONG_MAX,
      block_timestamp: 0,
      contract: ALL,
      from: NONE,
      to: ALL,
      value: AMOUNT_MAX,
      address_index: LONG_MAX,
    },
  ],
  ['none', { type: 'AddressesChecked', checked_at: 0, checked: [] }],
  [
    'three',
    {
      type: 'AddressesChecked',
      checked_at: SOME_TIME,
      checked: [
        { address: NONE, until: 0 },
        { address: bytes(20, 6), until: SOME_TIME - 60_000 },
        { address: ALL, until: LONG_MAX },
      ],
    },
  ],
];

const DECISION = {
  decided_at: SOME_TIME,
  actor: 'alice',
  reason: TEXT,
  signature: bytes(65, 9),
  previous: bytes(32, 10),
};

const GOVERNANCE: readonly (readonly [string, TreasuryEvent])[] = [
  [
    'two',
    {
      type: 'OperatorsSet',
      ...DECISION,
      sequence: 1,
      version: INT_MAX,
      operators: [NONE, ALL],
      two_above: AMOUNT_MAX,
    },
  ],
  [
    'one',
    {
      type: 'CustodyPinned',
      ...DECISION,
      sequence: 2,
      version: 1,
      usdt_contract: bytes(20, 3),
      custody_addresses: [ALL, NONE],
    },
  ],
  ['one', { type: 'AuthoritySet', ...DECISION, sequence: 3, version: 1, authority: ALL }],
  [
    'edges',
    {
      type: 'BaselinePinned',
      ...DECISION,
      sequence: 4,
      block_height: LONG_MAX,
      block_hash: bytes(32, 8),
      supply: AMOUNT_MAX,
      liability: 0n,
    },
  ],
  [
    'one',
    {
      type: 'MintAcknowledged',
      ...DECISION,
      sequence: 5,
      tx_hash: bytes(32, 7),
      to: ALL,
      amount: AMOUNT_MAX,
      block_height: LONG_MAX,
    },
  ],
  ['negative', { type: 'SurplusBooked', ...DECISION, sequence: 6, amount: -1n }],
  [
    'one',
    {
      type: 'RefundRecorded',
      ...DECISION,
      sequence: 7,
      deposit_id: ID,
      tron_tx_id: bytes(32, 11),
      amount: 10_000_000n,
    },
  ],
  ['signed', { type: 'DepositApproved', ...DECISION, sequence: 8, deposit_id: ID }],
  [
    'many',
    {
      type: 'DepositsDecided',
      ...DECISION,
      sequence: 12,
      decision: 'reject',
      deposit_ids: [ID, '00000000-0000-8000-8000-000000000000', ID.toUpperCase()],
      gross: AMOUNT_MAX,
      credit: 0n,
    },
  ],
  [
    'testnet',
    {
      type: 'LedgerPinned',
      sequence: 9,
      ledger_id: bytes(32, 12),
      network: 'testnet',
      chain_id: LONG_MAX,
      usdt_contract: bytes(20, 3),
      authority: ALL,
      decided_at: SOME_TIME,
      signature: bytes(65, 13),
      previous: bytes(32, 10),
    },
  ],
  ['stopped', { type: 'MintingSet', ...DECISION, sequence: 10, open: false }],
  ['open', { type: 'MintingSet', ...DECISION, sequence: 11, open: true }],
  [
    'edges',
    {
      type: 'MintVoided',
      ...DECISION,
      sequence: 12,
      deposit_id: ID,
      tx_hash: bytes(32, 7),
      nonce: LONG_MAX,
    },
  ],
];

const LEDGER: readonly (readonly [string, TreasuryEvent])[] = [
  [
    'mainnet',
    {
      type: 'PolicySet',
      sequence: 0,
      version: 1,
      network: 'mainnet',
      first_fee: 4_000_000n,
      later_fee: 2_000_000n,
      minimum: 5_000_000n,
      single_cap: 100_000_000n,
      rolling_cap: 200_000_000n,
      decided_at: SOME_TIME,
    },
  ],
  [
    'edges',
    {
      type: 'PolicySet',
      sequence: LONG_MAX,
      version: INT_MAX,
      network: 'testnet',
      first_fee: 0n,
      later_fee: 127n,
      minimum: 128n,
      single_cap: 2n ** 63n,
      rolling_cap: AMOUNT_MAX,
      decided_at: LONG_MAX,
    },
  ],
  ['one', confirmed({ gross: 10_000_000n, fee: 4_000_000n, credit: 6_000_000n })],
  [
    'edges',
    {
      ...confirmed({ gross: AMOUNT_MAX, fee: 0n, credit: AMOUNT_MAX }),
      log_index: INT_MAX,
      policy_version: INT_MAX,
      address_ordinal: LONG_MAX,
      transfer_partition: 5,
      transfer_offset: LONG_MAX,
      block_number: LONG_MAX,
    },
  ],
  ['short', confirmed({ gross: 1n, fee: 4_000_000n, credit: 0n })],
  [
    'below',
    {
      type: 'DepositHeld',
      sequence: 2,
      deposit_id: ID,
      reason: 'below_minimum',
      decided_at: SOME_TIME,
    },
  ],
  [
    'failed',
    {
      type: 'DepositHeld',
      sequence: 9,
      deposit_id: ID,
      reason: 'mint_failed',
      decided_at: SOME_TIME,
    },
  ],
  [
    'signed',
    {
      type: 'DepositHeld',
      sequence: 10,
      deposit_id: ID,
      reason: 'unproven',
      decided_at: SOME_TIME,
      signature: bytes(65, 14),
    },
  ],
  [
    'text',
    {
      type: 'DepositApproved',
      sequence: 3,
      deposit_id: ID,
      actor: 'alice',
      reason: TEXT,
      decided_at: SOME_TIME,
    },
  ],
  [
    'empty',
    {
      type: 'DepositRejected',
      sequence: 4,
      deposit_id: ID,
      actor: '',
      reason: '',
      decided_at: SOME_TIME,
    },
  ],
  [
    'edges',
    {
      type: 'MintIntended',
      sequence: 5,
      deposit_id: ID,
      nonce: LONG_MAX,
      to: ALL,
      amount: AMOUNT_MAX,
      fee: 4_000_000n,
      policy_version: 1,
      tx_hash: bytes(32, 7),
      decided_at: SOME_TIME,
    },
  ],
  [
    'signed',
    {
      type: 'MintIntended',
      sequence: 6,
      deposit_id: ID,
      nonce: 0,
      to: ALL,
      amount: 1n,
      fee: 0n,
      policy_version: 1,
      tx_hash: bytes(32, 8),
      decided_at: SOME_TIME,
      signature: bytes(65, 9),
    },
  ],
  [
    'one',
    {
      type: 'MintCredited',
      sequence: 6,
      deposit_id: ID,
      tx_hash: bytes(32, 7),
      block_height: 4_294_967_296,
      block_hash: bytes(32, 8),
      decided_at: SOME_TIME,
    },
  ],
  [
    'one',
    {
      type: 'MintDead',
      sequence: 7,
      deposit_id: ID,
      tx_hash: bytes(32, 7),
      nonce: 0,
      other_tx_hash: bytes(32, 9),
      block_height: 0,
      decided_at: SOME_TIME,
    },
  ],
  [
    'signed',
    {
      type: 'MintDead',
      sequence: 8,
      deposit_id: ID,
      tx_hash: bytes(32, 7),
      nonce: LONG_MAX,
      other_tx_hash: bytes(32, 9),
      block_height: LONG_MAX,
      decided_at: SOME_TIME,
      signature: bytes(65, 15),
    },
  ],
];

function confirmed(amounts: {
  readonly gross: bigint;
  readonly fee: bigint;
  readonly credit: bigint;
}): DepositConfirmed {
  return {
    type: 'DepositConfirmed',
    sequence: 1,
    deposit_id: ID,
    tx_id: bytes(32, 2),
    log_index: 0,
    deposit_address: bytes(20, 5),
    clt_address: bytes(20, 1),
    ...amounts,
    policy_version: 1,
    address_ordinal: 0,
    block_number: 76_000_000,
    block_timestamp: SOME_TIME,
    transfer_partition: 0,
    transfer_offset: 0,
    decided_at: SOME_TIME,
  };
}

export const DEPOSIT_SAMPLES: readonly DepositSample[] = [
  ...ADDRESSES.map(([name, event]) => ({ topic: 'deposit.addresses', name, event })),
  ...TRANSFERS.map(([name, event]) => ({ topic: 'tron.transfers', name, event })),
  ...[...LEDGER, ...GOVERNANCE].map(([name, event]) => ({ topic: 'treasury.ledger', name, event })),
];
