/** The rules of every event of `tron.transfers`. */
import {
  ADDRESS,
  AMOUNT,
  COUNT,
  HASH,
  list,
  record,
  TIME,
  whole,
  type TopicRules,
} from '../rules.ts';
import type { CheckedAddress, TransferEvent } from './events.ts';

const CHECKED_MAX = 1_000_000;

export const TRANSFER_RULES: TopicRules<TransferEvent> = {
  TransferObserved: {
    fields: {
      tx_id: HASH,
      log_index: whole(0, 2 ** 31 - 1),
      block_number: COUNT,
      block_timestamp: TIME,
      contract: ADDRESS,
      from: ADDRESS,
      to: ADDRESS,
      value: AMOUNT,
      address_index: COUNT,
    },
  },
  AddressesChecked: {
    fields: {
      checked_at: TIME,
      checked: list(record<CheckedAddress>({ address: ADDRESS, until: TIME }), {
        most: CHECKED_MAX,
      }),
    },
  },
};
