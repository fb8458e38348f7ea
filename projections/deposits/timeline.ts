/** The story of a deposit, as rows of `deposit_events`: each event with its place in the log, so that whoever doubts it can look it up. */
import type { DepositConfirmed, DepositEvent } from '../../schemas/treasury.ledger/events.ts';
import type { Row, Value } from '../contract/projection.ts';

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

/** The transfer that the deposit is, where it stands in `tron.transfers`. */
export function transferRow(event: DepositConfirmed, ordinal: number): Row {
  const details = { gross: event.gross, tx_hash: event.tx_id, block_height: event.block_number };
  const place: readonly Value[] = [
    'tron.transfers',
    event.transfer_partition,
    event.transfer_offset,
    event.block_timestamp,
  ];
  return [event.deposit_id, ordinal, 'TransferObserved', ...cells(details), ...place];
}

export function timelineRow(
  event: DepositEvent,
  ordinal: number,
  at: { readonly partition: number; readonly offset: bigint },
): Row {
  const place: readonly Value[] = ['treasury.ledger', at.partition, at.offset, event.decided_at];
  return [event.deposit_id, ordinal, event.type, ...cells(detailsOf(event)), ...place];
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

/** In the order of the table's columns. */
function cells(details: Details): readonly Value[] {
  const { reason, actor, gross, fee, credit, nonce, tx_hash: hash, block_height: height } = details;
  return [
    written(reason),
    written(actor),
    gross ?? null,
    fee ?? null,
    credit ?? null,
    nonce ?? null,
    hash ?? null,
    height ?? null,
  ];
}

/** What a person wrote, as Postgres can hold it: any text without U+0000. */
function written(text: string | undefined): string | null {
  return text?.replaceAll('\0', '\uFFFD') ?? null;
}
