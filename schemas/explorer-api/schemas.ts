/** What the explorer's answers consist of, field by field. */
import { RUN_STATUSES } from '../reconciliation.ts';
import { LIMIT_MAX } from './bounds.ts';
import { object, orNull, schema, type Schema } from '../openapi.ts';

const TIME: Schema = {
  description: 'A time in ISO 8601, UTC.',
  type: 'string',
  format: 'date-time',
  pattern: '^[0-9]{4,}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?(Z|\\+00:00)$',
};

const BLOCK = {
  height: schema('Count', 'Its place in the chain.'),
  hash: schema('Hash'),
  tx_count: schema('Count', 'How many transactions it carries.'),
  producer: schema('Address', 'The validator that produced it.'),
  reward_recipient: schema('Address', 'Who got the block reward.'),
  block_reward: schema('Amount'),
  timestamp: schema('Time'),
} as const;

const TRANSACTION = {
  hash: schema('Hash'),
  block_height: schema('Count'),
  from: schema('Address'),
  to: schema('Address'),
  amount: schema('Amount'),
  fee: schema(
    'Amount',
    'What the sender paid; 0 when the sender produced the block, and for RideAcceptance.',
  ),
  status: { type: 'string', const: 'confirmed', description: 'Always confirmed.' },
  function_call_type: {
    type: 'string',
    description:
      'What it does: Transfer, Mint, Burn, RideRequest, RideOffer, RideAcceptance, RidePay, ...',
  },
  is_ride_related: { type: 'boolean' },
  timestamp: schema('Time', 'Of its block.'),
  referrer: orNull(schema('Address')),
  request_referrer_fee: schema('Amount'),
  offer_referrer_fee: schema('Amount'),
} as const satisfies Readonly<Record<string, Schema>>;

const NO_TRANSACTION = 'null: an effect of the block itself';

const RUN = {
  run_at: schema('Time', 'When the figures were taken, as the treasury says it.'),
  onchain_supply: schema('Amount'),
  genesis_allocation: schema('Amount'),
  treasury_minted: schema('Amount'),
  ledger_liability: {
    type: 'integer',
    description: 'Minted less burned since; below zero when more was burned than ever minted.',
  },
  custody_reported: schema('Amount'),
  status: { type: 'string', enum: RUN_STATUSES, description: 'As the treasury published it.' },
} as const satisfies Readonly<Record<string, Schema>>;

const RESERVE_AGE: Schema = {
  type: 'integer',
  minimum: 0,
  maximum: 29,
  description: 'Whole seconds since the treasury was asked.',
};

const flag = (value: boolean): Schema => ({ type: 'boolean', const: value });
const NOTHING: Schema = { type: 'null' };

/** The envelope of a list of `item`. */
function listOf(item: string): Schema {
  return object({
    items: { type: 'array', items: schema(item), maxItems: LIMIT_MAX },
    paging: schema('Paging'),
  });
}

