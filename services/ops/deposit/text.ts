/** Deposits as JSON, with amounts in micro-USDT, and as text, with amounts in USDT. */
import { toTronAddress } from '../../../schemas/tron-address.ts';
import {
  byteaBytes,
  byteaDigits,
  byteaHex,
  isoTime,
  type Cell,
} from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';
import { sixDecimals } from '../connections.ts';

/** A row of `byStatus`, or the beginning of one of `depositById` without its deposit address. */
export function listed(cells: Cells) {
  const [id, clt, gross, fee, credit, status, reason, approved, rejected, created] = cells;
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

/** A row of `depositById` and the rows of `eventsById`. */
export function shown([id = null, clt = null, address, ...cells]: Cells, events: readonly Cells[]) {
  const [txId, logIndex, nonce, hash] = cells.slice(8);
  return {
    ...listed([id, clt, ...cells]),
    deposit_address: toTronAddress(byteaBytes(address)),
    tron_tx_id: byteaDigits(txId),
    log_index: Number(logIndex),
    mint_nonce: nonce ?? null,
    mint_tx_hash: hexOrNull(hash),
    events: events.map(shownEvent),
  };
}

function shownEvent(cells: Cells) {
  const [event, reason, actor, gross, fee, credit, nonce, hash, block_height, ...place] = cells;
  const [topic, partition, offset, at] = place;
  const tx_hash = hexOrNull(hash);
  const given = { reason, actor, gross, fee, credit, nonce, tx_hash, block_height };
  const details = Object.entries(given).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  );
  return {
    event: event ?? '',
    at: isoTime(at),
    topic: topic ?? '',
    partition: Number(partition),
    offset: offset ?? '',
    /** those of the event that have a value */
    details: Object.fromEntries(details),
  };
}

function hexOrNull(cell: Cell): string | null {
  return typeof cell === 'string' ? byteaHex(cell) : null;
}

export function listText(deposits: readonly ReturnType<typeof listed>[], status: string): string {
  if (deposits.length === 0) return `no deposit is ${status}`;
  const lines = deposits.map((deposit) => {
    const { id, created_at, clt_address, amount_usdt, credit_usdt, reason, rejected } = deposit;
    const why = [reason, rejected ? 'rejected' : null].filter((word) => word !== null).join(', ');
    const amounts = `arrived ${sixDecimals(amount_usdt)}, credit ${sixDecimals(credit_usdt)}`;
    return `${id}  ${created_at}  ${clt_address}  ${amounts}${why === '' ? '' : `  (${why})`}`;
  });
  return lines.join('\n');
}

export function showText(deposit: ReturnType<typeof shown>): string {
  const { status, reason, approved, rejected, amount_usdt, fee_usdt, credit_usdt } = deposit;
  const words = [status, reason, approved ? 'approved' : null, rejected ? 'rejected' : null];
  const [gross, fee, credit] = [amount_usdt, fee_usdt, credit_usdt].map(sixDecimals);
  return [
    `deposit   ${deposit.id}`,
    `status    ${words.filter((word) => word !== null).join(', ')}`,
    `owner     ${deposit.clt_address}`,
    `address   ${deposit.deposit_address}, transaction ${deposit.tron_tx_id}, log ${deposit.log_index}`,
    `amounts   arrived ${gross}, fee ${fee}, credit ${credit}`,
    ...deposit.events.map(({ event, at, topic, partition, offset, details }) => {
      const given = Object.entries(details).map(([name, value]) => `${name} ${value}`);
      const tail = given.length === 0 ? '' : `: ${given.join(', ')}`;
      return `${at}  ${topic}/${partition}@${offset}  ${event}${tail}`;
    }),
  ].join('\n');
}
