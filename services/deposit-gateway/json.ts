/** The interface's bodies, from Postgres' text: no amount becomes a JavaScript number. */
import { invoiceIdOf } from '../../schemas/deposit-id.ts';
import { HOLD_REASONS } from '../../schemas/deposit-policy.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import {
  byteaBytes,
  byteaDigits,
  byteaHex,
  isoTime,
  type Cell,
} from '../runtime/postgres/cells.ts';
import type { Cells } from '../runtime/postgres/pool.ts';

export function addressBody(depositAddress: Buffer): string {
  return JSON.stringify({ address: toTronAddress(depositAddress) });
}

/** The row of `checkOf`, if there is one; `now` in Unix milliseconds. */
export function checkBody([checked, due]: Cells = [], now: number): string {
  const at = Number(checked ?? 0);
  return JSON.stringify({
    checked_at: at === 0 ? null : new Date(at).toISOString(),
    checked_ms_ago: at === 0 ? null : Math.max(0, now - at),
    overdue_ms: due === null || due === undefined ? 0 : Math.max(0, now - Number(due)),
  });
}

/** Rows of `depositsOf`. */
export function listBody(rows: readonly Cells[]): string {
  const items = rows.map(
    ([id, status, gross, txId, createdAt]) =>
      `{"id":"${id}","status":"${status}","amount_usdt":${gross},"tron_tx_id":"${byteaDigits(txId)}","created_at":${time(createdAt)}}`,
  );
  return `{"deposits":[${items.join(',')}]}`;
}

/**
 * A row of `depositOf`. A permanent address expects no amount, so the amount to pay is the amount
 * that arrived; the address is its own invoice and never expires.
 */
export function detailBody([id, account, address, gross, _fee, _credit, status]: Cells): string {
  return (
    `{"id":"${id}","clt_address":"${byteaHex(account)}","amount_usdt":${gross},"pay_amount_usdt":${gross},"status":"${status}",` +
    `"invoice_id":"${invoiceIdOf(byteaBytes(address))}","expires_at":null}`
  );
}

/** A row of `POLICY_IN_FORCE`. */
export function policyBody([version, network, first, later, minimum, single, rolling, at]: Cells) {
  return (
    `{"version":${version},"network":"${network}","first_fee":${first},"later_fee":${later},"minimum":${minimum},` +
    `"single_cap":${single},"rolling_cap":${rolling},"in_force_since":"${new Date(Number(at)).toISOString()}"}`
  );
}

/** A row of `depositOf`, those of `eventsOf`, and whether `waitsForCap` has one. */
export function timelineBody(
  deposit: Cells,
  events: readonly Cells[],
  waitsForCap: boolean,
): string {
  const [id, , , gross, fee, credit, status, reason, , rejected] = deposit;
  return (
    `{"deposit_id":"${id}","status":"${status}","reason":${reasonOf(reason)},"waiting_for":${waitingFor(status, rejected, waitsForCap)},` +
    `"gross":${gross},"fee":${fee},"credit":${credit},"events":[${events.map(eventItem).join(',')}]}`
  );
}

/** Null: the deposit waits for nobody, or is at its end. */
function waitingFor(status: Cell, rejected: Cell, waitsForCap: boolean): string {
  if (status === 'needs_manual' && rejected !== 't') return '"awaiting_approval"';
  return status === 'confirmed' && waitsForCap ? '"rolling_cap"' : 'null';
}

/** The actor of a decision and their note are not shown. */
function eventItem(cells: Cells): string {
  const [event, reason, , gross, fee, credit, nonce, hash, height, ...position] = cells;
  const [topic, partition, offset, at] = position;
  const chain = isOnTron(event) ? '"tron"' : '"clt"';
  return (
    `{"event":"${event}","at":${time(at)},"reason":${reasonOf(reason)},"gross":${gross},"fee":${fee},"credit":${credit},` +
    `"chain":${hash === null ? 'null' : chain},"tx_hash":${hashOf(event, hash)},"block_height":${height},"nonce":${nonce},` +
    `"topic":"${topic}","partition":${partition},"offset":${offset}}`
  );
}

/** Whether the transaction of an event is on TRON. */
function isOnTron(event: Cell): boolean {
  return event === 'TransferObserved' || event === 'RefundRecorded';
}

/** As its chain writes it: TRON without 0x. */
function hashOf(event: Cell, hash: Cell): string {
  if (hash === null || hash === undefined) return 'null';
  return isOnTron(event) ? `"${byteaDigits(hash)}"` : `"${byteaHex(hash)}"`;
}

/** A known reason, or null. */
function reasonOf(reason: Cell): string {
  const word = HOLD_REASONS.find((known) => known === reason);
  return word === undefined ? 'null' : `"${word}"`;
}

function time(timestamptz: Cell): string {
  return `"${isoTime(timestamptz)}"`;
}
