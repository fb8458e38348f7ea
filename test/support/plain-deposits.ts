/**
 * The expected tables of `deposits` and `watch`, computed naively from whole logs. It shares no
 * code with the projections, except what the schemas define and test vectors hold: the address of
 * an index, and the partition of an address.
 */
import { transferPartition } from '../../schemas/tron-partition.ts';
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import type { TransferEvent } from '../../schemas/tron.transfers/events.ts';
import {
  isDepositEvent,
  type DepositConfirmed,
  type DepositEvent,
  type DepositsDecided,
  type TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import { bookRows, isPlaced, millis, requestsOf } from './plain-book.ts';
import { plainHead } from './plain-chain.ts';
import { isTheirs, PlainGovernance } from './plain-governance.ts';
import { PlainMints } from './plain-mints.ts';
import { isInside, isOnItsTerms, isRightHold } from './plain-terms.ts';
import { texts, type TableTexts } from './plain-fold.ts';
import type { Row } from './plain-fold-rows.ts';

const DAY_MS = 86_400_000;

interface Told {
  readonly stories: Map<string, Story>;
  /** by account, how many deposits it has */
  readonly counts: Map<string, number>;
  readonly mints: PlainMints;
  readonly governance: PlainGovernance;
}

interface Story {
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

/** Every row of the tables of `deposits`. */
export function plainDeposits(
  addresses: readonly DepositAddressEvent[],
  ledger: readonly TreasuryEvent[],
): TableTexts {
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
  const sequence = chained.at(-1)?.sequence;
  const all = [...stories.values()];
  const owners = Map.groupBy(all, ({ first }) => first.clt_address.toString('hex'));
  return {
    book: texts(bookRows(addresses)),
    addresses: texts(
      requestsOf(addresses).map(({ account, address, requested_at }, index) => ({
        clt_address: account,
        derivation_index: index,
        deposit_address: address,
        requested_at: millis(requested_at),
      })),
    ),
    ledger: texts(
      sequence === undefined
        ? []
        : [
            {
              one: true,
              sequence,
              head: plainHead(chained),
              deposits: all.length,
              ...mints.head,
              ...governance.row,
            },
          ],
    ),
    policies: texts(mints.policyRows),
    mints: texts(mints.mintRows),
    refunds: texts(
      all.flatMap(({ first, refund }) =>
        refund === null ? [] : [{ tron_tx_id: refund, deposit_id: first.deposit_id }],
      ),
    ),
    owners: texts(
      [...owners].map(([owner, theirs]) => ({ clt_address: owner, deposits: theirs.length })),
    ),
    deposits: texts(
      all.map(({ first }, seq) =>
        depositRow(first, seq, owners.get(first.clt_address.toString('hex')) ?? []),
      ),
    ),
    standings: texts(all.map((story) => standingRow(story, mints))),
    by_status: texts(
      all.map(({ first, status, rejected }, seq) => ({
        status: rejected ? 'rejected' : status,
        seq,
        id: first.deposit_id,
      })),
    ),
    deposit_events: texts(
      all.flatMap(({ events }) => events.map((row, ordinal) => ({ ...row, ordinal }))),
    ),
  };
}

function depositRow(first: DepositConfirmed, seq: number, theirs: readonly Story[]): Row {
  const {
    deposit_id: id,
    clt_address,
    deposit_address,
    tx_id,
    log_index,
    gross,
    fee,
    credit,
  } = first;
  const ordinal = theirs.findIndex((story) => story.first === first);
  const { policy_version, address_ordinal, block_number } = first;
  const fixed = {
    clt_address,
    deposit_address,
    tx_id,
    log_index,
    gross,
    fee,
    credit,
    policy_version,
    address_ordinal,
    block_number,
  };
  return { id, seq, ordinal, ...fixed, created_at: millis(first.block_timestamp) };
}

function standingRow(
  { first, status, reason, approved, rejected, refunded, mint, events, queued }: Story,
  mints: PlainMints,
): Row {
  const cap = mints.policies.at(-1)?.rolling_cap ?? -1n;
  return {
    id: first.deposit_id,
    status,
    reason,
    approved,
    rejected,
    approved_by: null,
    refunded,
    sequence: mint?.sequence ?? null,
    nonce: mint?.nonce ?? null,
    tx_hash: mint?.hash ?? null,
    events: events.length,
    queue_offset: queued?.offset ?? null,
    queued_at: queued?.at ?? null,
    goes_first_at: queued === null || first.credit > cap ? null : queued.at + DAY_MS,
  };
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

function levelOf(pause: number): number {
  const seconds = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536];
  return seconds.filter((limit) => pause >= 1_000 * limit).length;
}

/** Every row of the tables of `watch`, given by partition what stands in `tron.transfers`. */
export function plainWatch(
  addresses: readonly DepositAddressEvent[],
  transfers: readonly (readonly TransferEvent[])[],
): TableTexts {
  const requests = requestsOf(addresses).map((request, index) => Object.assign(request, { index }));
  const own = transfers.flatMap((log, partition) =>
    log.map((event, offset) => ({ event, partition, offset })),
  );
  const checks = own.flatMap(({ event, partition }) =>
    event.type !== 'AddressesChecked'
      ? []
      : event.checked
          .filter(({ address }) => transferPartition(address) === partition)
          .map(({ address, until }) => ({ address, until, at: event.checked_at })),
  );
  const seen = own.flatMap(({ event, partition, offset }) =>
    event.type === 'TransferObserved' && transferPartition(event.to) === partition
      ? [{ event, partition, offset }]
      : [],
  );
  const unique = new Map(
    seen
      .toReversed()
      .map((each) => [`${each.event.tx_id.toString('hex')}:${each.event.log_index}`, each]),
  );
  const paid = new Map(
    seen.flatMap(({ event: { to, value } }) => (value > 0n ? [[to.toString('hex'), to]] : [])),
  );
  const queued = new Map([
    ...[...requests, ...checks].map(({ address }) => [address.toString('hex'), address] as const),
    ...paid,
  ]);
  return {
    book: texts(bookRows(addresses)),
    addresses: texts(
      requests.map(({ account, address, index, requested_at }) => ({
        clt_address: account,
        derivation_index: index,
        deposit_address: address,
        partition: transferPartition(address),
        requested_at: millis(requested_at),
      })),
    ),
    queue: texts(
      [...queued.values()].map((address) => {
        const request = requests.find((each) => each.address.equals(address));
        const looks = addresses.flatMap((event, at) => {
          if (
            request === undefined ||
            at < request.at ||
            !isPlaced(event, at) ||
            event.type === 'SchemePinned' ||
            !event.clt_address.equals(request.account)
          )
            return [];
          if (event.type === 'PanelOpened') return [event.opened_at];
          return at === request.at ? [event.requested_at] : [];
        });
        const theirs = checks.filter((check) => check.address.equals(address));
        const hot_until = looks.length === 0 ? 0 : Math.max(...looks) + DAY_MS;
        const checked_at = Math.max(0, ...theirs.map(({ at }) => at));
        const opened = hot_until - DAY_MS;
        const sixteenths = paid.has(address.toString('hex')) ? 1 : 4 * looks.length;
        const pause = Math.min(DAY_MS, Math.floor(((checked_at - opened) * sixteenths) / 16));
        return {
          deposit_address: address,
          partition: transferPartition(address),
          requested: request !== undefined,
          hot: hot_until > checked_at,
          paid: paid.has(address.toString('hex')),
          openings: looks.length,
          hot_until,
          checked_at,
          checked_until: Math.max(0, ...theirs.map(({ until }) => until)),
          turn_at: Math.max(checked_at, opened),
          due_at: checked_at <= opened ? opened : checked_at + pause,
          pause_level: checked_at <= opened ? 0 : levelOf(pause),
        };
      }),
    ),
    transfers: texts(
      [...unique.values()].map(({ event, partition, offset }) => ({
        tx_id: event.tx_id,
        log_index: event.log_index,
        deposit_address: event.to,
        value: event.value,
        block_number: event.block_number,
        block_timestamp: millis(event.block_timestamp),
        partition,
        log_offset: offset,
      })),
    ),
  };
}
