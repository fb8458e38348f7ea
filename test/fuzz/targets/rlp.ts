import assert from 'node:assert/strict';
import {
  decodeInteger,
  decodeRlp,
  encodeInteger,
  encodeRlp,
  type Rlp,
} from '../../../schemas/rlp.ts';

export const about = 'RLP: an item has one encoding, and lists are as deep as allowed';

const DEPTH_MAX = 16;

export const seeds = [
  Buffer.from('c0', 'hex'),
  Buffer.from('c88363617483646f67', 'hex'),
  Buffer.from('c7c0c1c0c3c0c1c0', 'hex'),
  Buffer.concat([Buffer.from('b838', 'hex'), Buffer.alloc(56, 'a')]),
  Buffer.concat([Buffer.from('f90100', 'hex'), Buffer.alloc(256, 0xc0)]),
];

function depthOf(item: Rlp): number {
  return item instanceof Uint8Array
    ? 0
    : item.reduce((most, each) => Math.max(most, depthOf(each)), 0) + 1;
}

export function fuzz(bytes: Buffer): void {
  const integer = decodeInteger(bytes);
  if (integer !== undefined) assert.deepEqual(Buffer.from(encodeInteger(integer)), bytes);
  const decoded = decodeRlp(bytes, DEPTH_MAX);
  if ('refused' in decoded) return assert.match(decoded.refused, /^[a-z_]+$/);
  assert.deepEqual(Buffer.from(encodeRlp(decoded.item)), bytes);
  assert.ok(depthOf(decoded.item) <= DEPTH_MAX);
}
