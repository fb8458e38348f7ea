/** The rules of the event of `reserve.runs`. */
import {
  AMOUNT,
  ANY_SEQUENCE,
  bytes,
  CHANGE,
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
      onchain_supply: AMOUNT,
      genesis_allocation: AMOUNT,
      treasury_minted: AMOUNT,
      burned: AMOUNT,
      // burned genesis CLT counts as well
      ledger_liability: CHANGE,
      // less what has arrived and is not in the ledger yet, which a thief may have taken since
      custody_reported: CHANGE,
      held: CHANGE,
      retained_fees: AMOUNT,
      minting: AMOUNT,
      waiting: CHANGE,
      uncovered: AMOUNT,
      booked_surplus: AMOUNT,
      refunded: AMOUNT,
      oldest_reading_at: TIME,
      status: NAME,
      ledger_head: bytes(0, 32),
      sequence: ANY_SEQUENCE,
      previous: PREVIOUS,
      signature: SIGNATURE,
      unproven: AMOUNT,
      unminted: AMOUNT,
      unproven_refunds: AMOUNT,
      frozen: AMOUNT,
    },
    relations: [
      {
        rule: 'more is frozen than is in custody',
        holds: ({ frozen = 0n, custody_reported }) => frozen === 0n || frozen <= custody_reported,
      },
    ],
  },
};
