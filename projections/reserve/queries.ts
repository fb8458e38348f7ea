/** Queries of the reserve's tables. */
import { named, topOf, valuesOf, type Page, type Query } from '../contract/page.ts';

/**
 * Columns: run_id, run_at, ledger_offset, block_height, block_hash, onchain_supply,
 * genesis_allocation, treasury_minted, burned, ledger_liability, custody_reported, held,
 * retained_fees, status, begun_at, minting, waiting, uncovered, booked_surplus, refunded,
 * oldest_reading_at, ledger_head, cursor.
 */
export function runsPage(page: Page): Query {
  return {
    name: named('reserve_runs', page),
    text: `SELECT run_id, run_at, ledger_offset, block_height, block_hash, onchain_supply, genesis_allocation, treasury_minted, burned,
                  ledger_liability, custody_reported, held, retained_fees, status, begun_at, minting, waiting, uncovered, booked_surplus, refunded,
                  oldest_reading_at, ledger_head, ordinal
             FROM reserve.runs WHERE ordinal < ${topOf(page, 'SELECT runs FROM reserve.head WHERE one')} ORDER BY ordinal DESC LIMIT $1::bigint`,
    values: valuesOf(page),
  };
}
