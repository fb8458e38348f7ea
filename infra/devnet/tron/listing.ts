/** The provider's list of an account's TRC-20 transfers: in the order of the chain, by pages. */
import { createHash } from 'node:crypto';
import type { LogEvent } from './transaction.ts';

/** Where a log stands in the chain: block, transaction in it, log in that. No two are equal, however many share a timestamp. */
export type Position = readonly [block: number, transaction: number, log: number];

export interface ListedRow {
  readonly position: Position;
  readonly block_timestamp: number;
  readonly transaction_id: string;
  readonly contract: string;
  readonly event: LogEvent;
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
}

export interface ListQuery {
  readonly account: string;
  readonly only_confirmed: boolean;
  readonly only_unconfirmed: boolean;
  readonly only_to: boolean;
  readonly only_from: boolean;
  readonly contract: string | undefined;
  readonly limit: number;
  readonly ascending: boolean;
  /** Unix milliseconds, both inclusive */
  readonly min_timestamp: number;
  readonly max_timestamp: number;
}

/** Where a page ended and where it began, each the position of a row before it; null: at the start. */
export interface Fingerprint {
  readonly last: Position;
  readonly before: Position | null;
}

export interface Page {
  readonly rows: readonly ListedRow[];
  /** of the next page; undefined on the last one */
  readonly fingerprint: Fingerprint | undefined;
}

/** The page behind a position. `rows` ascend; whether they are confirmed, and whether they concern the account, is for the caller to have chosen. */
export function pageOf(rows: readonly ListedRow[], query: ListQuery, after: Position | null): Page {
  const found: ListedRow[] = [];
  const step = query.ascending ? 1 : -1;
  for (
    let at = startOf(rows, query, after);
    at >= 0 && at < rows.length && found.length <= query.limit;
    at += step
  ) {
    const row = rows[at];
    if (row === undefined || isBeyond(row, query)) break;
    if (fits(row, query)) found.push(row);
  }
  const shown = found.slice(0, query.limit);
  const last = shown.at(-1);
  const more = found.length > query.limit && last !== undefined;
  return { rows: shown, fingerprint: more ? { last: last.position, before: after } : undefined };
}

function startOf(
  rows: readonly ListedRow[],
  { ascending, min_timestamp, max_timestamp }: ListQuery,
  after: Position | null,
): number {
  if (ascending) {
    const inTime = firstWhere(rows, (row) => row.block_timestamp >= min_timestamp);
    return after === null
      ? inTime
      : Math.max(
          inTime,
          firstWhere(rows, (row) => compare(row.position, after) > 0),
        );
  }
  const inTime = firstWhere(rows, (row) => row.block_timestamp > max_timestamp) - 1;
  return after === null
    ? inTime
    : Math.min(inTime, firstWhere(rows, (row) => compare(row.position, after) >= 0) - 1);
}

function isBeyond(row: ListedRow, { ascending, min_timestamp, max_timestamp }: ListQuery): boolean {
  return ascending ? row.block_timestamp > max_timestamp : row.block_timestamp < min_timestamp;
}

function fits(row: ListedRow, { account, only_to, only_from, contract }: ListQuery): boolean {
  if (only_to && row.to !== account) return false;
  if (only_from && row.from !== account) return false;
  return contract === undefined || row.contract === contract;
}

/** The first index for which the condition holds, of rows for which it is first false and then true. */
function firstWhere(rows: readonly ListedRow[], holds: (row: ListedRow) => boolean): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row !== undefined && holds(row)) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function compare(one: Position, other: Position): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}

/** Opaque text that is only good for the same query again. */
export function encodeFingerprint({ last, before }: Fingerprint, query: ListQuery): string {
  return Buffer.from(JSON.stringify([digestOf(query), last, before])).toString('base64url');
}

/** undefined: it was never given out, or for another query. */
export function decodeFingerprint(text: string, query: ListQuery): Fingerprint | undefined {
  if (!/^[A-Za-z0-9_-]{1,400}$/.test(text)) return undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
  if (!Array.isArray(parsed) || parsed.length !== 3) return undefined;
  const [digest, last, before]: unknown[] = parsed;
  if (digest !== digestOf(query) || !isPosition(last)) return undefined;
  if (before === null) return { last, before };
  return isPosition(before) ? { last, before } : undefined;
}

function isPosition(value: unknown): value is Position {
  return (
    Array.isArray(value) && value.length === 3 && value.every((part) => Number.isSafeInteger(part))
  );
}

function digestOf(query: ListQuery): string {
  return createHash('sha256').update(JSON.stringify(query)).digest('hex').slice(0, 16);
}
