/** Answers about the backing of the token. */
import { Type, type Static } from 'typebox';
import { field, nullable, record, type Shape } from '../http-api/answer.ts';
import { LAST_RUN, RESERVE_RUN, TOLERANCE } from '../treasury-api/reconciliation.ts';
import { AMOUNT, COUNT, HASH, SIGNED_AMOUNT } from './values.ts';

export type { RunStatus } from '../treasury-api/reconciliation.ts';

const run = RESERVE_RUN.properties;

export type RecordedRun = Shape<typeof RECORDED_RUN>;
export const RECORDED_RUN = record(
  'RecordedRun',
  {
    run_id: Type.String({ minLength: 1, example: '1042:1200' }),
    run_at: run.run_at,
    ledger_offset: field(
      COUNT,
      1042,
      'Offset of the first record of the ledger that the amounts do not include.',
    ),
    block_height: field(COUNT, 1200, 'The final block of the amounts.'),
    block_hash: HASH,
    onchain_supply: run.onchain_supply,
    genesis_allocation: run.genesis_allocation,
    treasury_minted: run.treasury_minted,
    burned: field(AMOUNT, 50_000_000, 'Since genesis.'),
    ledger_liability: run.ledger_liability,
    custody_reported: run.custody_reported,
    held: field(AMOUNT, 8_000_000, 'Credits of deposits that are not minted yet.'),
    retained_fees: field(AMOUNT, 4_000_000, 'Network fees taken.'),
    status: run.status,
    minting: field(AMOUNT, 5_000_000, 'The part of held whose mint is requested.'),
    waiting: field(
      SIGNED_AMOUNT,
      3_000_000,
      'The part of held that is to be minted later, unless an operator rejects it.',
    ),
    booked_surplus: field(AMOUNT, 0, "In custody and nobody's deposit, as operators explained."),
    refunded: field(AMOUNT, 0, 'Paid back to the senders of rejected deposits.'),
    surplus: field(
      SIGNED_AMOUNT,
      0,
      'custody_reported - (ledger_liability + held + retained_fees + booked_surplus - refunded); negative: missing.',
    ),
    uncovered: field(
      AMOUNT,
      0,
      'The part of ledger_liability, minting and waiting that is not in custody, or is frozen there.',
    ),
    frozen: field(
      AMOUNT,
      0,
      'The part of custody_reported that the token blocks: it covers nothing.',
    ),
  },
  'One reserve run with the log positions of its amounts, so that anybody can recompute them.',
);

function age(example: number) {
  return Type.Integer({
    minimum: 0,
    maximum: 29,
    description: 'Whole seconds since the treasury was asked.',
    example,
  });
}
export const ANSWERED = Type.Object(
  {
    configured: Type.Literal(true),
    available: Type.Literal(true),
    cache_age_seconds: age(12),
    last_run: LAST_RUN,
  },
  {
    title: 'The treasury answered',
    description: 'The newest run, or null without one.',
    additionalProperties: false,
  },
);
export const UNREAD = Type.Object(
  {
    configured: Type.Literal(true),
    available: Type.Literal(false),
    cache_age_seconds: age(3),
    error: Type.String({ example: 'the treasury did not answer within 5000 ms' }),
    last_run: Type.Null(),
  },
  {
    title: 'The treasury could not be read',
    description: 'Earlier amounts are not served; error says why.',
    additionalProperties: false,
  },
);
export const NO_TREASURY = Type.Object(
  {
    configured: Type.Literal(false),
    available: Type.Literal(false),
    cache_age_seconds: Type.Integer({ const: 0 }),
    last_run: Type.Null(),
  },
  {
    title: 'There is no treasury behind this deployment',
    description: 'The deployment has no treasury. This is not an error.',
    additionalProperties: false,
  },
);

export type ReserveTolerance = Shape<typeof RESERVE_TOLERANCE>;
export const RESERVE_TOLERANCE = record('ReserveTolerance', {
  tolerance: nullable(
    TOLERANCE,
    1_000_000,
    'null: the treasury does not answer or does not say it, or there is none.',
  ),
});

/** The position that the treasury publishes now. */
export type Reserve = Shape<typeof RESERVE>;
export const RESERVE = Type.Unsafe<
  Static<typeof ANSWERED> | Static<typeof UNREAD> | Static<typeof NO_TREASURY>
>({ $id: 'Reserve', oneOf: [ANSWERED, UNREAD, NO_TREASURY] });
