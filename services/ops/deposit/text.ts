/** Deposits as the operator sees them: rows of the read model as JSON, and as text for people. Amounts are micro-USDT in JSON, USDT in text. */
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { byteaBytes, byteaDigits, byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';

export interface ListedDeposit {
  readonly id: string;
  readonly clt_address: string;
  readonly amount_usdt: string;
  readonly fee_usdt: string;
  readonly credit_usdt: string;
  readonly status: string;
  readonly reason: string | null;
  readonly approved: boolean;
  readonly rejected: boolean;
  readonly created_at: string;
}

export interface ShownDeposit extends ListedDeposit {
  readonly deposit_address: string;
  readonly tron_tx_id: string;
  readonly log_index: number;
  readonly mint_nonce: string | null;
  readonly mint_tx_hash: string | null;
  readonly events: readonly ShownEvent[];
}

export interface ShownEvent {
  readonly event: string;
  readonly at: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  /** what there is of reason, actor, gross, fee, credit, nonce, tx_hash, block_height */
  readonly details: Readonly<Record<string, string>>;
}

/** Of `byStatus`. */
export function listed([
  id,
  clt,
  gross,
  fee,
  credit,
  status,
  reason,
  approved,
  rejected,
  created,
]: Cells): ListedDeposit {
  return {
    id: id ?? '',
    clt_address: byteaHex(clt),
    amount_usdt: gross ?? '',
    fee_usdt: fee ?? '',
    credit_usdt: credit ?? '',
    status: status ?? '',
    reason: reason ?? null,
    approved: approved === 't',
    rejected: rejected === 't',
    created_at: isoTime(created),
  };
}

/** Of `depositById` and `eventsById`. */
export function shown(cells: Cells, events: readonly Cells[]): ShownDeposit {
  const [
    id,
    clt,
    address,
    gross,
    fee,
    credit,
    status,
    reason,
    approved,
    rejected,
    created,
    txId,
    logIndex,
    nonce,
    hash,
  ] = cells;
  return {
    ...listed(
      [id, clt, gross, fee, credit, status, reason, approved, rejected, created].map(
        (cell) => cell ?? null,
      ),
    ),
    deposit_address: toTronAddress(byteaBytes(address)),
    tron_tx_id: byteaDigits(txId),
    log_index: Number(logIndex),
    mint_nonce: nonce ?? null,
    mint_tx_hash: hash === null || hash === undefined ? null : byteaHex(hash),
    events: events.map(eventOf),
  };
}

function eventOf([
  event,
  reason,
  actor,
  gross,
  fee,
  credit,
  nonce,
  hash,
  height,
  topic,
  partition,
  offset,
  at,
]: Cells): ShownEvent {
  const details = {
    reason,
    actor,
    gross,
    fee,
    credit,
    nonce,
    tx_hash: hash === null || hash === undefined ? null : byteaHex(hash),
    block_height: height,
  };
  return {
    event: event ?? '',
    at: isoTime(at),
    topic: topic ?? '',
    partition: Number(partition),
    offset: offset ?? '',
    details: Object.fromEntries(
      Object.entries(details).filter(
        (entry): entry is [string, string] => typeof entry[1] === 'string',
      ),
    ),
  };
}

export function listText(deposits: readonly ListedDeposit[], status: string): string {
  if (deposits.length === 0) return `no deposit is ${status}`;
  const lines = deposits.map(
    ({ id, created_at, clt_address, amount_usdt, credit_usdt, reason, rejected }) => {
      const why = [reason ?? '', rejected ? 'rejected' : '']
        .filter((word) => word !== '')
        .join(', ');
      return `${id}  ${created_at}  ${clt_address}  arrived ${usdt(amount_usdt)}, credit ${usdt(credit_usdt)}${why === '' ? '' : `  (${why})`}`;
    },
  );
  return lines.join('\n');
}

export function showText(deposit: ShownDeposit): string {
  const {
    id,
    status,
    reason,
    approved,
    rejected,
    clt_address,
    deposit_address,
    amount_usdt,
    fee_usdt,
    credit_usdt,
    events,
  } = deposit;
  const standing = [status, reason, approved ? 'approved' : null, rejected ? 'rejected' : null]
    .filter((word) => word !== null)
    .join(', ');
  return [
    `deposit   ${id}`,
    `status    ${standing}`,
    `owner     ${clt_address}`,
    `address   ${deposit_address}, transaction ${deposit.tron_tx_id}, log ${deposit.log_index}`,
    `amounts   arrived ${usdt(amount_usdt)}, fee ${usdt(fee_usdt)}, credit ${usdt(credit_usdt)}`,
    ...events.map(({ event, at, topic, partition, offset, details }) => {
      const said = Object.entries(details).map(([name, value]) => `${name} ${value}`);
      return `${at}  ${topic}/${partition}@${offset}  ${event}${said.length === 0 ? '' : `: ${said.join(', ')}`}`;
    }),
  ].join('\n');
}

/** Every digit. */
function usdt(units: string): string {
  const digits = units.padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
