/** Hex, and the part of RLP that transactions use. */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';

export type Hex = `0x${string}`;

/** A byte string, or a list of items. */
export type Rlp = Uint8Array | readonly Rlp[];

export function toHex(bytes: Uint8Array): Hex {
  return `0x${bytesToHex(bytes)}`;
}

export function fromHex(text: string): Uint8Array {
  return hexToBytes(text.startsWith('0x') ? text.slice(2) : text);
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes);
}

/** Big-endian without leading zeros; zero is empty. */
export function integerBytes(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array(0);
  const digits = value.toString(16);
  return hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`);
}

export function encodeRlp(item: Rlp): Uint8Array {
  if (item instanceof Uint8Array)
    return item.length === 1 && (item[0] ?? 0) < 0x80
      ? item
      : concatBytes(prefix(item.length, 0x80), item);
  const payload = concatBytes(...item.map(encodeRlp));
  return concatBytes(prefix(payload.length, 0xc0), payload);
}

function prefix(length: number, base: number): Uint8Array {
  if (length <= 55) return Uint8Array.of(base + length);
  const digits = integerBytes(BigInt(length));
  return Uint8Array.of(base + 55 + digits.length, ...digits);
}
