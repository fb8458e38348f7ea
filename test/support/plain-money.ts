/**
 * The plain fold of money, the one oracle of tests: which transfers are deposits, and which
 * deposits, mints and sums a ledger has. It reads whole logs, naively and slowly, and shares no
 * code with the projections, except what the schemas define and test vectors hold: the id of a
 * deposit, the address of an index, the partition of an address, and signatures.
 */
import { depositIdOf } from '../../schemas/deposit-id.ts';
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { TransferEvent, TransferObserved } from '../../schemas/tron.transfers/events.ts';
import {
  isDepositEvent,
  type DepositConfirmed,
  type DepositEvent,
  type DepositHeld,
  type DepositsDecided,
  type TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { depositKey, USDT_CONTRACT } from './deposit-log.ts';
import { millis } from './plain-book.ts';
import type { Row } from './plain-fold-rows.ts';
import { isTheirs, PlainGovernance } from './plain-governance.ts';
import { PlainMints } from './plain-mints.ts';

/** The meaning of a ledger. */
export interface PlainMoney {
  /** the records that are at the offset that they were written for */
  readonly chained: readonly TreasuryEvent[];
  /** by the deposit's id, in the order of the ledger */
  readonly stories: ReadonlyMap<string, Story>;
  readonly mints: PlainMints;
  readonly governance: PlainGovernance;
  readonly sums: PlainSums;
}

/** In micro-USDT: at every offset `observed` is `minted + retained + held`. */
export interface PlainSums {
  /** all that arrived */
  readonly observed: bigint;
  /** the credits of deposits that are called credited */
  readonly minted: bigint;
  /** fees, as far as something arrived */
  readonly retained: bigint;
  /** the credits of all other deposits, those that were paid back among them */
  readonly held: bigint;
  readonly refunded: bigint;
}

/** A deposit that counts. */
export interface Story {
  readonly first: DepositConfirmed;
  status: string;
  reason: string | null;
  approved: boolean;
  rejected: boolean;
  refunded: bigint;
  /** the transaction that paid it back */
  refund: Buffer | null;
  mint: { readonly sequence: number; readonly nonce: number; readonly hash: Buffer } | null;
  /** where it stands among those to be minted, and since when */
  queued: { readonly offset: number; readonly at: number } | null;
  readonly events: Row[];
}

/**
 * By partition, the transfers that are to be deposits, in order and each once. The accounts have
 * their addresses in their own order.
 */
export function plainArrivals(
  partitions: readonly (readonly TransferEvent[])[],
): readonly (readonly TransferObserved[])[] {
  const key = depositKey();
  return partitions.map((log, partition) => {
    const valid = log.filter(
      (event): event is TransferObserved =>
        event.type === 'TransferObserved' &&
        event.value > 0n &&
        !event.from.equals(event.to) &&
        event.contract.equals(USDT_CONTRACT) &&
        key.addressAt(event.address_index).equals(event.to) &&
        transferPartition(event.to) === partition,
    );
    const ids = valid.map(({ tx_id, log_index }) => depositIdOf(tx_id, log_index));
    return valid.filter((_, at) => ids.indexOf(ids[at] ?? '') === at);
  });
}

/** `ledger`: everything that stands in the log, also records without effect. */
export function plainMoney(ledger: readonly TreasuryEvent[]): PlainMoney {
  const stories = new Map<string, Story>();
  const mints = new PlainMints();
  const governance = new PlainGovernance();
  const told = { stories, counts: new Map<string, number>(), mints, governance };
  const chained = ledger.filter(({ sequence }, offset) => sequence === offset);
  for (const event of chained) {
    if (!governance.admits(event)) continue;
    if (event.type === 'PolicySet') mints.set(event);
    if (isTheirs(event)) governance.take(event, mints.policies.at(-1)?.network);
    if (isDepositEvent(event)) tell(told, event, event.sequence);
    if (event.type === 'DepositsDecided') tellAll(told, event);
  }
  return { chained, stories, mints, governance, sums: sumsOf([...stories.values()]) };
}

function sumsOf(stories: readonly Story[]): PlainSums {
  const sums = { observed: 0n, minted: 0n, retained: 0n, held: 0n, refunded: 0n };
  for (const { first, status, refunded } of stories) {
    sums.observed += first.gross;
    sums.retained += first.fee < first.gross ? first.fee : first.gross;
    sums[status === 'credited' ? 'minted' : 'held'] += first.credit;
    sums.refunded += refunded;
  }
  return sums;
}

interface Told {
  readonly stories: Map<string, Story>;
  /** by account, how many deposits it has */
  readonly counts: Map<string, number>;
  readonly mints: PlainMints;
  readonly governance: PlainGovernance;
}

const BLANK: Row = {
  reason: null,
  actor: null,
  gross: null,
  fee: null,
  credit: null,
  nonce: null,
  tx_hash: null,
  block_height: null,
};

/** All of them wait for a person, once each, and the sums are theirs: or nothing happens. */
function tellAll(told: Told, { deposit_ids: ids, decision, ...event }: DepositsDecided): void {
  const theirs = ids.flatMap((id) => told.stories.get(id) ?? []);
  const [gross, credit] = [
    theirs.reduce((sum, { first }) => sum + first.gross, 0n),
    theirs.reduce((sum, { first }) => sum + first.credit, 0n),
  ];
  const approves = decision === 'approve';
  if (!approves && decision !== 'reject') return;
  if (theirs.length === 0 || theirs.length > 1_000 || new Set(theirs).size < ids.length) return;
  if (gross !== event.gross || credit !== event.credit) return;
  if (theirs.some(({ status, rejected }) => status !== 'needs_manual' || rejected)) return;
  if (approves && theirs.some(({ first }) => first.credit === 0n)) return;
  const type = approves ? 'DepositApproved' : 'DepositRejected';
  for (const deposit_id of ids) tell(told, { ...event, type, deposit_id }, event.sequence);
}

/** The rules of a deposit's life, one after the other. */
function tell(told: Told, event: DepositEvent, offset: number): void {
  const { stories, mints, governance } = told;
  const story = stories.get(event.deposit_id);
  const place = {
    deposit_id: event.deposit_id,
    event: event.type,
    topic: 'treasury.ledger',
    partition: 0,
    log_offset: offset,
    at: millis(event.decided_at),
  };
  const note = (what: Row): void => void story?.events.push({ ...BLANK, ...place, ...what });
  if (story === undefined) {
    if (event.type !== 'DepositConfirmed') return;
    const account = event.clt_address.toString('hex');
    const before = told.counts.get(account) ?? 0;
    if (!isOnItsTerms(event, before, mints)) return;
    stories.set(event.deposit_id, begin(event, { ...BLANK, ...place }, mints));
    told.counts.set(account, before + 1);
    return;
  }
  const { first, status, mint } = story;
  if (event.type === 'DepositHeld') {
    const fits =
      event.reason === 'mint_failed'
        ? status === 'mint_requested'
        : status === 'confirmed' && (!story.approved || event.reason === 'unproven');
    if (!fits || !isRightHold(event, first, mints)) return;
    if (mint !== null) mints.giveUp(mint.sequence);
    Object.assign(story, {
      status: 'needs_manual',
      reason: event.reason,
      approved: false,
      mint: null,
      queued: null,
    });
    note({ reason: event.reason });
  } else if (event.type === 'DepositRejected' && mint !== null && status === 'mint_requested') {
    mints.release(mint.sequence);
    Object.assign(story, {
      status: 'needs_manual',
      reason: 'mint_failed',
      approved: false,
      rejected: true,
      mint: null,
      queued: null,
    });
    note({ reason: event.reason, actor: event.actor.replace('\0', '\uFFFD') });
  } else if (event.type === 'DepositApproved' || event.type === 'DepositRejected') {
    const approves = event.type === 'DepositApproved';
    if (status !== 'needs_manual' || story.rejected || (approves && first.credit === 0n)) return;
    Object.assign(
      story,
      approves
        ? {
            status: 'confirmed',
            reason: null,
            approved: true,
            queued: { offset, at: event.decided_at },
          }
        : { rejected: true },
    );
    note({ reason: event.reason, actor: event.actor.replace('\0', '\uFFFD') });
  } else if (event.type === 'MintIntended') {
    if (
      governance.isStopped ||
      status !== 'confirmed' ||
      event.amount !== first.credit ||
      first.credit === 0n ||
      !event.to.equals(first.clt_address)
    )
      return;
    if (
      !mints.take(event, {
        credit: first.credit,
        version: first.policy_version,
        approved: story.approved,
      })
    )
      return;
    Object.assign(story, {
      status: 'mint_requested',
      mint: { sequence: offset, nonce: event.nonce, hash: event.tx_hash },
    });
    note({ fee: event.fee, credit: event.amount, nonce: event.nonce, tx_hash: event.tx_hash });
  } else if (event.type === 'MintCredited' || event.type === 'MintDead') {
    if (status !== 'mint_requested' || mint?.hash.equals(event.tx_hash) !== true) return;
    if (event.type === 'MintCredited') {
      mints.end(mint.sequence);
      Object.assign(story, { status: 'credited', approved: false, queued: null });
      note({ tx_hash: event.tx_hash, block_height: event.block_height });
    } else {
      mints.giveUp(mint.sequence);
      Object.assign(story, { status: 'confirmed', mint: null });
      note({ nonce: event.nonce, tx_hash: event.tx_hash, block_height: event.block_height });
    }
  } else if (event.type === 'MintVoided') {
    if (mint?.hash.equals(event.tx_hash) !== true) return;
    const queued = story.queued ?? { offset, at: event.decided_at };
    mints.void(mint.sequence);
    Object.assign(story, {
      status: 'confirmed',
      mint: null,
      // a credit has lost its approval and its place
      queued: story.approved || isInside(first, mints) ? queued : null,
    });
    note({
      reason: event.reason,
      actor: event.actor,
      nonce: event.nonce,
      tx_hash: event.tx_hash,
    });
  } else if (event.type === 'RefundRecorded') {
    const { amount, tron_tx_id: refund } = event;
    const isUsed = [...stories.values()].some((other) => other.refund?.equals(refund) === true);
    if (status !== 'needs_manual' || !story.rejected || story.refund !== null || isUsed) return;
    if (amount <= 0n || amount > first.gross) return;
    Object.assign(story, { refunded: amount, refund });
    note({ reason: event.reason, actor: event.actor, gross: amount, tx_hash: refund });
  }
}

function begin(event: DepositConfirmed, blank: Row, mints: PlainMints): Story {
  const {
    gross,
    fee,
    credit,
    tx_id,
    block_number,
    transfer_partition,
    transfer_offset,
    block_timestamp,
  } = event;
  const transfer = { gross, tx_hash: tx_id, block_height: block_number, topic: 'tron.transfers' };
  const place = {
    partition: transfer_partition,
    log_offset: transfer_offset,
    at: millis(block_timestamp),
  };
  const events = [
    { ...blank, event: 'TransferObserved', ...transfer, ...place },
    { ...blank, gross, fee, credit },
  ];
  return {
    first: event,
    status: 'confirmed',
    reason: null,
    approved: false,
    rejected: false,
    refunded: 0n,
    refund: null,
    mint: null,
    queued: isInside(event, mints) ? { offset: event.sequence, at: event.decided_at } : null,
    events,
  };
}

/** Whether a deposit is confirmed as the policy in force says. `before`: those of its account. */
function isOnItsTerms(
  { deposit_id, tx_id, log_index, ...terms }: DepositConfirmed,
  before: number,
  { policies }: Pick<PlainMints, 'policies'>,
): boolean {
  const policy = policies.at(-1);
  const fee = before === 0 ? policy?.first_fee : policy?.later_fee;
  return (
    deposit_id === depositIdOf(tx_id, log_index) &&
    terms.policy_version === policy?.version &&
    terms.address_ordinal === before &&
    terms.fee === fee &&
    terms.gross > 0n &&
    terms.credit === (terms.gross > terms.fee ? terms.gross - terms.fee : 0n)
  );
}

/** Whether a hold that names a limit names the one that the credit is outside of. */
function isRightHold(
  { reason }: DepositHeld,
  { credit, policy_version: version }: DepositConfirmed,
  { policies }: Pick<PlainMints, 'policies'>,
): boolean {
  const limits = policies.find((policy) => policy.version === version);
  if (reason === 'below_minimum')
    return limits !== undefined && (credit === 0n || credit < limits.minimum);
  if (reason !== 'over_single_cap') return true;
  return limits !== undefined && credit !== 0n && credit > limits.single_cap;
}

/** Whether a credit is minted without a person. */
function isInside(
  { credit, policy_version: version }: DepositConfirmed,
  { policies }: Pick<PlainMints, 'policies'>,
): boolean {
  const limits = policies.find((policy) => policy.version === version);
  return (
    limits !== undefined && credit > 0n && credit >= limits.minimum && credit <= limits.single_cap
  );
}
