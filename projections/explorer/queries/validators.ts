import { STATS_BLOCKS } from './chain.ts';
import { named, topOf, valuesOf, type Page, type Query } from '../../contract/page.ts';

/** Columns: address, whether it produced one of the newest 100 blocks, blocks produced, place. Those that came last come first. LIMIT: the planner would take a third of all blocks for new. */
export function validatorsPage(page: Page): Query {
  return {
    name: named('explorer_validators', page),
    text: `SELECT v.address,
                  v.address IN (SELECT producer FROM explorer.blocks
                                 WHERE height > (SELECT height FROM explorer.head WHERE one) - ${STATS_BLOCKS} LIMIT ${STATS_BLOCKS}),
                  a.blocks_produced, v.ordinal FROM
             (SELECT ordinal, address FROM explorer.validators
               WHERE ordinal < ${topOf(page, 'SELECT validators FROM explorer.head WHERE one')} ORDER BY ordinal DESC LIMIT $1::bigint) v
             CROSS JOIN LATERAL (SELECT blocks_produced FROM explorer.accounts WHERE address = v.address OFFSET 0) a
            ORDER BY v.ordinal DESC`,
    values: valuesOf(page),
  };
}
