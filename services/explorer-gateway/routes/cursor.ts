/**
 * Cursors: the place in a list where a page goes on, as an opaque text that is good for that list only. A place is an ordinal that its row keeps for good: rows
 * that come on top change nothing below, and a reorganisation replaces only what it replaced.
 */
import { crc32 } from 'node:zlib';
import { CURSOR } from '../../../schemas/explorer-api/bounds.ts';

const PLACE_BYTES = 8;

/** `list` is any text that tells the list, its filters and its order apart from all others; `place` at most 2^63 - 1. */
export function cursorOf(list: string, place: bigint): string {
  const bytes = Buffer.alloc(PLACE_BYTES + 4);
  bytes.writeBigUInt64BE(place);
  bytes.writeUInt32BE(checkOf(list, bytes), PLACE_BYTES);
  return bytes.toString('base64url');
}

/** The place that a cursor of this list names; undefined when it is not one. */
export function placeOf(list: string, cursor: string): bigint | undefined {
  if (!CURSOR.test(cursor)) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  return bytes.readUInt32BE(PLACE_BYTES) === checkOf(list, bytes)
    ? bytes.readBigUInt64BE()
    : undefined;
}

/** Not against forgery, for which there is no reason: against a cursor that lands in another list. */
function checkOf(list: string, bytes: Buffer): number {
  return crc32(list, crc32(bytes.subarray(0, PLACE_BYTES)));
}
