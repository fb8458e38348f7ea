/** Addresses (20 bytes) and hashes (32 bytes): bytes in Kafka and Postgres, 0x + hex in APIs. */

const ADDRESS = /^(?:0x)?([0-9a-f]{40})$/i;
const HASH = /^(?:0x)?([0-9a-f]{64})$/i;

/** 40 hex digits in any case, with or without 0x; anything else is undefined. */
export function parseAddress(text: string): Buffer | undefined {
  const digits = ADDRESS.exec(text)?.[1];
  return digits === undefined ? undefined : Buffer.from(digits, 'hex');
}

/** 64 hex digits in any case, with or without 0x; anything else is undefined. */
export function parseHash(text: string): Buffer | undefined {
  const digits = HASH.exec(text)?.[1];
  return digits === undefined ? undefined : Buffer.from(digits, 'hex');
}

/** 0x + lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}

/**
 * The bytes of 0x + hex, for what is kept for long. `Buffer.from` would take them from a pool of
 * 64 KiB, and each part of a pool keeps all of it in memory.
 */
export function keptBytes(hex: string): Buffer {
  const digits = hex.slice(2);
  const bytes = Buffer.allocUnsafeSlow(digits.length / 2);
  if (bytes.write(digits, 'hex') !== bytes.length) throw new TypeError('these are no hex digits');
  return bytes;
}

/** Bytes as a key of maps and sets. */
export function bytesKey(bytes: Buffer): string {
  return bytes.toString('latin1');
}

/** The bytes that `bytesKey` made this key of. */
export function keyBytes(key: string): Buffer {
  return Buffer.from(key, 'latin1');
}
