/** Answers about the backing of the token. */
import { Type, type Static } from 'typebox';
import { exampleOf, field, nullable, record, word, type Shape } from '../http-api/answer.ts';
import { AMOUNT, COUNT, HASH, SIGNED_AMOUNT, TIME } from './values.ts';

const RUN_AT = field(TIME, '2026-11-21T07:25:00.000Z', 'Time of the run, from the treasury.');
const LIABILITY = field(
  SIGNED_AMOUNT,
  250_000_000,
  'Minted minus burned since genesis; negative when more was burned than minted.',
);
const RUN_STATUS = word(['ok', 'mismatch', 'over_backed_drift'], {
  description: 'Status as published by the treasury.',
});
export type RunStatus = Shape<typeof RUN_STATUS>;

export const RESERVE_RUN = record(
  'ReserveRun',
  {
    run_at: RUN_AT,
    onchain_supply: field(AMOUNT, 9_000_250_000_000),
    genesis_allocation: field(AMOUNT, 9_000_000_000_000),
    treasury_minted: field(AMOUNT, 300_000_000),
    ledger_liability: LIABILITY,
    custody_reported: field(AMOUNT, 262_000_000),
    status: RUN_STATUS,
  },
  'One reserve run. All amounts are of one moment, in CLT base units.',
);

const { onchain_supply, genesis_allocation, treasury_minted, custody_reported } =
  RESERVE_RUN.properties;

export type RecordedRun = Shape<typeof RECORDED_RUN>;
export const RECORDED_RUN = record(
  'RecordedRun',
  {
    run_id: Type.String({ minLength: 1, example: '1042:1200' }),
    run_at: RUN_AT,
    ledger_offset: field(
      COUNT,
      1042,
      'Offset of the first record of the ledger that the amounts do not include.',
    ),
    block_height: field(COUNT, 1200, 'The final block of the amounts.'),
    block_hash: HASH,
    onchain_supply,
    genesis_allocation,
    treasury_minted,
    burned: field(AMOUNT, 50_000_000, 'Since genesis.'),
    ledger_liability: LIABILITY,
    custody_reported,
    held: field(AMOUNT, 8_000_000, 'Credits of deposits that are not minted yet.'),
    retained_fees: field(AMOUNT, 4_000_000, 'Network fees taken.'),
    status: RUN_STATUS,
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
    last_run: nullable(RESERVE_RUN, exampleOf(RESERVE_RUN), 'null: never reconciled'),
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

/** The position that the treasury publishes now. */
export type Reserve = Shape<typeof RESERVE>;
export const RESERVE = Type.Unsafe<
  Static<typeof ANSWERED> | Static<typeof UNREAD> | Static<typeof NO_TREASURY>
>({ $id: 'Reserve', oneOf: [ANSWERED, UNREAD, NO_TREASURY] });
