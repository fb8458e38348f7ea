/**
 * Records of a stranger who reaches the brokers, of every kind that the treasury reads. Each has no
 * effect, or none that mints anything; where the logs alone show it, the audit finds it at its
 * offset. The other records of a kind, which halt minting until a person acts, are tested alone
 * (`test/servers/services/treasury/minting`), as are rewritten topics.
 */
import { depositIdOf } from '../../schemas/deposit-id.ts';
import { NETWORK_LIMITS } from '../../schemas/deposit-policy.ts';
import type { BlockAppended, BlocksFinalized } from '../../schemas/chain.blocks/events.ts';
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import type { SignedDecision } from '../../schemas/operator-signature.ts';
import type { ReserveReconciled } from '../../schemas/reserve.runs/events.ts';
import type { TransferEvent } from '../../schemas/tron.transfers/events.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import type { Credited } from '../../projections/deposits/domain/deposit.ts';
import type { Growing } from '../../projections/chain/chain.ts';
import type { Invariant } from '../../services/ops/audit/findings.ts';
import { confirmedEvent } from '../support/deposit-events.ts';
import { OTHER_XPUB, USDT_CONTRACT } from '../support/deposit-log.ts';
import { addressOf, mallory, operatorsSet, signed } from '../support/operators.ts';
import type { Random } from '../support/random.ts';

const USD = 1_000_000n;
const MALLORY = addressOf(mallory);

/** The facts that a stranger knows when a record is written. */
export interface Facts {
  readonly random: Random;
  /** Unix milliseconds */
  readonly now: number;
  /** the offset that the record gets */
  readonly sequence: number;
  readonly deposit_id: string;
  /** that deposit */
  readonly credited: Credited;
  readonly newest_run: ReserveReconciled;
  /** accounts with an address */
  readonly accounts: number;
  /** of an account that nobody pays */
  readonly unpaid: { readonly index: number; readonly address: Buffer };
}

export interface Forgery<Event> {
  readonly event: (facts: Facts) => Event;
  /** what becomes of it */
  readonly answer: string;
  /** by which the audit finds it; undefined: the logs alone do not show it */
  readonly found: Invariant | undefined;
}

/** Why no record of this kind is written. */
interface LeftOut {
  readonly left_out: string;
}

export type Forgeries<Event extends { readonly type: string }> = Readonly<
  Record<Event['type'], Forgery<Event> | LeftOut>
>;

function by({ sequence, now }: Facts) {
  return { sequence, decided_at: now, actor: 'alice', reason: 'forged' };
}

const REFUSED = 'refused for its signature, and counted';

function unsigned(event: (facts: Facts) => SignedDecision): Forgery<TreasuryEvent> {
  return { event, answer: REFUSED, found: 'I14' };
}

/** By a key that is neither an operator's nor the mint authority's. */
function foreign(event: (facts: Facts) => SignedDecision): Forgery<TreasuryEvent> {
  return unsigned((facts) => signed(event(facts), mallory));
}

const MISFIT = 'does not follow from the events before it: no effect';

