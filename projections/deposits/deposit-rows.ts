/** The rows of one deposit: its fixed terms, its state, and its timeline. */
import type { DepositConfirmed, DepositEvent } from '../../schemas/treasury.ledger/events.ts';
import { amountIn, bytesIn, countIn, textIn } from '../contract/loaded-row.ts';
import type { LoadedRow, Row, Value } from '../contract/projection.ts';
import type { Deposit, Mint } from './domain/deposit.ts';
import type { QueuePosition } from './domain/mint-queue.ts';

/** Columns of `deposits d` and `standings s` that `storedDeposit` reads. */
export const STORED_COLUMNS = `d.id, d.seq, d.clt_address, d.gross, d.fee, d.credit, d.policy_version,
                    s.status, s.reason, s.approved, s.rejected, s.nonce, s.tx_hash, s.events,
                    s.queue_offset, s.queued_at, s.goes_first_at`;

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
  return [
    event.deposit_id,
    seq,
    event.clt_address,
    ordinal,
    event.deposit_address,
    event.tx_id,
    event.log_index,
    event.gross,
    event.fee,
    event.credit,
    event.policy_version,
    event.address_ordinal,
    event.block_number,
    event.block_timestamp,
  ];
}

export function standingRow(id: string, stored: StoredDeposit): Row {
  const { deposit, events, position, goes_first_at: goesFirst } = stored;
  const mint = 'mint' in deposit ? deposit.mint : undefined;
  return [
    id,
    deposit.status,
    'reason' in deposit ? deposit.reason : null,
    'approved' in deposit && deposit.approved,
    'rejected' in deposit && deposit.rejected,
    mint?.nonce ?? null,
    mint?.tx_hash ?? null,
    events,
    position?.offset ?? null,
    position?.since ?? null,
    goesFirst ?? null,
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
      return { status, terms, reason: textIn(row, 'reason'), rejected: row['rejected'] === true };
    case 'mint_requested':
      return { status, terms, approved, mint: mintOf(row) };
    case 'credited':
      return { status, terms, mint: mintOf(row) };
    default:
      throw new Error(`a loaded deposit has the unknown status ${status}`);
  }
}

function mintOf(row: LoadedRow): Mint {
  return { nonce: countIn(row, 'nonce'), tx_hash: bytesIn(row, 'tx_hash') };
}

interface Details {
  readonly reason?: string;
  readonly actor?: string;
  readonly gross?: bigint;
  readonly fee?: bigint;
  readonly credit?: bigint;
  readonly nonce?: number;
  readonly tx_hash?: Buffer;
  readonly block_height?: number;
}

/** The deposit's transfer in the timeline, with its position in `tron.transfers`. */
export function transferRow(event: DepositConfirmed, ordinal: number): Row {
  const details = { gross: event.gross, tx_hash: event.tx_id, block_height: event.block_number };
  return timelineCells(event.deposit_id, ordinal, 'TransferObserved', details, [
    'tron.transfers',
    event.transfer_partition,
    event.transfer_offset,
    event.block_timestamp,
  ]);
}

/** An event in the timeline, with its position in `treasury.ledger`. */
export function timelineRow(
  event: DepositEvent,
  ordinal: number,
  { partition, offset }: { readonly partition: number; readonly offset: bigint },
): Row {
  return timelineCells(event.deposit_id, ordinal, event.type, detailsOf(event), [
    'treasury.ledger',
    partition,
    offset,
    event.decided_at,
  ]);
}

function detailsOf(event: DepositEvent): Details {
  switch (event.type) {
    case 'DepositConfirmed':
      return { gross: event.gross, fee: event.fee, credit: event.credit };
    case 'DepositHeld':
      return { reason: event.reason };
    case 'DepositApproved':
    case 'DepositRejected':
      return { reason: event.reason, actor: event.actor };
    case 'MintIntended':
      return { fee: event.fee, credit: event.amount, nonce: event.nonce, tx_hash: event.tx_hash };
    case 'MintCredited':
      return { tx_hash: event.tx_hash, block_height: event.block_height };
    case 'MintDead':
      return { nonce: event.nonce, tx_hash: event.tx_hash, block_height: event.block_height };
  }
}

/** In the order of the table's columns; `source`: topic, partition, offset and time. */
function timelineCells(
  id: string,
  ordinal: number,
  event: string,
  details: Details,
  source: readonly Value[],
): Row {
  return [
    id,
    ordinal,
    event,
    storable(details.reason),
    storable(details.actor),
    details.gross ?? null,
    details.fee ?? null,
    details.credit ?? null,
    details.nonce ?? null,
    details.tx_hash ?? null,
    details.block_height ?? null,
    ...source,
  ];
}

/** A person's text without U+0000, which Postgres cannot store. */
function storable(text: string | undefined): string | null {
  return text?.replaceAll('\0', '\uFFFD') ?? null;
}
