/** The interface's bodies, from Postgres' text: no amount becomes a JavaScript number. */
import {
  DEPOSIT,
  DEPOSIT_DETAIL,
  MINT_QUEUE,
  POLICY,
  TIMELINE,
  TIMELINE_EVENT,
  type AddressCheck,
  type DepositAddress,
} from '../../schemas/deposit-api/deposits.ts';
import { invoiceIdOf } from '../../schemas/deposit-id.ts';
import { HOLD_REASONS } from '../../schemas/deposit-policy.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { byteaBytes, byteaDigits, byteaHex, type Cell } from '../runtime/postgres/cells.ts';
import type { Cells } from '../runtime/postgres/pool.ts';
import { rowWriter } from '../runtime/postgres/row-json.ts';

export function addressBody(depositAddress: Buffer): string {
  const body: DepositAddress = { address: toTronAddress(depositAddress) };
  return JSON.stringify(body);
}

/** The row of `checkOf`, if there is one; `now` in Unix milliseconds. */
export function checkBody([checked, due]: Cells = [], now: number): string {
  const at = Number(checked ?? 0);
  const body: AddressCheck = {
    checked_at: at === 0 ? null : new Date(at).toISOString(),
    checked_ms_ago: at === 0 ? null : Math.max(0, now - at),
    overdue_ms: due === null || due === undefined ? 0 : Math.max(0, now - Number(due)),
  };
  return JSON.stringify(body);
}

const depositItem = rowWriter(DEPOSIT, {
  shown: { tron_tx_id: (hash) => `"${byteaDigits(hash)}"` },
});

/** Rows of `depositsOf`. */
export function listBody(rows: readonly Cells[]): string {
  return `{"deposits":[${rows.map((cells) => depositItem(cells)).join(',')}]}`;
}

/**
 * A row of `depositOf`. A permanent address expects no amount, so the amount to pay is the amount
 * that arrived; the address is its own invoice and never expires.
 */
export const detailBody = rowWriter(DEPOSIT_DETAIL, {
  made: {
    amount_usdt: ([, , , gross]) => String(gross),
    pay_amount_usdt: ([, , , gross]) => String(gross),
    status: (cells) => JSON.stringify(cells[6]),
    invoice_id: ([, , address]) => `"${invoiceIdOf(byteaBytes(address))}"`,
    expires_at: () => 'null',
  },
});

/** A row of `POLICY_IN_FORCE`. */
export const policyBody = rowWriter(POLICY, {
  shown: { in_force_since: (at) => `"${new Date(Number(at)).toISOString()}"` },
});

/** A row of `mintQueue`. */
export const queueBody = rowWriter(MINT_QUEUE, {
  made: {
    leaving: ([, , , , leaving]) => leavingText(leaving),
  },
});

/** The pairs of time and amount as objects; no amount becomes a number. */
function leavingText(pairs: Cell = '[]'): string {
  const items = (pairs ?? '').matchAll(/\[(\d+), (\d+)\]/g);
  const texts = [...items].map(
    ([, at, amount]) => `{"at":"${new Date(Number(at)).toISOString()}","amount":${amount}}`,
  );
  return `[${texts.join(',')}]`;
}

interface Around {
  /** rows of `eventsOf` */
  readonly events: readonly Cells[];
  /** whether `waitsForCap` has a row */
  readonly waits_for_cap: boolean;
  /** of `waitingBefore`, if it has a row */
  readonly waiting_before: Cell;
}

/** A row of `depositOf`. */
export const timelineBody = rowWriter<typeof TIMELINE.properties, Around>(TIMELINE, {
  made: {
    status: (cells) => JSON.stringify(cells[6]),
    reason: (cells) => reasonOf(cells[7]),
    waiting_for: (cells, { waits_for_cap: waitsForCap }) =>
      waitingFor(cells[6], cells[9], waitsForCap),
    waiting_before: (_, { waiting_before: waitingBefore }) => waitingBefore ?? 'null',
    gross: (cells) => String(cells[3]),
    fee: (cells) => String(cells[4]),
    credit: (cells) => String(cells[5]),
    events: (_, { events }) => `[${events.map((cells) => eventItem(cells)).join(',')}]`,
  },
});

/** Null: the deposit waits for nobody, or is at its end. */
function waitingFor(status: Cell, rejected: Cell, waitsForCap: boolean): string {
  if (status === 'needs_manual' && rejected !== 't') return '"awaiting_approval"';
  return status === 'confirmed' && waitsForCap ? '"rolling_cap"' : 'null';
}

/** The actor of a decision and their note are not shown. */
const eventItem = rowWriter(TIMELINE_EVENT, {
  made: {
    chain: ([event, , , , , , hash]) => {
      if (hash === null) return 'null';
      return isOnTron(event) ? '"tron"' : '"clt"';
    },
  },
  shown: {
    reason: reasonOf,
    // as its chain writes it: TRON without 0x
    tx_hash: (hash, [event]) => {
      if (hash === null || hash === undefined) return 'null';
      return `"${isOnTron(event) ? byteaDigits(hash) : byteaHex(hash)}"`;
    },
  },
});

/** Whether the transaction of an event is on TRON. */
function isOnTron(event: Cell): boolean {
  return event === 'TransferObserved' || event === 'RefundRecorded';
}

/** A known reason, or null. */
function reasonOf(reason: Cell): string {
  const word = HOLD_REASONS.find((known) => known === reason);
  return word === undefined ? 'null' : `"${word}"`;
}
