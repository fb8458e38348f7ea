/** Events of deposits for tests: single ones by hand. `deposit-log.ts` makes whole seeded logs. */
import type { Ledger } from '../../projections/deposits/domain/ledger.ts';
import { depositIdOf } from '../../schemas/deposit-id.ts';
import type {
  DepositApproved,
  DepositConfirmed,
  DepositHeld,
  DepositRejected,
  DepositsDecided,
  MintCredited,
  MintDead,
  MintIntended,
  MintVoided,
  RefundRecorded,
} from '../../schemas/treasury.ledger/events.ts';

/** A time of no meaning. */
const NOW = 1_790_000_000_000;

/** A first deposit of 10 USDT on the testnet by default; its id is that of its transfer. */
export function confirmedEvent(change: Partial<DepositConfirmed> = {}): DepositConfirmed {
  const tx_id = change.tx_id ?? Buffer.alloc(32, 0xcc);
  const log_index = change.log_index ?? 0;
  return {
    type: 'DepositConfirmed',
    sequence: 0,
    deposit_id: depositIdOf(tx_id, log_index),
    tx_id,
    log_index,
    deposit_address: Buffer.alloc(20, 0xda),
    clt_address: Buffer.alloc(20, 0xc1),
    gross: 10_000_000n,
    fee: 2_000_000n,
    credit: 8_000_000n,
    policy_version: 1,
    address_ordinal: 0,
    block_number: 70_000_000,
    block_timestamp: NOW - 60_000,
    transfer_partition: 0,
    transfer_offset: 0,
    decided_at: NOW,
    ...change,
  };
}

interface DepositEvents {
  readonly held: (reason: string) => DepositHeld;
  readonly approved: (actor?: string) => DepositApproved;
  readonly rejected: (actor?: string) => DepositRejected;
  readonly intended: (
    what: Pick<MintIntended, 'to' | 'amount' | 'nonce' | 'tx_hash'>,
  ) => MintIntended;
  readonly credited: (hash: Buffer) => MintCredited;
  readonly dead: (hash: Buffer, nonce: number) => MintDead;
  readonly voided: (hash: Buffer, nonce: number) => MintVoided;
  readonly refunded: (amount: bigint) => RefundRecorded;
}

/**
 * All events that a deposit of this id may have, written for offset 0: `placed` gives them their
 * offsets.
 */
export function depositEvents(id: string): DepositEvents {
  const of = { sequence: 0, deposit_id: id, decided_at: NOW };
  return {
    held: (reason) => ({ type: 'DepositHeld', ...of, reason }),
    approved: (actor = 'alice') => ({
      type: 'DepositApproved',
      ...of,
      actor,
      reason: 'known to us',
    }),
    rejected: (actor = 'alice') => ({ type: 'DepositRejected', ...of, actor, reason: 'not ours' }),
    intended: (what) => ({
      type: 'MintIntended',
      ...of,
      ...what,
      fee: 2_000_000n,
      policy_version: 1,
    }),
    credited: (hash) => ({
      type: 'MintCredited',
      ...of,
      tx_hash: hash,
      block_height: 100,
      block_hash: Buffer.alloc(32, 0xb1),
    }),
    dead: (hash, nonce) => ({
      type: 'MintDead',
      ...of,
      tx_hash: hash,
      nonce,
      other_tx_hash: Buffer.alloc(32, 0xdd),
      block_height: 100,
    }),
    voided: (hash, nonce) => ({
      type: 'MintVoided',
      ...of,
      tx_hash: hash,
      nonce,
      actor: 'treasury',
      reason: 'another transaction has its nonce',
    }),
    refunded: (amount) => ({
      type: 'RefundRecorded',
      ...of,
      tron_tx_id: Buffer.alloc(32, 0xee),
      amount,
      actor: 'alice',
      reason: 'not ours',
    }),
  };
}

/** A decision of these deposits together, with the sums of a ledger that has them. */
export function decidedEvent(
  decision: 'approve' | 'reject',
  ledger: Ledger,
  deposit_ids: readonly string[],
): DepositsDecided {
  const terms = deposit_ids.flatMap((id) => {
    const deposit = ledger.deposit(id);
    return 'terms' in deposit ? [deposit.terms] : [];
  });
  return {
    type: 'DepositsDecided',
    sequence: 0,
    decided_at: NOW,
    actor: 'alice',
    reason: 'dust',
    decision,
    deposit_ids,
    gross: terms.reduce((sum, { gross }) => sum + gross, 0n),
    credit: terms.reduce((sum, { credit }) => sum + credit, 0n),
  };
}

/** The events as they would be written from offset `from` on, each for its place. */
export function placed<Event extends { readonly sequence: number }>(
  events: readonly Event[],
  from = 0,
): readonly Event[] {
  return events.map((event, at) => ({ ...event, sequence: from + at }));
}
