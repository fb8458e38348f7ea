/** The rules of the event of `reserve.runs`. */
import {
  TOTAL,
  ANY_SEQUENCE,
  bytes,
  TOTAL_CHANGE,
  COUNT,
  HASH,
  NAME,
  PREVIOUS,
  SIGNATURE,
  text,
  TIME,
  type TopicRules,
} from '../rules.ts';
import type { ReserveReconciled } from './events.ts';

export const RUN_RULES: TopicRules<ReserveReconciled> = {
  ReserveReconciled: {
    fields: {
      run_id: text(100),
      run_at: TIME,
      begun_at: TIME,
      ledger_offset: COUNT,
      block_height: COUNT,
      block_hash: HASH,
      onchain_supply: TOTAL,
      genesis_allocation: TOTAL,
      treasury_minted: TOTAL,
      burned: TOTAL,
      // burned genesis CLT counts as well
      ledger_liability: TOTAL_CHANGE,
      // less what has arrived and is not in the ledger yet, which a thief may have taken since
      custody_reported: TOTAL_CHANGE,
      held: TOTAL_CHANGE,
      retained_fees: TOTAL,
      minting: TOTAL,
      waiting: TOTAL_CHANGE,
      uncovered: TOTAL,
      booked_surplus: TOTAL,
      refunded: TOTAL,
      oldest_reading_at: TIME,
      status: NAME,
      ledger_head: bytes(0, 32),
      sequence: ANY_SEQUENCE,
      previous: PREVIOUS,
      signature: SIGNATURE,
      unproven: TOTAL,
      unminted: TOTAL,
      unproven_refunds: TOTAL,
      frozen: TOTAL,
    },
    relations: [
      {
        rule: 'more is frozen than is in custody',
        holds: ({ frozen = 0n, custody_reported }) => frozen === 0n || frozen <= custody_reported,
      },
    ],
  },
};
