/** The rules of every event of `treasury.ledger`; what depends on earlier events is in the fold. */
import { bytesKey } from '../address.ts';
import { creditOf, NETWORKS, problemsOf } from '../deposit-policy.ts';
import {
  ADDRESS,
  AMOUNT,
  BOOLEAN,
  CHANGE,
  COUNT,
  DEPOSIT_ID,
  HASH,
  list,
  NAME,
  oneOf,
  POSITIVE,
  PREVIOUS,
  SIGNATURE,
  text,
  TIME,
  TOTAL,
  VERSION,
  type Relation,
  type TopicRules,
} from '../rules.ts';
import { DECIDED_MAX, type OperatorsSet, type PolicySet, type TreasuryEvent } from './events.ts';

const OPERATORS_MAX = 100;
const CUSTODY_MAX = 1_000;
/** `ops` takes less. */
const PERSONS_TEXT = text(10_000);

const DECIDED = { sequence: COUNT, decided_at: TIME, previous: PREVIOUS };
const SIGNED = { ...DECIDED, actor: PERSONS_TEXT, reason: PERSONS_TEXT, signature: SIGNATURE };
const OF_DEPOSIT = { deposit_id: DEPOSIT_ID };

function different(addresses: readonly Buffer[]): boolean {
  return new Set(addresses.map(bytesKey)).size === addresses.length;
}

const LIMITS: Relation<PolicySet> = {
  rule: 'the limits contradict each other',
  holds: (policy) => problemsOf(policy).length === 0,
};

const TWO_OF: Relation<OperatorsSet> = {
  rule: 'two operators are asked for where there are not two',
  holds: ({ operators, two_above }) => two_above === 0n || operators.length >= 2,
};

export const LEDGER_RULES: TopicRules<TreasuryEvent> = {
  LedgerPinned: {
    fields: {
      ...DECIDED,
      ledger_id: HASH,
      network: oneOf(NETWORKS),
      chain_id: COUNT,
      usdt_contract: ADDRESS,
      authority: ADDRESS,
      signature: SIGNATURE,
    },
  },
  PolicySet: {
    fields: {
      ...SIGNED,
      version: VERSION,
      network: oneOf(NETWORKS),
      first_fee: AMOUNT,
      later_fee: AMOUNT,
      minimum: AMOUNT,
      single_cap: AMOUNT,
      rolling_cap: AMOUNT,
    },
    relations: [LIMITS],
  },
  OperatorsSet: {
    fields: {
      ...SIGNED,
      version: VERSION,
      operators: list(ADDRESS, { least: 1, most: OPERATORS_MAX }),
      two_above: AMOUNT,
    },
    relations: [
      TWO_OF,
      { rule: 'an operator is named twice', holds: ({ operators }) => different(operators) },
    ],
  },
  CustodyPinned: {
    fields: {
      ...SIGNED,
      version: VERSION,
      usdt_contract: ADDRESS,
      custody_addresses: list(ADDRESS, { most: CUSTODY_MAX }),
    },
    relations: [
      {
        rule: 'a custody address is named twice',
        holds: ({ custody_addresses: custodyAddresses }) => different(custodyAddresses),
      },
    ],
  },
  AuthoritySet: { fields: { ...SIGNED, version: VERSION, authority: ADDRESS } },
  BaselinePinned: {
    fields: { ...SIGNED, block_height: COUNT, block_hash: HASH, supply: AMOUNT, liability: AMOUNT },
    relations: [
      {
        rule: 'the liability is above the supply',
        holds: ({ liability, supply }) => liability <= supply,
      },
    ],
  },
  MintAcknowledged: {
    fields: { ...SIGNED, tx_hash: HASH, to: ADDRESS, amount: POSITIVE, block_height: COUNT },
  },
  SurplusBooked: {
    fields: { ...SIGNED, amount: CHANGE },
    relations: [{ rule: 'the amount is 0', holds: ({ amount }) => amount !== 0n }],
  },
  MintingSet: { fields: { ...SIGNED, open: BOOLEAN } },
  DepositConfirmed: {
    fields: {
      ...DECIDED,
      ...OF_DEPOSIT,
      tx_id: HASH,
      log_index: COUNT,
      deposit_address: ADDRESS,
      clt_address: ADDRESS,
      gross: POSITIVE,
      fee: AMOUNT,
      credit: AMOUNT,
      policy_version: VERSION,
      address_ordinal: COUNT,
      block_number: COUNT,
      block_timestamp: TIME,
      transfer_partition: COUNT,
      transfer_offset: COUNT,
    },
    relations: [
      {
        rule: 'the credit is not what arrived less the fee',
        holds: ({ gross, fee, credit }) => credit === creditOf(gross, fee),
      },
    ],
  },
  DepositHeld: { fields: { ...DECIDED, ...OF_DEPOSIT, reason: NAME, signature: SIGNATURE } },
  DepositApproved: { fields: { ...SIGNED, ...OF_DEPOSIT } },
  DepositRejected: { fields: { ...SIGNED, ...OF_DEPOSIT } },
  DepositsDecided: {
    fields: {
      ...SIGNED,
      decision: oneOf(['approve', 'reject']),
      deposit_ids: list(DEPOSIT_ID, { least: 1, most: DECIDED_MAX }),
      gross: TOTAL,
      credit: TOTAL,
    },
    relations: [
      {
        rule: 'a deposit is named twice',
        holds: ({ deposit_ids: depositIds }) => new Set(depositIds).size === depositIds.length,
      },
    ],
  },
  MintIntended: {
    fields: {
      ...DECIDED,
      ...OF_DEPOSIT,
      nonce: COUNT,
      to: ADDRESS,
      amount: POSITIVE,
      fee: AMOUNT,
      policy_version: VERSION,
      tx_hash: HASH,
      signature: SIGNATURE,
    },
  },
  MintCredited: {
    fields: { ...DECIDED, ...OF_DEPOSIT, tx_hash: HASH, block_height: COUNT, block_hash: HASH },
  },
  MintDead: {
    fields: {
      ...DECIDED,
      ...OF_DEPOSIT,
      tx_hash: HASH,
      nonce: COUNT,
      other_tx_hash: HASH,
      block_height: COUNT,
      signature: SIGNATURE,
    },
    relations: [
      {
        rule: 'the mint and the transaction that took its nonce are the same',
        holds: ({ tx_hash, other_tx_hash }) => !tx_hash.equals(other_tx_hash),
      },
    ],
  },
  MintVoided: { fields: { ...SIGNED, ...OF_DEPOSIT, tx_hash: HASH, nonce: COUNT } },
  RefundRecorded: { fields: { ...SIGNED, ...OF_DEPOSIT, tron_tx_id: HASH, amount: POSITIVE } },
};
