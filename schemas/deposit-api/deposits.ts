/** Answers of the deposit gateway. */
import { Type } from 'typebox';
import { parseDepositId } from '../deposit-id.ts';
import { exampleOf, field, nullable, record, word, type Shape } from '../http-api/answer.ts';
import { inPath } from '../http-api/parameters.ts';

const TRON_HASH = '9a8b7c6d5e4f30211203f4e5d6c7b8a99a8b7c6d5e4f30211203f4e5d6c7b8a9';
const CLT_HASH = '0xc3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4';

export const TRON_ADDRESS = Type.String({
  $id: 'TronAddress',
  description: 'An address of TRON in base58check.',
  pattern: '^T[1-9A-HJ-NP-Za-km-z]{33}$',
  example: 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6',
});
export const TRON_TX_ID = Type.String({
  description: 'The transaction on TRON.',
  pattern: '^[0-9a-f]{64}$',
  example: TRON_HASH,
});
const ACCOUNT = Type.String({
  $id: 'Account',
  description: 'An account of the chain token: 0x and 40 lower-case hex digits.',
  pattern: '^0x[0-9a-f]{40}$',
  example: '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
});
export const ID = Type.String({
  $id: 'Id',
  description: 'A UUID derived from the deposit; it never changes.',
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
  example: '0c5b1e0a-6f5d-8a53-9d0f-3b1f6f0f2c11',
});
/** Any text names a deposit; what is no id is not found. */
export function depositId(refusal: string) {
  return inPath(
    'id',
    { schema: Type.String({ minLength: 1 }), parse: parseDepositId },
    refusal,
    {
      description: 'The id of the deposit, from the list.',
      example: '0c5b1e0a-6f5d-8a53-9d0f-3b1f6f0f2c11',
    },
    'not_found',
  );
}

const AMOUNT = Type.Integer({
  $id: 'Amount',
  description: 'micro-USDT, which is CLT base units: 1 USD is 1,000,000. It may exceed 2^53.',
  minimum: 0,
});
const COUNT = Type.Integer({ $id: 'Count', minimum: 0 });
const TIME = Type.String({
  $id: 'Time',
  description: 'A time in ISO 8601, UTC.',
  format: 'date-time',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$',
  example: '2026-11-21T07:28:03.000Z',
});
const STATUS = word(['confirmed', 'mint_requested', 'credited', 'needs_manual'], {
  $id: 'Status',
  description:
    '`confirmed`: seen on TRON and logged; minting not yet requested. `mint_requested`: minting requested. `credited`: the CLT is in the balance. `needs_manual`: a person must act first; the USDT is held in the reserve.',
  example: 'credited',
});
const REASON = word(
  ['below_minimum', 'over_single_cap', 'internal_transfer', 'unproven', 'mint_failed'],
  {
    $id: 'Reason',
    description:
      'Why a person has to decide: credit below the minimum, credit above the cap of a single mint, paid by a deposit or custody address, no proof that it arrived, or a failed mint.',
  },
);

export type Policy = Shape<typeof POLICY>;
export const POLICY = record('Policy', {
  version: field(COUNT, 1, 'It rises with every change.'),
  network: word(['mainnet', 'testnet'], { example: 'testnet' }),
  first_fee: field(AMOUNT, 2_000_000, 'Of the first deposit of an address.'),
  later_fee: field(AMOUNT, 500_000, 'Of every later one.'),
  minimum: field(AMOUNT, 1_000_000, 'The smallest credit that is minted without a person.'),
  single_cap: field(AMOUNT, 1_000_000_000, 'The largest credit that is minted without a person.'),
  rolling_cap: field(AMOUNT, 5_000_000_000, 'Of all credits within 24 hours.'),
  in_force_since: field(TIME, '2026-11-21T07:00:00.000Z'),
});

/** The deposits that wait to be minted, and the room under the rolling cap. */
export type MintQueue = Shape<typeof MINT_QUEUE>;
export const MINT_QUEUE = record('MintQueue', {
  cap_left: field(AMOUNT, 4_200_000_000, 'Credits that may still be minted within 24 hours.'),
  waiting: field(AMOUNT, 8_000_000, 'Credits of the deposits that wait for their mint.'),
  waiting_count: field(COUNT, 1, 'Their number; after the oldest 1000 no more are counted.'),
  is_stopped: Type.Boolean({
    description: 'Whether operators have stopped all minting.',
    example: false,
  }),
  leaving: Type.Array(
    record('LeavingMints', {
      at: field(TIME, '2026-11-21T09:59:12.000Z', 'From then on all of the amount counts no more.'),
      amount: field(AMOUNT, 800_000_000),
    }),
    { maxItems: 30, description: 'When mints leave the 24 hours and give room, by hour.' },
  ),
});

export type DepositAddress = Shape<typeof DEPOSIT_ADDRESS>;
export const DEPOSIT_ADDRESS = record('DepositAddress', {
  address: field(
    TRON_ADDRESS,
    'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6',
    "The caller's permanent deposit address.",
  ),
});

/** The last check of the caller's address for transfers. */
export type AddressCheck = Shape<typeof ADDRESS_CHECK>;
export const ADDRESS_CHECK = record('AddressCheck', {
  checked_at: nullable(
    TIME,
    '2026-11-21T07:28:03.000Z',
    'null: it was never checked, or the caller has no address yet.',
  ),
  checked_ms_ago: nullable(
    COUNT,
    850,
    'Milliseconds since `checked_at`, by the clock of the service.',
  ),
  overdue_ms: field(
    COUNT,
    0,
    'Milliseconds since the next check was due; 0 when it is not due yet. An address that is opened again before it is checked is due from then on.',
  ),
});

