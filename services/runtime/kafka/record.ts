/** Records of the log, and the fingerprint that distinguishes logs. */
import { createHash } from 'node:crypto';

/** Text on the way in, bytes on the way out. */
export type Header = Buffer | string;

/** A name that occurs several times has all its values. */
export type Headers = Readonly<Record<string, Header | Header[] | undefined>>;

/** A record to be written. */
export interface LogEntry {
  readonly key: string;
  readonly value: Buffer;
  readonly headers: Headers;
  /** Unix milliseconds */
  readonly timestamp: number;
}

export interface LogRecord {
  readonly offset: bigint;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Headers;
}

/** Approximate size of the object. */
const RECORD_OVERHEAD_BYTES = 256;

/** Approximate bytes in memory. */
export function bytesOf(record: LogRecord): number {
  return (record.value?.length ?? 0) + (record.key?.length ?? 0) + RECORD_OVERHEAD_BYTES;
}

/** SHA-256 of the whole record. Each append has its own trace id or span, so two logs differ. */
export function fingerprint(record: LogRecord): Buffer {
  const hash = createHash('sha256');
  hash.update(`${record.offset} ${record.timestamp}`);
  part(hash, record.key);
  part(hash, record.value);
  for (const [name, value] of Object.entries(record.headers)) {
    part(hash, name);
    for (const item of Array.isArray(value) ? value : [value]) part(hash, item ?? null);
  }
  return hash.digest();
}

/** Length first: no two sequences of parts hash alike. */
function part(hash: ReturnType<typeof createHash>, value: Buffer | string | null): void {
  if (value === null) return void hash.update('|-');
  hash.update(`|${Buffer.byteLength(value)}:`);
  hash.update(value);
}

/** The digest of a log after one more record. */
export function digestNext(digest: Buffer, recordFingerprint: Buffer): Buffer {
  return createHash('sha256').update(digest).update(recordFingerprint).digest();
}

export const DIGEST_OF_NOTHING = Buffer.alloc(32);
