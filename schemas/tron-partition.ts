/**
 * The partition of an address in `tron.transfers`: CRC-32 (IEEE 802.3) of its 20 bytes, modulo 6.
 * It must never change: every written record is where this function put it.
 */
import { TRON_TRANSFERS } from './topics.ts';

const POLYNOMIAL = 0xedb88320;

/** 0 to 5, of an address of 20 bytes. */
export function transferPartition(address: Uint8Array): number {
  return crc32(address) % TRON_TRANSFERS.partitions;
}

/** 0 to 2^32 - 1. */
export function crc32(bytes: Uint8Array): number {
  let rest = 0xffffffff;
  for (const byte of bytes) {
    rest ^= byte;
    for (let bit = 0; bit < 8; bit++) rest = (rest >>> 1) ^ ((rest & 1) === 1 ? POLYNOMIAL : 0);
  }
  return ~rest >>> 0;
}
