/** Answers about the chain as a whole: search, statistics, series, and progress of the index. */
import { Type } from 'typebox';
import { field, nullable, record, word, type Shape } from '../http-api/answer.ts';
import { ADDRESS, AMOUNT, BLOCK_HASH, COUNT, MOMENT, TIME, VALIDATOR } from './values.ts';

export type Found = Shape<typeof SEARCH_RESULT>;
const SEARCH_RESULT = record('SearchResult', {
  kind: word(['block', 'transaction', 'account']),
  identifier: Type.String({
    description: 'Identifier in paths of this interface: height or hash, hash, address.',
    example: '1200',
  }),
  summary: Type.String({
    description: 'One line for people.',
    example: `block 1200, ${BLOCK_HASH}: 1 transaction, produced by ${VALIDATOR} at ${MOMENT}`,
  }),
});
export const SEARCH_RESULTS = record('SearchResults', { items: Type.Array(SEARCH_RESULT) });

export type Stats = Shape<typeof STATS>;
export const STATS = record('Stats', {
  latest_height: field(COUNT, 1200, 'Height of the newest block; 0 without blocks.'),
  tx_per_second: Type.Number({
    minimum: 0,
    description:
      'Transactions of the newest 100 blocks divided by the time between the first and the last of them.',
    example: 4.25,
  }),
  total_transactions: field(COUNT, 5230),
  active_validators: field(
    COUNT,
    4,
    'Number of validators that produced one of the newest 100 blocks.',
  ),
  avg_block_time_seconds: Type.Number({
    minimum: 0,
    description: 'Over the newest 100 blocks; 0.0 with fewer than two blocks.',
    example: 2.5,
  }),
});

export type SeriesBy = Shape<typeof SERIES_BY>;
const SERIES_BY = word(['hour', 'day'], {
  $id: 'SeriesBy',
  description: 'Length of a bucket.',
  example: 'day',
});
const START = field(TIME, '2026-11-21T00:00:00.000Z', 'Beginning of the hour or day.');

const IS_FINAL = Type.Boolean({
  description: 'Whether no block can change the hour or day.',
  example: false,
});

export type SeriesItem = Shape<typeof SERIES_ITEM>;
export const SERIES_ITEM = record('SeriesItem', {
  start: START,
  blocks: field(COUNT, 1200),
  transactions: field(COUNT, 5230),
  fees: field(AMOUNT, 5_230_000, 'Earned by the producers.'),
  rides: field(COUNT, 41, 'Trips that began: offers accepted.'),
  fares: field(AMOUNT, 612_500_000, 'Taken out of escrow by payments of trips.'),
  active_accounts: field(
    COUNT,
    212,
    'Accounts with a transaction from or to them. Each counts once: a day has fewer than its hours together.',
  ),
  supply: field(AMOUNT, 20_002_253_508_000_000, 'After the last block.'),
  is_final: IS_FINAL,
});
/** Newest first; without those that have no block. */
export type Series = Shape<typeof SERIES>;
export const SERIES = record('Series', {
  by: SERIES_BY,
  items: Type.Array(SERIES_ITEM, { maxItems: 1_000 }),
});

export const VALIDATOR_SERIES_ITEM = record('ValidatorSeriesItem', {
  start: START,
  address: nullable(
    ADDRESS,
    VALIDATOR,
    'The validator; null: all that have no items of their own.',
  ),
  blocks: field(COUNT, 301),
  is_final: IS_FINAL,
});
export type ValidatorSeries = Shape<typeof VALIDATOR_SERIES>;
export const VALIDATOR_SERIES = record('ValidatorSeries', {
  by: SERIES_BY,
  items: Type.Array(VALIDATOR_SERIES_ITEM, { maxItems: 9_000 }),
});

const HEIGHTS = record('ChainHeights', {
  height: field(COUNT, 1200, 'Height of the newest block.'),
  finalized_height: nullable(COUNT, 1189, 'Height of the newest final block; null without one.'),
});
export const POSITION = record('Position', {
  projection: Type.String({ example: 'explorer' }),
  version: Type.Integer({
    minimum: 1,
    description: 'Two entries with one name mean a rebuild is running.',
    example: 2,
  }),
  topic: Type.String({ description: 'The log that it reads.', example: 'chain.blocks' }),
  partition: COUNT,
  next_offset: field(COUNT, 2391, 'Next offset to apply.'),
  lag_records: nullable(COUNT, 0, 'Lag in records; null while the brokers do not answer.'),
  loading: Type.Boolean({
    description: 'True while the tables are being loaded without indexes: slow and incomplete.',
    example: false,
  }),
  moved_at: field(TIME, '2026-11-21T07:28:02.731Z', 'Time of the last applied record.'),
});
export type Status = Shape<typeof STATUS>;
export const STATUS = record('Status', {
  head: nullable(
    HEIGHTS,
    { height: 1201, finalized_height: 1189 },
    'The chain as the node reports it; null while the node does not answer.',
  ),
  indexed: nullable(
    HEIGHTS,
    { height: 1200, finalized_height: 1189 },
    'Progress of the index of blocks and transactions; null while nothing is indexed.',
  ),
  lag_blocks: nullable(COUNT, 1, 'Lag of the index in blocks; null when either height is unknown.'),
  projections: Type.Array(POSITION),
});
