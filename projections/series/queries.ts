/**
 * Queries of the series: the newest buckets of a range, newest first. A bucket is an hour or a day,
 * by its number since 1970. Days are summed from hours.
 */
import type { Query } from '../contract/page.ts';

export const BUCKETS = {
  hour: { hours: 1, ms: 3_600_000 },
  day: { hours: 24, ms: 86_400_000 },
} as const;

export type Bucket = keyof typeof BUCKETS;

/** Buckets from `from` on and before `to`, at most `limit` back from the last one with a block. */
export interface Range {
  readonly by: Bucket;
  readonly from: number;
  readonly to: number;
  readonly limit: number;
}

/** The producers with most blocks have rows of their own. */
const PRODUCERS_SHOWN = 8;

/** `low` and `high`: the first hour, and the one after the last. */
function spanOf(by: Bucket): string {
  const { hours } = BUCKETS[by];
  return `span AS MATERIALIZED (
    SELECT greatest($1::bigint, top - $3::bigint) * ${hours} AS low, top * ${hours} AS high
      FROM (SELECT least($2::bigint, hour / ${hours} + 1) AS top FROM series.hours ORDER BY hour DESC LIMIT 1) newest)`;
}

const WITHIN = 'hour >= (SELECT low FROM span) AND hour < (SELECT high FROM span)';
const FINAL = 'last_height < (SELECT finalized_height FROM series.head)';

/**
 * Columns: beginning of the bucket, blocks, transactions, fees, rides, fares, active accounts,
 * supply after it, whether no event can change it. A bucket without a block has no row.
 */
export function seriesOf({ by, from, to, limit }: Range): Query {
  const values = [from, to, limit];
  return by === 'hour'
    ? {
        name: 'series_hours',
        text: `WITH ${spanOf(by)}
               SELECT to_timestamp(hour * 3600), blocks, transactions, fees, rides, fares, active_accounts, supply, ${FINAL}
                 FROM series.hours WHERE ${WITHIN} ORDER BY hour DESC`,
        values,
      }
    : {
        name: 'series_days',
        text: `WITH ${spanOf(by)}, summed AS (
                 SELECT hour / 24 AS day, sum(blocks) AS blocks, sum(transactions) AS transactions, sum(fees) AS fees, sum(rides) AS rides,
                        sum(fares) AS fares, (array_agg(supply ORDER BY hour DESC))[1] AS supply, max(last_height) AS last_height
                   FROM series.hours WHERE ${WITHIN} GROUP BY 1)
               SELECT to_timestamp(s.day * 86400), s.blocks, s.transactions, s.fees, s.rides, s.fares, coalesce(d.active_accounts, 0), s.supply, ${FINAL}
                 FROM summed s LEFT JOIN series.days d ON d.day = s.day ORDER BY s.day DESC`,
        values,
      };
}

/**
 * Columns: beginning of the bucket, producer, its blocks, whether no event can change the bucket.
 * The producers with most blocks in the range; null stands for all others together.
 */
export function producersOf({ by, from, to, limit }: Range): Query {
  const { hours } = BUCKETS[by];
  return {
    name: `series_producers_${by}`,
    text: `WITH ${spanOf(by)}, made AS MATERIALIZED (
             SELECT hour / ${hours} AS bucket, address, sum(blocks) AS blocks FROM series.producers WHERE ${WITHIN} GROUP BY 1, 2),
           most AS (SELECT address FROM made GROUP BY address ORDER BY sum(blocks) DESC, address LIMIT ${PRODUCERS_SHOWN}),
           final AS (SELECT hour / ${hours} AS bucket, bool_and(${FINAL}) AS is_final FROM series.hours WHERE ${WITHIN} GROUP BY 1)
           SELECT to_timestamp(m.bucket * ${hours * 3_600}), most.address, sum(m.blocks), f.is_final
             FROM made m LEFT JOIN most USING (address) JOIN final f USING (bucket)
            GROUP BY m.bucket, most.address, f.is_final ORDER BY m.bucket DESC, sum(m.blocks) DESC, most.address`,
    values: [from, to, limit],
  };
}
