/** Examples in the document: one small chain, told consistently. */
import type { Json } from '../openapi.ts';

const PRODUCER = '0x1f7c9a0b3d5e2f4a6b8c0d1e2f3a4b5c6d7e8f90';
const PASSENGER = '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf';
const DRIVER = '0x2b5ad5c4795c026514f8317c7a215e218dccd6cf';

export const ADDRESS = PASSENGER;
export const BLOCK_HASH = '0x5b1f0d6ac4f94b4e8a5c20a3b5c0a3cf7f2f2c6e9d01b34a6d1b7c3e8f9a0b1c';
const PARENT_HASH = '0x9a8b7c6d5e4f30211203f4e5d6c7b8a99a8b7c6d5e4f30211203f4e5d6c7b8a9';
export const TRANSACTION_HASH =
  '0xc3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4';

export const BLOCK = {
  height: 1200,
  hash: BLOCK_HASH,
  tx_count: 1,
  producer: PRODUCER,
  reward_recipient: PRODUCER,
  block_reward: 2_000_000,
  timestamp: '2026-11-21T07:28:02.500Z',
} as const;

export const BLOCK_DETAIL = { ...BLOCK, parent_hash: PARENT_HASH, total_fees: 1_000 } as const;

export const TRANSACTION = {
  hash: TRANSACTION_HASH,
  block_height: 1200,
  from: PASSENGER,
  to: DRIVER,
  amount: 12_500_000,
  fee: 1_000,
  status: 'confirmed',
  function_call_type: 'RidePay',
  is_ride_related: true,
  timestamp: '2026-11-21T07:28:02.500Z',
  referrer: null,
  request_referrer_fee: 0,
  offer_referrer_fee: 0,
} as const;

export const TRANSACTION_DETAIL = {
  ...TRANSACTION,
  nonce: 7,
  tx_index: 0,
  request_referrer: null,
  offer_referrer: null,
} as const;

export const ACCOUNT: Json = {
  address: PASSENGER,
  balance: 87_499_000,
  nonce: 8,
  tx_count: 11,
  activity_count: 21,
  is_contract: false,
};

export const ACTIVITY: Json = {
  address: PASSENGER,
  kind: 'tx_fee_paid',
  label: 'Transaction fee paid',
  delta: -1_000,
  direction: 'debit',
  amount: 1_000,
  tx_hash: TRANSACTION_HASH,
  block_height: 1200,
  tx_index: 0,
  function_call_type: 'RidePay',
  counterparty: PRODUCER,
  timestamp: '2026-11-21T07:28:02.500Z',
};

export const BALANCE_AT: Json = {
  address: PASSENGER,
  height: 1200,
  block_hash: BLOCK_HASH,
  balance: 87_499_000,
};

export const VALIDATOR: Json = {
  address: PRODUCER,
  is_active: true,
  blocks_produced: 301,
  peer_id: '',
};

/** The envelope around a first page of one item. */
export function firstPage(item: Json): Json {
  return { items: [item], paging: { limit: 1, offset: 0, total: 1, has_more: true } };
}

export const SEARCH_RESULTS: Json = {
  items: [
    {
      kind: 'block',
      identifier: '1200',
      summary: `block 1200, ${BLOCK_HASH}: 1 transaction, produced by ${PRODUCER} at 2026-11-21T07:28:02.500Z`,
    },
  ],
};

export const STATS: Json = {
  latest_height: 1200,
  tx_per_second: 4.25,
  total_transactions: 5230,
  active_validators: 4,
  avg_block_time_seconds: 2.5,
};

export const STATUS: Json = {
  head: { height: 1201, finalized_height: 1189 },
  indexed: { height: 1200, finalized_height: 1189 },
  lag_blocks: 1,
  projections: [
    {
      projection: 'explorer',
      version: 2,
      topic: 'chain.blocks',
      partition: 0,
      next_offset: 2391,
      lag_records: 0,
      loading: false,
      moved_at: '2026-11-21T07:28:02.731Z',
    },
  ],
};

const RUN = {
  run_at: '2026-11-21T07:25:00.000Z',
  onchain_supply: 9_000_250_000_000,
  genesis_allocation: 9_000_000_000_000,
  treasury_minted: 300_000_000,
  ledger_liability: 250_000_000,
  custody_reported: 262_000_000,
  status: 'ok',
} as const;

export const RECORDED_RUN = {
  run_id: '1042:1200',
  ...RUN,
  burned: 50_000_000,
  held: 8_000_000,
  retained_fees: 4_000_000,
  ledger_offset: 1_042,
  block_height: 1_200,
  block_hash: BLOCK_HASH,
} as const;

export const RESERVES = {
  reconciled: {
    summary: 'The newest run',
    value: {
      configured: true,
      available: true,
      cache_age_seconds: 12,
      last_run: RUN,
    },
  },
  never_reconciled: {
    summary: 'Never reconciled',
    value: { configured: true, available: true, cache_age_seconds: 0, last_run: null },
  },
  unavailable: {
    summary: 'The treasury could not be read',
    value: {
      configured: true,
      available: false,
      cache_age_seconds: 3,
      error: 'the treasury did not answer within 5000 ms',
      last_run: null,
    },
  },
  not_configured: {
    summary: 'No treasury',
    value: { configured: false, available: false, cache_age_seconds: 0, last_run: null },
  },
} as const;