export const SCHEMAS: Readonly<Record<string, Schema>> = {
  Address: {
    description: '20 bytes: 0x and 40 lower-case hex digits.',
    type: 'string',
    pattern: '^0x[0-9a-f]{40}$',
  },
  Hash: {
    description: '32 bytes: 0x and 64 lower-case hex digits.',
    type: 'string',
    pattern: '^0x[0-9a-f]{64}$',
  },
  Time: TIME,
  Count: { description: 'A whole number.', type: 'integer', minimum: 0 },
  Amount: {
    description:
      'CLT base units (1 USD is 1,000,000). It may exceed 2^53: read it with arbitrary precision.',
    type: 'integer',
    minimum: 0,
  },
  Paging: object({
    limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX },
    offset: schema(
      'Count',
      'As given; 0 on a page that a cursor asked for, which counts from where the cursor stands.',
    ),
    total: schema(
      'Count',
      'The offset plus the items of this page. It is not how many there are in all.',
    ),
    has_more: {
      type: 'boolean',
      description: 'Whether this page is full; the next one may be empty.',
    },
  }),
  Block: object(BLOCK),
  BlockDetail: object({
    ...BLOCK,
    parent_hash: schema('Hash'),
    total_fees: schema(
      'Amount',
      'What the producer earned in fees; 0 for blocks from before fees were recorded.',
    ),
  }),
  BlockList: listOf('Block'),
  Transaction: object(TRANSACTION),
  TransactionDetail: object({
    ...TRANSACTION,
    nonce: schema('Count'),
    tx_index: schema('Count', 'Its place in the block.'),
    request_referrer: orNull(schema('Address')),
    offer_referrer: orNull(schema('Address')),
  }),
  TransactionList: listOf('Transaction'),
  Account: object({
    address: schema('Address'),
    balance: schema('Amount'),
    nonce: schema('Count', 'Of its next transaction.'),
    tx_count: schema(
      'Count',
      'How many transactions are from or to it; one to itself counts once.',
    ),
    activity_count: schema('Count', 'How often its balance moved.'),
    is_contract: {
      type: 'boolean',
      description:
        'Whether the rules of the chain move its balance, rather than a key: the escrow, the reward pool.',
    },
  }),
  Activity: object(
    {
      address: schema('Address', 'Whose balance moved.'),
      kind: {
        type: 'string',
        description:
          'What happened, in snake_case, as the chain recorded it: transfer_in, ride_pay, tx_fee_paid, ...',
      },
      label: { type: 'string', description: 'The same for people.' },
      delta: {
        type: 'integer',
        description:
          'By how much the balance moved, in CLT base units; below zero for a debit, never zero.',
      },
      direction: { type: 'string', enum: ['credit', 'debit'] },
      amount: schema('Amount', 'The delta without its sign.'),
      tx_hash: orNull(schema('Hash'), NO_TRANSACTION),
      block_height: schema('Count'),
      tx_index: orNull(schema('Count'), NO_TRANSACTION),
      function_call_type: orNull({ type: 'string' }, NO_TRANSACTION),
      counterparty: orNull(
        schema('Address'),
        'Who stands on the other side; null where nobody does.',
      ),
      timestamp: schema('Time', 'Of its block.'),
    },
    { description: 'One movement of a balance.' },
  ),
  ActivityList: listOf('Activity'),
  BalanceAt: object({
    address: schema('Address'),
    height: schema('Count'),
    block_hash: schema(
      'Hash',
      'Of the block at this height: on a chain reorganised since, another one stands there.',
    ),
    balance: schema('Amount', 'After that block; 0 before the first movement.'),
  }),
  Validator: object({
    address: schema('Address'),
    is_active: {
      type: 'boolean',
      description: 'Whether it produced one of the newest 100 blocks.',
    },
    blocks_produced: schema('Count'),
    peer_id: {
      type: 'string',
      const: '',
      description: 'Always empty: blocks carry the address of their producer alone.',
    },
  }),
  ValidatorList: listOf('Validator'),
  SearchResult: object({
    kind: { type: 'string', enum: ['block', 'transaction', 'account'] },
    identifier: {
      type: 'string',
      description: 'Names it in the paths of this interface: a height or hash, a hash, an address.',
    },
    summary: { type: 'string', description: 'One line for people.' },
  }),
  SearchResults: object({ items: { type: 'array', items: schema('SearchResult') } }),
  Stats: object({
    latest_height: schema('Count', 'Of the newest block; 0 while there is none.'),
    tx_per_second: {
      type: 'number',
      minimum: 0,
      description:
        'Transactions of the newest 100 blocks by the time between the first and the last of them.',
    },
    total_transactions: schema('Count'),
    active_validators: schema('Count', 'How many produced one of the newest 100 blocks.'),
    avg_block_time_seconds: {
      type: 'number',
      minimum: 0,
      description: 'Over the newest 100 blocks; 0.0 until there are two.',
    },
  }),
  ChainHeights: object({
    height: schema('Count', 'Of the newest block.'),
    finalized_height: orNull(schema('Count'), 'Of the newest final block; null while none is.'),
  }),
  Position: object({
    projection: { type: 'string' },
    version: {
      type: 'integer',
      minimum: 1,
      description: 'Two of one projection: it is being rebuilt.',
    },
    topic: { type: 'string', description: 'The log that it reads.' },
    partition: schema('Count'),
    next_offset: schema('Count', 'Of the first record that it has not applied.'),
    lag_records: orNull(
      schema('Count'),
      'How many records of the log it has not applied; null while the brokers do not tell.',
    ),
    loading: {
      type: 'boolean',
      description:
        'Its tables are still filled from the log and have no indexes: they are slow to read, and not complete.',
    },
    moved_at: schema('Time', 'When it last applied one.'),
  }),
  Status: object({
    head: orNull(
      schema('ChainHeights'),
      'What the node tells of the chain; null while it does not answer.',
    ),
    indexed: orNull(
      schema('ChainHeights'),
      'How far the index of blocks and transactions is; null while nothing is indexed.',
    ),
    lag_blocks: orNull(
      schema('Count'),
      'How many blocks the index is behind the node; null when either is not known.',
    ),
    projections: { type: 'array', items: schema('Position') },
  }),
  ReserveRun: object(RUN, {
    description: 'One reconciliation. All its figures are of one moment, in CLT base units.',
  }),
  RecordedRun: object(
    {
      run_id: { type: 'string', minLength: 1 },
      ...RUN,
      burned: schema('Amount', 'Since genesis.'),
      held: schema('Amount', 'Of deposits that are not minted yet.'),
      retained_fees: schema('Amount', 'Network fees taken and kept.'),
      ledger_offset: schema(
        'Count',
        "The first record of the treasury's ledger that the figures do not know.",
      ),
      block_height: schema('Count', 'Of the final block that they are of.'),
      block_hash: schema('Hash'),
    },
    {
      description:
        'One reconciliation with where its figures were taken, so that anybody can take them again.',
    },
  ),
  RecordedRunList: listOf('RecordedRun'),
  Reserve: {
    oneOf: [
      object(
        {
          configured: flag(true),
          available: flag(true),
          cache_age_seconds: RESERVE_AGE,
          last_run: orNull(schema('ReserveRun'), 'null: never reconciled'),
        },
        {
          title: 'The treasury answered',
          description: 'With its newest run, or null when it has never reconciled.',
        },
      ),
      object(
        {
          configured: flag(true),
          available: flag(false),
          cache_age_seconds: RESERVE_AGE,
          error: { type: 'string' },
          last_run: NOTHING,
        },
        {
          title: 'The treasury could not be read',
          description: 'The last figures are not served; error says why.',
        },
      ),
      object(
        {
          configured: flag(false),
          available: flag(false),
          cache_age_seconds: { type: 'integer', const: 0 },
          last_run: NOTHING,
        },
        { title: 'There is no treasury behind this deployment', description: 'Not an error.' },
      ),
    ],
  },
  Error: object({
    code: {
      type: 'string',
      enum: [
        'invalid_request',
        'not_found',
        'rate_limited',
        'upstream_error',
        'storage_error',
        'internal_error',
      ],
    },
    message: {
      type: 'string',
      minLength: 1,
      description: 'What to do. It never repeats the request.',
    },
  }),
  Health: object({ status: { type: 'string', const: 'ok' } }),
  Ready: object({ status: { type: 'string', const: 'ready' } }),
};
