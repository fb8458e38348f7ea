/** The rules of every event of `deposit.addresses`. */
import {
  ADDRESS,
  ANY_SEQUENCE,
  bytes,
  NAME,
  PREVIOUS,
  text,
  TIME,
  whole,
  type TopicRules,
} from '../rules.ts';
import type { DepositAddressEvent } from './events.ts';

/** An extended public key has 111 characters. */
const KEY_TEXT = text(200);
const WRITTEN = { sequence: ANY_SEQUENCE, previous: PREVIOUS };

export const ADDRESS_RULES: TopicRules<DepositAddressEvent> = {
  SchemePinned: {
    fields: {
      ...WRITTEN,
      scheme: NAME,
      extended_public_key: KEY_TEXT,
      pinned_at: TIME,
      fingerprint: bytes(0, 32),
    },
  },
  AddressRequested: {
    fields: {
      ...WRITTEN,
      clt_address: ADDRESS,
      requested_at: TIME,
      derivation_index: whole(-1),
      deposit_address: bytes(0, 20),
    },
  },
  PanelOpened: { fields: { ...WRITTEN, clt_address: ADDRESS, opened_at: TIME } },
};