export const LEDGER: Forgeries<TreasuryEvent> = {
  LedgerPinned: foreign(({ random, sequence, now }) => ({
    type: 'LedgerPinned',
    sequence,
    decided_at: now,
    ledger_id: random.bytes(32),
    network: 'testnet',
    chain_id: 1,
    usdt_contract: USDT_CONTRACT,
    authority: random.bytes(20),
  })),
  PolicySet: foreign((facts) => ({
    type: 'PolicySet',
    ...by(facts),
    version: 2,
    network: 'testnet',
    ...NETWORK_LIMITS.testnet,
    later_fee: 0n,
    rolling_cap: 10n ** 15n,
  })),
  OperatorsSet: foreign((facts) => ({ ...operatorsSet(mallory), ...by(facts), version: 2 })),
  CustodyPinned: unsigned((facts) => ({
    type: 'CustodyPinned',
    ...by(facts),
    version: 2,
    usdt_contract: USDT_CONTRACT,
    custody_addresses: [MALLORY],
  })),
  AuthoritySet: unsigned((facts) => ({
    type: 'AuthoritySet',
    ...by(facts),
    version: 2,
    authority: MALLORY,
  })),
  BaselinePinned: foreign((facts) => ({
    type: 'BaselinePinned',
    ...by(facts),
    block_height: facts.newest_run.block_height,
    block_hash: facts.newest_run.block_hash,
    supply: facts.newest_run.onchain_supply,
    liability: 0n,
  })),
  MintAcknowledged: unsigned((facts) => ({
    type: 'MintAcknowledged',
    ...by(facts),
    tx_hash: facts.random.bytes(32),
    to: MALLORY,
    amount: 5n,
    block_height: 1,
  })),
  SurplusBooked: foreign((facts) => ({ type: 'SurplusBooked', ...by(facts), amount: USD })),
  MintingSet: unsigned((facts) => ({ type: 'MintingSet', ...by(facts), open: false })),
  DepositConfirmed: {
    // small enough for the fees in custody to cover it
    event: ({ random, sequence, now }) => {
      const deposit_address = random.bytes(20);
      return confirmedEvent({
        sequence,
        decided_at: now,
        tx_id: random.bytes(32),
        deposit_address,
        transfer_partition: transferPartition(deposit_address),
        clt_address: MALLORY,
        gross: 3n * USD,
        fee: 2n * USD,
        credit: USD,
      });
    },
    answer: 'names no transfer: held as unproven, never minted',
    found: 'I1',
  },
  DepositHeld: unsigned(({ sequence, now, deposit_id }) => {
    return { type: 'DepositHeld', sequence, decided_at: now, deposit_id, reason: 'unproven' };
  }),
  DepositApproved: unsigned((facts) => ({
    type: 'DepositApproved',
    ...by(facts),
    deposit_id: facts.deposit_id,
  })),
  DepositRejected: foreign((facts) => ({
    type: 'DepositRejected',
    ...by(facts),
    deposit_id: facts.deposit_id,
  })),
  DepositsDecided: foreign((facts) => ({
    type: 'DepositsDecided',
    ...by(facts),
    decision: 'reject',
    deposit_ids: [facts.deposit_id],
    gross: facts.credited.terms.gross,
    credit: facts.credited.terms.credit,
  })),
  MintIntended: {
    event: ({ random, sequence, now, deposit_id, credited: { terms, mint } }) => ({
      type: 'MintIntended',
      sequence,
      decided_at: now,
      deposit_id,
      nonce: mint.nonce + 1_000_000,
      to: terms.clt_address,
      amount: terms.credit,
      fee: terms.fee,
      policy_version: terms.policy_version,
      tx_hash: random.bytes(32),
    }),
    answer: REFUSED,
    found: 'I14',
  },
  MintCredited: {
    event: ({ random, sequence, now, credited: { mint } }) => ({
      type: 'MintCredited',
      sequence,
      decided_at: now,
      deposit_id: depositIdOf(random.bytes(32), 0),
      tx_hash: mint.tx_hash,
      block_height: 1,
      block_hash: random.bytes(32),
    }),
    answer: MISFIT,
    found: 'I6',
  },
  MintDead: unsigned(({ random, sequence, now, deposit_id, credited: { mint } }) => ({
    type: 'MintDead',
    sequence,
    decided_at: now,
    deposit_id,
    tx_hash: mint.tx_hash,
    nonce: mint.nonce,
    other_tx_hash: random.bytes(32),
    block_height: 1,
  })),
  MintVoided: unsigned((facts) => ({
    type: 'MintVoided',
    ...by(facts),
    deposit_id: facts.deposit_id,
    tx_hash: facts.credited.mint.tx_hash,
    nonce: facts.credited.mint.nonce,
  })),
  RefundRecorded: unsigned((facts) => ({
    type: 'RefundRecorded',
    ...by(facts),
    deposit_id: facts.deposit_id,
    tron_tx_id: facts.random.bytes(32),
    amount: USD,
  })),
};

