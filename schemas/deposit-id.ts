/** Deterministic ids: the first 16 bytes of a SHA-256 as a UUID of version 8 (RFC 9562). */
import { getBytes, sha256 } from 'ethers';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The id of a transfer's deposit, from its transaction id (32 bytes) and log index. */
export function depositIdOf(txId: Uint8Array, logIndex: number): string {
  const index = Buffer.alloc(4);
  // the log may say an index below zero, which no transfer has
  index.writeUInt32BE(logIndex >>> 0);
  return uuidOf(Buffer.concat([txId, index]));
}

/** The id of the standing invoice of a deposit address (20 bytes). */
export function invoiceIdOf(depositAddress: Uint8Array): string {
  return uuidOf(depositAddress);
}

/** The id in lower case; undefined when the text cannot be a deposit's id. */
export function parseDepositId(text: string): string | undefined {
  const id = text.toLowerCase();
  return UUID.test(id) ? id : undefined;
}

function uuidOf(name: Uint8Array): string {
  const bytes = Buffer.from(getBytes(sha256(name))).subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-');
}
