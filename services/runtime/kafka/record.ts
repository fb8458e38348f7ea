/** A record of the log as the projector sees it, and what tells one log from another. */
import { createHash } from 'node:crypto';
import type { KafkaMessage } from 'kafkajs';

export interface LogRecord {
  readonly offset: bigint;
  /** Unix milliseconds */
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: NonNullable<KafkaMessage['headers']>;
}

export function toLogRecord(message: KafkaMessage): LogRecord {
  return {
    offset: BigInt(message.offset),
    timestamp: Number(message.timestamp),
    key: message.key,
    value: message.value,
    headers: message.headers ?? {},
  };
}

/** What an object of the client costs beside its bytes, about. */
const RECORD_OVERHEAD_BYTES = 256;

/** What it takes in memory, about: many small records count too. */
export function bytesOf(record: LogRecord): number {
  return (record.value?.length ?? 0) + (record.key?.length ?? 0) + RECORD_OVERHEAD_BYTES;
}

/** SHA-256 over everything a record is: no two logs have the same record at the same place, since every append carries a trace id of its own. */
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

/** Length first, so that no two sequences of parts run into each other. */
function part(hash: ReturnType<typeof createHash>, value: Buffer | string | null): void {
  if (value === null) {
    hash.update('|-');
    return;
  }
  hash.update(`|${Buffer.byteLength(value)}:`);
  hash.update(value);
}

/** The running digest of a log: the one before, and one record more. */
export function digestNext(digest: Buffer, recordFingerprint: Buffer): Buffer {
  return createHash('sha256').update(digest).update(recordFingerprint).digest();
}

export const DIGEST_OF_NOTHING = Buffer.alloc(32);