export const ADDRESSES: Forgeries<DepositAddressEvent> = {
  SchemePinned: {
    event: ({ sequence, now }) => ({
      type: 'SchemePinned',
      sequence,
      scheme: 'hd',
      extended_public_key: OTHER_XPUB,
      pinned_at: now,
    }),
    answer: 'the first scheme counts for ever: no effect',
    found: 'I1',
  },
  AddressRequested: {
    event: ({ random, sequence, now, accounts }) => ({
      type: 'AddressRequested',
      sequence,
      clt_address: MALLORY,
      requested_at: now,
      derivation_index: accounts,
      deposit_address: random.bytes(20),
    }),
    answer: 'an address that the key does not derive: nothing is minted for it',
    found: 'I1',
  },
  PanelOpened: { left_out: 'it has the watcher look at an address, nothing else' },
};

export const TRANSFERS: Forgeries<TransferEvent> = {
  TransferObserved: {
    event: ({ random, now, unpaid }) => ({
      type: 'TransferObserved',
      tx_id: random.bytes(32),
      log_index: 0,
      block_number: 1,
      block_timestamp: now - 60_000,
      contract: USDT_CONTRACT,
      from: random.bytes(20),
      to: unpaid.address,
      value: 3n * USD,
      address_index: unpaid.index,
    }),
    answer: 'becomes a deposit that TRON does not know: never minted',
    found: undefined,
  },
  AddressesChecked: { left_out: 'the treasury does not read it; it can only delay a deposit' },
};

/** A run that closes the gate until the next one of the treasury. */
export const CLOSING_RUN: Forgery<ReserveReconciled> = {
  event: ({ random, newest_run }) => ({
    ...unchained(newest_run, random),
    onchain_supply: newest_run.onchain_supply + 1n,
    status: 'mismatch',
  }),
  answer: 'closes the gate until the next run of the treasury',
  found: 'I12',
};

/** A run that matches, of a block far ahead: no run that began before is newer. */
export const OPENING_RUN: Forgery<ReserveReconciled> = {
  event: ({ random, newest_run, now }) => ({
    ...unchained(newest_run, random),
    run_at: now,
    begun_at: now,
    block_height: newest_run.block_height + 1_000_000,
    uncovered: 0n,
    status: 'ok',
  }),
  answer: 'opens no gate',
  found: 'I12',
};

function unchained(run: ReserveReconciled, random: Random): ReserveReconciled {
  return {
    ...run,
    run_id: random.bytes(16).toString('hex'),
    sequence: -1,
    previous: Buffer.alloc(0),
  };
}

/**
 * A final block on top of the chain, in which the mint authority pays Mallory: minting halts. No
 * other record of `chain.blocks` comes near to minting. A block that is not final, or one taken
 * back, is put right by the ingester; one that does not link halts every reader.
 */
export function forgedBlock(
  { top }: Growing,
  {
    authority,
    sequence,
    random,
    now,
  }: Pick<Facts, 'sequence' | 'random' | 'now'> & {
    readonly authority: Buffer;
  },
): readonly [BlockAppended, BlocksFinalized] {
  const block = { height: top.height + 1, hash: random.bytes(32) };
  const amount = 1_000n * USD;
  return [
    {
      type: 'BlockAppended',
      sequence,
      ...block,
      parent_hash: top.hash,
      timestamp: now,
      producer: MALLORY,
      reward_recipient: MALLORY,
      block_reward: 0n,
      transactions: [
        {
          hash: random.bytes(32),
          index: 0,
          from: authority,
          to: MALLORY,
          nonce: 1_000_000,
          amount,
          function_call_type: 'Mint',
          arguments: {
            to: `0x${MALLORY.toString('hex')}`,
            amount: String(amount),
            reference: null,
          },
          referrer: null,
          request_referrer: null,
          offer_referrer: null,
          request_referrer_fee: 0n,
          offer_referrer_fee: 0n,
          raw: Buffer.alloc(1),
        },
      ],
      balance_effects: [
        { address: MALLORY, kind: 'mint', delta: amount, tx_index: 0, counterparty: null },
      ],
    },
    { type: 'BlocksFinalized', sequence: sequence + 1, ...block },
  ];
}
