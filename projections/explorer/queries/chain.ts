import type { Query } from '../../contract/page.ts';

/** Over how many of the newest blocks stats are computed. */
export const STATS_BLOCKS = 100;

/**
 * One row, or none before the first event. Columns: height of the newest block, number of all transactions, and of the newest 100 blocks: how many there are,
 * their transactions, their distinct producers, the milliseconds between the first and the last.
 */
export function stats(): Query {
  return {
    name: 'explorer_stats',
    text: `SELECT h.height, h.transactions, n.blocks, n.transactions, n.producers, n.span_ms FROM explorer.head h
             CROSS JOIN LATERAL
               (SELECT count(*) AS blocks, coalesce(sum(b.tx_count), 0) AS transactions, count(DISTINCT b.producer) AS producers,
                       coalesce(extract(epoch FROM (array_agg(b.timestamp ORDER BY b.height DESC))[1]
                                                 - (array_agg(b.timestamp ORDER BY b.height))[1]) * 1000, 0)::bigint AS span_ms
                  FROM (SELECT * FROM explorer.blocks WHERE height <= h.height ORDER BY height DESC LIMIT ${STATS_BLOCKS}) b) n
            WHERE h.one`,
    values: [],
  };
}

/** One row, or none before the first event: another one after each event, and for other tables than before. */
export function indexedPosition(): Query {
  return {
    name: 'explorer_indexed_position',
    text: `SELECT h.sequence, h.hash, p.created_at FROM explorer.head h
             LEFT JOIN projector.projections p ON p.projection = 'explorer' WHERE h.one`,
    values: [],
  };
}

/** One row, or none before the first event. Columns: height of the newest block, height of the newest final block (-1: nothing is final). */
export function indexedHead(): Query {
  return {
    name: 'explorer_indexed_head',
    text: 'SELECT height, finalized_height FROM explorer.head WHERE one',
    values: [],
  };
}
