/** A deposit's state as a row of `standings`, and back again. */
import { amountIn, bytesIn, countIn, textIn } from '../contract/loaded-row.ts';
import type { LoadedRow, Row } from '../contract/projection.ts';
import type { Deposit, Mint, Terms } from './domain/deposit.ts';

/** Of `deposits d` and `standings s`: all that the state needs. */
export const STORED_COLUMNS = `d.id, d.seq, d.clt_address, d.gross, d.fee, d.credit, d.policy_version,
                    s.status, s.reason, s.approved, s.rejected, s.nonce, s.tx_hash, s.events`;

export function standingRow(id: string, deposit: Deposit, events: number): Row {
  switch (deposit.status) {
    case 'absent':
      throw new Error(`deposit ${id} is absent and has ${events} events`);
    case 'confirmed':
      return [id, deposit.status, null, deposit.approved, false, null, null, events];
    case 'needs_manual':
      return [id, deposit.status, deposit.reason, false, deposit.rejected, null, null, events];
    case 'mint_requested':
      return [
        id,
        deposit.status,
        null,
        deposit.approved,
        false,
        deposit.mint.nonce,
        deposit.mint.tx_hash,
        events,
      ];
    case 'credited':
      return [
        id,
        deposit.status,
        null,
        false,
        false,
        deposit.mint.nonce,
        deposit.mint.tx_hash,
        events,
      ];
  }
}

interface Stored {
  readonly id: string;
  readonly seq: number;
  readonly events: number;
  readonly deposit: Deposit;
}

export function depositOf(row: LoadedRow): Stored {
  return {
    id: textIn(row, 'id'),
    seq: countIn(row, 'seq'),
    events: countIn(row, 'events'),
    deposit: stateOf(row),
  };
}

function stateOf(row: LoadedRow): Deposit {
  const terms = termsOf(row);
  const status = textIn(row, 'status');
  switch (status) {
    case 'confirmed':
      return { status, terms, approved: row['approved'] === true };
    case 'needs_manual':
      return { status, terms, reason: textIn(row, 'reason'), rejected: row['rejected'] === true };
    case 'mint_requested':
      return { status, terms, approved: row['approved'] === true, mint: mintOf(row) };
    case 'credited':
      return { status, terms, mint: mintOf(row) };
    default:
      throw new Error(`a loaded deposit has the status ${status}, which there is not`);
  }
}

function termsOf(row: LoadedRow): Terms {
  return {
    clt_address: bytesIn(row, 'clt_address'),
    gross: amountIn(row, 'gross'),
    fee: amountIn(row, 'fee'),
    credit: amountIn(row, 'credit'),
    policy_version: countIn(row, 'policy_version'),
  };
}

function mintOf(row: LoadedRow): Mint {
  return { nonce: countIn(row, 'nonce'), tx_hash: bytesIn(row, 'tx_hash') };
}
