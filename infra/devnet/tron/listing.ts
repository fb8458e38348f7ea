/** The provider's paged list of an account's TRC-20 transfers, in chain order. */
import { createHash } from 'node:crypto';
import type { TokenLog } from './transaction.ts';

/** The position of a log in the chain. Positions are unique; timestamps are not. */
export type Position = readonly [block: number, transaction: number, log: number];

export interface ListedRow extends TokenLog {
  readonly position: Position;
  readonly block_timestamp: number;
  readonly transaction_id: string;
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

/** The positions after which the next page and this page begin; null: from the start. */
export interface Fingerprint {
  readonly last: Position;
  readonly before: Position | null;
}

/** The page after a position. `rows` ascend and already fit account and confirmation. */
export function pageOf(
  rows: readonly ListedRow[],
  query: ListQuery,
  after: Position | null,
): { readonly rows: readonly ListedRow[]; readonly fingerprint: Fingerprint | undefined } {
  const direction = query.ascending ? 1 : -1;
  const found = rows.filter(
    (row) =>
      matches(row, query) && (after === null || compare(row.position, after) * direction > 0),
  );
  if (!query.ascending) found.reverse();
  const shown = found.slice(0, query.limit);
  const last = shown.at(-1);
  const hasMore = found.length > query.limit && last !== undefined;
  return { rows: shown, fingerprint: hasMore ? { last: last.position, before: after } : undefined };
}

function matches(row: ListedRow, query: ListQuery): boolean {
  const { account, only_to, only_from, contract, min_timestamp, max_timestamp } = query;
  return (
    row.block_timestamp >= min_timestamp &&
    row.block_timestamp <= max_timestamp &&
    (!only_to || row.to === account) &&
    (!only_from || row.from === account) &&
    (contract === undefined || row.contract === contract)
  );
}

export function compare(one: Position, other: Position): number {
  return one[0] - other[0] || one[1] - other[1] || one[2] - other[2];
}

/** Opaque text, valid for the same query only. */
export function encodeFingerprint({ last, before }: Fingerprint, query: ListQuery): string {
  return Buffer.from(JSON.stringify([queryDigest(query), last, before])).toString('base64url');
}

/** Undefined when it was not issued for this query. */
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
  if (digest !== queryDigest(query) || !isPosition(last)) return undefined;
  if (before === null) return { last, before };
  return isPosition(before) ? { last, before } : undefined;
}

function isPosition(value: unknown): value is Position {
  return (
    Array.isArray(value) && value.length === 3 && value.every((part) => Number.isSafeInteger(part))
  );
}

function queryDigest(query: ListQuery): string {
  return createHash('sha256').update(JSON.stringify(query)).digest('hex').slice(0, 16);
}
