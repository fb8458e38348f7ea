/** Queries of the reserve's tables. */
import { named, topOf, valuesOf, type Page, type Query } from '../contract/page.ts';

const RUN_COLUMNS =
  'run_id, run_at, ledger_offset, block_height, block_hash, onchain_supply, genesis_allocation, treasury_minted, burned, ' +
  'ledger_liability, custody_reported, held, retained_fees, status, begun_at, minting, waiting, uncovered, booked_surplus, refunded, ' +
  'oldest_reading_at, ledger_head, unproven, unminted, unproven_refunds, frozen, ' +
  'custody_reported - (ledger_liability + held + retained_fees + booked_surplus - refunded) AS surplus, ordinal';

/** At most one row. Columns of `runsPage`. */
export function runById(id: string): Query {
  return {
    name: 'reserve_run',
    text: `SELECT ${RUN_COLUMNS} FROM reserve.runs WHERE run_id = $1::text`,
    values: [id],
  };
}

/**
 * Columns: run_id, run_at, ledger_offset, block_height, block_hash, onchain_supply,
 * genesis_allocation, treasury_minted, burned, ledger_liability, custody_reported, held,
 * retained_fees, status, begun_at, minting, waiting, uncovered, booked_surplus, refunded,
 * oldest_reading_at, ledger_head, unproven, unminted, unproven_refunds, frozen, surplus, cursor.
 */
export function runsPage(page: Page): Query {
  return {
    name: named('reserve_runs', page),
    text: `SELECT ${RUN_COLUMNS} FROM reserve.runs WHERE ordinal < ${topOf(page, 'SELECT runs FROM reserve.head WHERE one')} ORDER BY ordinal DESC LIMIT $1::bigint`,
    values: valuesOf(page),
  };
}
