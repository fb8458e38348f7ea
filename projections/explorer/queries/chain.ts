import { named, topOf, valuesOf, type Page, type Query } from '../../contract/page.ts';

/** Statistics cover this number of newest blocks. */
const STATS_BLOCKS = 100;

/**
 * One row, or none before the first event. Columns: height of the newest block, number of all
 * transactions; then, over the newest 100 blocks: number of blocks, transactions, distinct
 * producers, and milliseconds between the first and the last.
 */
export function stats(): Query {
  return {
    name: 'explorer_stats',
    text: `SELECT h.height, h.transactions, n.blocks, n.transactions, n.producers, n.span_ms
             FROM explorer.head h CROSS JOIN LATERAL
               (SELECT count(*) AS blocks, coalesce(sum(b.tx_count), 0) AS transactions,
                       count(DISTINCT b.producer) AS producers,
                       coalesce(extract(epoch FROM (array_agg(b.timestamp ORDER BY b.height DESC))[1]
                                                 - (array_agg(b.timestamp ORDER BY b.height))[1]) * 1000, 0)::bigint AS span_ms
                  FROM (SELECT * FROM explorer.blocks WHERE height <= h.height
                         ORDER BY height DESC LIMIT ${STATS_BLOCKS}) b) n
            WHERE h.one`,
    values: [],
  };
}

/** One row, or none before the first event; a different one after each event and table swap. */
export function indexedPosition(): Query {
  return {
    name: 'explorer_indexed_position',
    text: `SELECT h.sequence, h.hash, p.created_at FROM explorer.head h
             LEFT JOIN projector.projections p ON p.projection = 'explorer' WHERE h.one`,
    values: [],
  };
}

/** SQL of the height of the newest final block, -1 without one. */
export const FINAL_HEIGHT = 'SELECT finalized_height FROM explorer.head WHERE one';

/** At most one row. Columns: height of the newest block, of the newest final one (-1: none). */
export function indexedHead(): Query {
  return {
    name: 'explorer_indexed_head',
    text: 'SELECT height, finalized_height FROM explorer.head WHERE one',
    values: [],
  };
}

/**
 * Columns: address, whether it produced one of the newest 100 blocks, blocks produced, cursor.
 * Newest validators first. The inner LIMIT corrects the planner, which otherwise expects a third of
 * all blocks.
 */
export function validatorsPage(page: Page): Query {
  return {
    name: named('explorer_validators', page),
    text: `SELECT v.address,
                  v.address IN (SELECT producer FROM explorer.blocks
                                 WHERE height > (SELECT height FROM explorer.head WHERE one) - ${STATS_BLOCKS} LIMIT ${STATS_BLOCKS}),
                  a.blocks_produced, v.ordinal FROM
             (SELECT ordinal, address FROM explorer.validators
               WHERE ordinal < ${topOf(page, 'SELECT validators FROM explorer.head WHERE one')}
               ORDER BY ordinal DESC LIMIT $1::bigint) v
             CROSS JOIN LATERAL
               (SELECT blocks_produced FROM explorer.accounts WHERE address = v.address OFFSET 0) a
            ORDER BY v.ordinal DESC`,
    values: valuesOf(page),
  };
}