export type Deposit = Shape<typeof DEPOSIT>;
export const DEPOSIT = record('Deposit', {
  id: ID,
  status: STATUS,
  amount_usdt: field(AMOUNT, 10_000_000, 'Amount that arrived, in micro-USDT.'),
  tron_tx_id: TRON_TX_ID,
  created_at: field(TIME, '2026-11-21T07:28:03.000Z', 'Time of the block.'),
});
export const DEPOSIT_LIST = record('DepositList', {
  deposits: Type.Array(DEPOSIT, { maxItems: 20, description: 'Newest first.' }),
});

export const DEPOSIT_DETAIL = record('DepositDetail', {
  id: ID,
  clt_address: field(
    ACCOUNT,
    '0x7e5f4552091a69125d5dfcb7b8c2659029395bdf',
    'The credited account: always the caller.',
  ),
  amount_usdt: field(AMOUNT, 10_000_000, 'Amount that arrived, in micro-USDT.'),
  pay_amount_usdt: field(
    AMOUNT,
    10_000_000,
    'Equal to amount_usdt: a permanent address expects no amount.',
  ),
  status: STATUS,
  invoice_id: field(
    ID,
    '5d1c3b2a-7e6f-8b14-a2c3-d4e5f6071829',
    'Invoice of the permanent address.',
  ),
  expires_at: nullable(TIME, null, 'null: a permanent address does not expire.'),
});

export type DepositEvent = Shape<typeof TIMELINE_EVENT>;
export const TIMELINE_EVENT = record('TimelineEvent', {
  event: word(
    [
      'TransferObserved',
      'DepositConfirmed',
      'DepositHeld',
      'DepositApproved',
      'DepositRejected',
      'MintIntended',
      'MintCredited',
      'MintDead',
      'MintVoided',
    ],
    {
      description:
        'MintVoided: the mint that the ledger had shown is not on the chain; the deposit waits to be minted again.',
    },
  ),
  at: field(
    TIME,
    '2026-11-21T07:28:03.000Z',
    'Time of the event; for a transfer the time of its block.',
  ),
  reason: nullable(REASON, null, 'Present for DepositHeld.'),
  gross: nullable(AMOUNT, 10_000_000),
  fee: nullable(AMOUNT, null),
  credit: nullable(AMOUNT, null),
  chain: nullable(word(['tron', 'clt']), 'tron', 'Chain of tx_hash and block_height.'),
  tx_hash: nullable(
    Type.String({ pattern: '^(0x)?[0-9a-f]{64}$' }),
    TRON_HASH,
    'In the notation of its chain: with 0x on CLT, without on TRON.',
  ),
  block_height: nullable(COUNT, 70_000_000),
  nonce: nullable(COUNT, null, 'Present for mints.'),
  topic: word(['tron.transfers', 'treasury.ledger'], { description: 'Position in the log.' }),
  partition: field(COUNT, 3),
  offset: field(COUNT, 41),
});

const OF_THE_LEDGER = {
  ...Object(exampleOf(TIMELINE_EVENT)),
  gross: null,
  chain: 'clt',
  tx_hash: CLT_HASH,
  block_height: null,
  topic: 'treasury.ledger',
  partition: 0,
};
export type Timeline = Shape<typeof TIMELINE>;
export const TIMELINE = record('Timeline', {
  deposit_id: ID,
  status: STATUS,
  reason: nullable(REASON, null, 'null unless the status is needs_manual.'),
  waiting_for: nullable(
    word(['awaiting_approval', 'rolling_cap']),
    null,
    'awaiting_approval: a person has to decide. rolling_cap: the cap of 24 hours is used up; minting continues by itself when older mints leave the window. null: it waits for neither.',
  ),
  waiting_before: nullable(
    AMOUNT,
    null,
    'Credits of the deposits whose turn is before; null: it does not wait for its mint, or 1000 or more wait.',
  ),
  gross: field(AMOUNT, 10_000_000, 'Amount that arrived.'),
  fee: field(
    AMOUNT,
    2_000_000,
    'Network fee, fixed when the deposit was confirmed. It may exceed the amount that arrived.',
  ),
  credit: field(AMOUNT, 8_000_000, 'Amount to mint: gross minus fee.'),
  events: Type.Array(TIMELINE_EVENT, {
    description: 'Events in log order.',
    example: [
      exampleOf(TIMELINE_EVENT),
      {
        ...OF_THE_LEDGER,
        event: 'DepositConfirmed',
        at: '2026-11-21T07:29:10.120Z',
        gross: 10_000_000,
        fee: 2_000_000,
        credit: 8_000_000,
        chain: null,
        tx_hash: null,
        offset: 7,
      },
      {
        ...OF_THE_LEDGER,
        event: 'MintIntended',
        at: '2026-11-21T07:29:10.400Z',
        fee: 2_000_000,
        credit: 8_000_000,
        nonce: 5,
        offset: 8,
      },
      {
        ...OF_THE_LEDGER,
        event: 'MintCredited',
        at: '2026-11-21T07:29:14.900Z',
        block_height: 1200,
        offset: 9,
      },
    ],
  }),
});
