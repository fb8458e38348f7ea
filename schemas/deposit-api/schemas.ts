/** What the answers about deposits consist of, field by field. */
import { HOLD_REASONS } from '../deposit-policy.ts';
import { object, orNull, schema, type Schema } from '../openapi.ts';

/** As the specification names them. */
const STATUSES = ['confirmed', 'mint_requested', 'credited', 'needs_manual'] as const;
const EVENTS = [
  'TransferObserved',
  'DepositConfirmed',
  'DepositHeld',
  'DepositApproved',
  'DepositRejected',
  'MintIntended',
  'MintCredited',
  'MintDead',
] as const;

const UUID = '^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$';

export const SCHEMAS: Readonly<Record<string, Schema>> = {
  TronAddress: {
    description: 'An address of TRON in base58check.',
    type: 'string',
    pattern: '^T[1-9A-HJ-NP-Za-km-z]{33}$',
  },
  Account: {
    description: 'An account of the chain token: 0x and 40 lower-case hex digits.',
    type: 'string',
    pattern: '^0x[0-9a-f]{40}$',
  },
  Id: {
    description: 'A UUID that follows from what it names: it is the same for ever.',
    type: 'string',
    pattern: UUID,
  },
  Amount: {
    description: 'micro-USDT, which is CLT base units: 1 USD is 1,000,000. It may exceed 2^53.',
    type: 'integer',
    minimum: 0,
  },
  Count: { type: 'integer', minimum: 0 },
  Time: {
    description: 'A time in ISO 8601, UTC.',
    type: 'string',
    format: 'date-time',
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$',
  },
  Status: {
    description:
      '`confirmed`: seen on TRON and logged, minting is not requested yet. `mint_requested`: it is. `credited`: the CLT is in the balance. ' +
      '`needs_manual`: a person must act first; the USDT is held in the reserve.',
    type: 'string',
    enum: STATUSES,
  },
  Reason: {
    description:
      'Why a person has to decide: the credit is below the minimum or above what is minted at once, or the mint failed.',
    type: 'string',
    enum: HOLD_REASONS,
  },
  DepositAddress: object({
    address: schema('TronAddress', "The caller's permanent deposit address."),
  }),
  Deposit: object({
    id: schema('Id'),
    status: schema('Status'),
    amount_usdt: schema('Amount', 'What arrived, in micro-USDT.'),
    tron_tx_id: {
      description: 'The transaction on TRON.',
      type: 'string',
      pattern: '^[0-9a-f]{64}$',
    },
    created_at: schema('Time', "Of the transaction's block."),
  }),
  DepositList: object({
    deposits: {
      type: 'array',
      items: schema('Deposit'),
      maxItems: 20,
      description: 'Newest first.',
    },
  }),
  DepositDetail: object({
    id: schema('Id'),
    clt_address: schema('Account', 'Who is credited: always the caller.'),
    amount_usdt: schema('Amount', 'What arrived, in micro-USDT.'),
    pay_amount_usdt: schema('Amount', 'The same: a permanent address expects no amount.'),
    status: schema('Status'),
    invoice_id: schema('Id', 'Of the standing invoice that the deposit address is.'),
    expires_at: orNull(schema('Time'), 'null: a permanent address does not expire.'),
  }),
  Timeline: object({
    deposit_id: schema('Id'),
    status: schema('Status'),
    reason: orNull(schema('Reason'), 'null unless the status is needs_manual.'),
    waiting_for: orNull(
      { type: 'string', enum: ['awaiting_approval', 'rolling_cap'] },
      'awaiting_approval: nobody has decided yet. rolling_cap: as much as is allowed was minted within 24 hours; it is minted by itself once older mints leave them. null: neither, it goes on by itself or is at its end.',
    ),
    gross: schema('Amount', 'What arrived.'),
    fee: schema(
      'Amount',
      'The network fee, fixed when the deposit was confirmed. It may be more than what arrived.',
    ),
    credit: schema('Amount', 'What is minted: gross less fee.'),
    events: {
      type: 'array',
      items: schema('TimelineEvent'),
      description: 'What happened, in the order of the log.',
    },
  }),
  TimelineEvent: object({
    event: { type: 'string', enum: EVENTS },
    at: schema('Time', 'When it was decided; of a transfer the time of its block.'),
    reason: orNull(schema('Reason'), 'Of DepositHeld.'),
    gross: orNull(schema('Amount')),
    fee: orNull(schema('Amount')),
    credit: orNull(schema('Amount')),
    chain: orNull(
      { type: 'string', enum: ['tron', 'clt'] },
      'The chain of tx_hash and block_height.',
    ),
    tx_hash: orNull(
      { type: 'string', pattern: '^(0x)?[0-9a-f]{64}$' },
      'As its chain writes it: with 0x on CLT, without on TRON.',
    ),
    block_height: orNull(schema('Count')),
    nonce: orNull(schema('Count'), 'Of the mint.'),
    topic: {
      type: 'string',
      enum: ['tron.transfers', 'treasury.ledger'],
      description: 'Where it stands in the log.',
    },
    partition: schema('Count'),
    offset: schema('Count'),
  }),
  Error: object({
    error: {
      type: 'string',
      minLength: 1,
      description: 'What to do. It never repeats the request.',
    },
  }),
  Health: object({ status: { type: 'string', const: 'ok' } }),
  Ready: object({ status: { type: 'string', const: 'ready' } }),
};
