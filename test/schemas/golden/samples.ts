/** Sample events of every type with edge values, for `golden.test.ts`. */
import type { BlockTransaction, ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import type { RecordSkipped } from '../../../schemas/projector.skips/events.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import type { TransferEvent } from '../../../schemas/tron.transfers/events.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { FUNCTION_CALL_TYPES } from '../../../schemas/function-call.ts';
import { DEPOSIT_SAMPLES } from './deposit-samples.ts';
import { bytes, LONG_MAX } from './edges.ts';

export interface Sample {
  readonly topic: string;
  /** tells several samples of one event apart */
  readonly name: string;
  readonly event:
    | ChainEvent
    | DepositAddressEvent
    | RecordSkipped
    | ReserveReconciled
    | TransferEvent
    | TreasuryEvent;
}

const AMOUNTS = [
  0n,
  1n,
  127n,
  128n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
  2n ** 64n,
  2n ** 128n - 1n,
  2n ** 256n - 1n,
];

function transaction(functionCallType: string, index: number): BlockTransaction {
  const amount = AMOUNTS[index % AMOUNTS.length] ?? 0n;
  return {
    hash: bytes(32, index),
    index,
    from: bytes(20, index + 1),
    to: bytes(20, index + 2),
    nonce: index === 0 ? 0 : LONG_MAX - index,
    amount,
    function_call_type: functionCallType,
    arguments:
      index === 0 ? {} : { amount: String(amount), reference: null, note: 'ß 漢 \u{1F600}' },
    referrer: index % 2 === 0 ? null : bytes(20, index + 3),
    request_referrer: index % 3 === 0 ? null : bytes(20, index + 4),
    offer_referrer: index % 4 === 0 ? null : bytes(20, index + 5),
    request_referrer_fee: amount / 100n,
    offer_referrer_fee: amount / 200n,
    raw: bytes(index === 0 ? 0 : 100 + index, index),
  };
}

export const SAMPLES: readonly Sample[] = [
  ...DEPOSIT_SAMPLES,
  {
    topic: 'chain.blocks',
    name: 'empty',
    event: {
      type: 'BlockAppended',
      sequence: 1,
      height: 0,
      hash: bytes(32, 1),
      parent_hash: Buffer.alloc(32),
      timestamp: 0,
      producer: Buffer.alloc(20, 255),
      reward_recipient: Buffer.alloc(20),
      block_reward: 0n,
      transactions: [],
      balance_effects: [],
    },
  },
  {
    topic: 'chain.blocks',
    name: 'full',
    event: {
      type: 'BlockAppended',
      sequence: LONG_MAX,
      height: 4_294_967_296,
      hash: bytes(32, 2),
      parent_hash: bytes(32, 1),
      timestamp: 1_700_000_000_123,
      producer: bytes(20, 9),
      reward_recipient: bytes(20, 10),
      block_reward: 50_000n,
      transactions: FUNCTION_CALL_TYPES.map((type, index) => transaction(type, index)),
      balance_effects: AMOUNTS.flatMap((amount, index) => [
        {
          address: bytes(20, index),
          kind: 'transfer_out',
          delta: -amount,
          tx_index: index,
          counterparty: bytes(20, index + 1),
        },
        {
          address: bytes(20, index + 1),
          kind: 'block_reward',
          delta: amount,
          tx_index: null,
          counterparty: null,
        },
      ]),
    },
  },
  {
    topic: 'chain.blocks',
    name: 'one',
    event: {
      type: 'BlockReverted',
      sequence: 3,
      height: 2,
      hash: bytes(32, 5),
      parent_hash: bytes(32, 4),
    },
  },
  {
    topic: 'chain.blocks',
    name: 'one',
    event: { type: 'BlocksFinalized', sequence: 4, height: 1, hash: bytes(32, 4) },
  },
  { topic: 'reserve.runs', name: 'ok', event: reserveRun('ok', 2n ** 256n - 1n) },
  {
    topic: 'projector.skips',
    name: 'one',
    event: {
      type: 'RecordSkipped',
      projection: 'ride_market',
      topic: 'chain.blocks',
      partition: 0,
      record_offset: LONG_MAX,
      fingerprint: bytes(32, 7),
      error: 'BlockSplit is no event that ride_market folds',
      actor: 'alice',
      reason: 'ß 漢 \u{1F600}',
      decided_at: 1_790_000_000_123,
    },
  },
  {
    topic: 'reserve.runs',
    name: 'linked',
    event: {
      ...reserveRun('ok', 0n),
      ledger_head: bytes(32, 8),
      sequence: LONG_MAX,
      previous: bytes(32, 9),
    },
  },
  {
    topic: 'reserve.runs',
    name: 'signed',
    event: { ...reserveRun('ok', 0n), signature: bytes(65, 10) },
  },
  {
    topic: 'reserve.runs',
    name: 'unproven',
    event: {
      ...reserveRun('ok', 0n),
      unproven: 2n ** 256n - 1n,
      unminted: 1n,
      unproven_refunds: 2n ** 64n,
      frozen: 128n,
    },
  },
  { topic: 'reserve.runs', name: 'below-zero', event: reserveRun('mismatch', -(2n ** 200n)) },
];

function reserveRun(status: string, liability: bigint): ReserveReconciled {
  return {
    type: 'ReserveReconciled',
    run_id: `1234:${status}`,
    run_at: 1_790_000_000_123,
    ledger_offset: LONG_MAX,
    block_height: 4_294_967_296,
    block_hash: bytes(32, 6),
    onchain_supply: 2n ** 256n - 1n,
    genesis_allocation: 2n ** 64n,
    treasury_minted: 0n,
    burned: 1n,
    ledger_liability: liability,
    custody_reported: 2n ** 63n,
    held: 127n,
    retained_fees: 128n,
    begun_at: 1_790_000_000_000,
    minting: 2n ** 65n,
    waiting: 1n,
    uncovered: 2n ** 256n - 1n,
    booked_surplus: 129n,
    refunded: 0n,
    oldest_reading_at: 1_789_999_999_999,
    status,
  };
}
