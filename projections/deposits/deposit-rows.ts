/** The rows of one deposit: its fixed terms, its state, and its timeline. */
import { bytesKey, keyBytes } from '../../schemas/address.ts';
import type { DepositConfirmed, DepositEvent } from '../../schemas/treasury.ledger/events.ts';
import { amountIn, bytesIn, countIn, rowOf, textIn } from '../contract/loaded-row.ts';
import type { LoadedRow, Row, Value } from '../contract/projection.ts';
import type { Deposit, Mint } from './domain/deposit.ts';
import type { QueuePosition } from './domain/mint-queue.ts';
import { DEPOSITS, DEPOSIT_EVENTS } from './rows.ts';

/** Columns of `deposits d` and `standings s` that `storedDeposit` reads. */
export const STORED_COLUMNS = `d.id, d.seq, d.clt_address, d.gross, d.fee, d.credit, d.policy_version,
                    s.status, s.reason, s.approved, s.rejected, s.approved_by, s.refunded, s.sequence,
                    s.nonce, s.tx_hash, s.events, s.queue_offset, s.queued_at, s.goes_first_at`;

/** A deposit while a batch is folded. */
export interface StoredDeposit {
  readonly seq: number;
  readonly deposit: Deposit;
  /** number of its timeline events */
  readonly events: number;
  /** undefined: minting is not its next step */
  readonly position: QueuePosition | undefined;
  readonly goes_first_at: number | undefined;
}

export function depositRow(event: DepositConfirmed, seq: number, ordinal: number): Row {
  const { deposit_id: depositId, block_timestamp: blockTimestamp } = event;
  return rowOf(DEPOSITS, { ...event, id: depositId, seq, ordinal, created_at: blockTimestamp });
}

export function standingRow(id: string, stored: StoredDeposit): Row {
  const { deposit, events, position, goes_first_at: goesFirstAt } = stored;
  const mint = 'mint' in deposit ? deposit.mint : undefined;
  const approvedBy = 'approved_by' in deposit ? deposit.approved_by : [];
  return [
    id,
    deposit.status,
    'reason' in deposit ? deposit.reason : null,
    'approved' in deposit && deposit.approved,
    'rejected' in deposit && deposit.rejected,
    approvedBy.length === 0 ? null : Buffer.concat(approvedBy.map(keyBytes)),
    'refunded' in deposit ? deposit.refunded : 0n,
    mint?.sequence ?? null,
    mint?.nonce ?? null,
    mint?.tx_hash ?? null,
    events,
    position?.offset ?? null,
    position?.since ?? null,
    goesFirstAt ?? null,
  ];
}

export function storedDeposit(row: LoadedRow): StoredDeposit {
  return {
    seq: countIn(row, 'seq'),
    deposit: stateOf(row),
    events: countIn(row, 'events'),
    position:
      row['queue_offset'] === null
        ? undefined
        : { offset: countIn(row, 'queue_offset'), since: countIn(row, 'queued_at') },
    goes_first_at: row['goes_first_at'] === null ? undefined : countIn(row, 'goes_first_at'),
  };
}

function stateOf(row: LoadedRow): Deposit {
  const terms = {
    clt_address: bytesIn(row, 'clt_address'),
    gross: amountIn(row, 'gross'),
    fee: amountIn(row, 'fee'),
    credit: amountIn(row, 'credit'),
    policy_version: countIn(row, 'policy_version'),
  };
  const approved = row['approved'] === true;
  const status = textIn(row, 'status');
  switch (status) {
    case 'confirmed':
      return { status, terms, approved };
    case 'needs_manual':
      return {
        status,
        terms,
        reason: textIn(row, 'reason'),
        rejected: row['rejected'] === true,
        approved_by:
          row['approved_by'] === null ? [] : addressesIn(bytesIn(row, 'approved_by')).map(bytesKey),
        refunded: amountIn(row, 'refunded'),
      };
    case 'mint_requested':
      return { status, terms, approved, mint: mintOf(row) };
    case 'credited':
      return { status, terms, mint: mintOf(row) };
    default:
      throw new Error(`a loaded deposit has the unknown status ${status}`);
  }
}

function mintOf(row: LoadedRow): Mint {
  return {
    sequence: countIn(row, 'sequence'),
    nonce: countIn(row, 'nonce'),
    tx_hash: bytesIn(row, 'tx_hash'),
  };
}

const ADDRESS_BYTES = 20;

/** Addresses that are stored one behind the other. */
export function addressesIn(addresses: Buffer): Buffer[] {
  return Array.from({ length: addresses.length / ADDRESS_BYTES }, (_, at) =>
    addresses.subarray(at * ADDRESS_BYTES, (at + 1) * ADDRESS_BYTES),
  );
}

/** The columns of the timeline that depend on the event. */
const NO_DETAILS = {
  reason: null,
  actor: null,
  gross: null,
  fee: null,
  credit: null,
  nonce: null,
  tx_hash: null,
  block_height: null,
};

/** The deposit's transfer in the timeline, with its position in `tron.transfers`. */
export function transferRow(event: DepositConfirmed, ordinal: number): Row {
  return rowOf(DEPOSIT_EVENTS, {
    ...NO_DETAILS,
    deposit_id: event.deposit_id,
    ordinal,
    event: 'TransferObserved',
    gross: event.gross,
    tx_hash: event.tx_id,
    block_height: event.block_number,
    topic: 'tron.transfers',
    partition: event.transfer_partition,
    log_offset: event.transfer_offset,
    at: event.block_timestamp,
  });
}

/** An event in the timeline, with its position in `treasury.ledger`. */
export function timelineRow(
  event: DepositEvent,
  ordinal: number,
  { partition, offset }: { readonly partition: number; readonly offset: bigint },
): Row {
  return rowOf(DEPOSIT_EVENTS, {
    ...NO_DETAILS,
    ...detailsOf(event),
    deposit_id: event.deposit_id,
    ordinal,
    event: event.type,
    topic: 'treasury.ledger',
    partition,
    log_offset: offset,
    at: event.decided_at,
  });
}

function detailsOf(event: DepositEvent): Partial<Record<keyof typeof NO_DETAILS, Value>> {
  switch (event.type) {
    case 'DepositConfirmed':
      return { gross: event.gross, fee: event.fee, credit: event.credit };
    case 'DepositHeld':
      return { reason: storable(event.reason) };
    case 'DepositApproved':
    case 'DepositRejected':
      return { reason: storable(event.reason), actor: storable(event.actor) };
    case 'MintIntended':
      return { fee: event.fee, credit: event.amount, nonce: event.nonce, tx_hash: event.tx_hash };
    case 'MintCredited':
      return { tx_hash: event.tx_hash, block_height: event.block_height };
    case 'MintDead':
      return { nonce: event.nonce, tx_hash: event.tx_hash, block_height: event.block_height };
    case 'MintVoided':
      return {
        reason: storable(event.reason),
        actor: storable(event.actor),
        nonce: event.nonce,
        tx_hash: event.tx_hash,
      };
    case 'RefundRecorded':
      return {
        reason: storable(event.reason),
        actor: storable(event.actor),
        gross: event.amount,
        tx_hash: event.tron_tx_id,
      };
  }
}

/** A person's text without U+0000, which Postgres cannot store. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}
