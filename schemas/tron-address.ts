/**
 * TRON addresses: 20 bytes in Kafka and Postgres; in APIs base58check of 0x41 and the 20 bytes.
 * Some of TRON's APIs use the 21 bytes as hex.
 */
import { decodeBase58, encodeBase58, getBytes, sha256, toBeHex } from 'ethers';

const PREFIX = 0x41;
/** 25 bytes that begin with 0x41 always have 34 characters and begin with T. */
const BASE58 = /^T[1-9A-HJ-NP-Za-km-z]{33}$/;
const HEX = /^41([0-9a-f]{40})$/i;
const BYTES = 20;
const WITH_CHECKSUM = 25;

/** Accepts base58check, or 41 + 40 hex digits in any case; other text is undefined. */
export function parseTronAddress(text: string): Buffer | undefined {
  const digits = HEX.exec(text)?.[1];
  if (digits !== undefined) return Buffer.from(digits, 'hex');
  return BASE58.test(text) ? fromBase58(text) : undefined;
}

function fromBase58(text: string): Buffer | undefined {
  const value = decodeBase58(text);
  if (value >> BigInt(8 * (WITH_CHECKSUM - 1)) !== BigInt(PREFIX)) return undefined;
  const bytes = Buffer.from(getBytes(toBeHex(value, WITH_CHECKSUM)));
  const payload = bytes.subarray(0, 1 + BYTES);
  return checksum(payload).equals(bytes.subarray(1 + BYTES))
    ? Buffer.from(payload.subarray(1))
    : undefined;
}

/** Base58check of an address of 20 bytes. */
export function toTronAddress(address: Uint8Array): string {
  if (address.length !== BYTES)
    throw new RangeError(`a TRON address has ${BYTES} bytes, not ${address.length}`);
  const payload = Buffer.concat([Uint8Array.of(PREFIX), address]);
  return encodeBase58(Buffer.concat([payload, checksum(payload)]));
}

function checksum(payload: Uint8Array): Buffer {
  return Buffer.from(getBytes(sha256(sha256(payload)))).subarray(0, 4);
}
