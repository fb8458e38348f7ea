import assert from 'node:assert/strict';
import { readSignature } from '../../../packages/wallet/src/signature.ts';
import { unsignedBytes } from '../../../packages/wallet/src/transaction.ts';
import { decodeRaw, unsignedDigest } from '../../../schemas/raw-transaction.ts';
import { decodeRlp, encodeRlp } from '../../../schemas/rlp.ts';
import { keccak256 } from 'ethers';
import { TRANSACTIONS } from '../../packages/wallet/vectors.ts';

export const about =
  "the wallet's reading of the hub's JSON: a TypeError, or bytes that the chain reads alike";

export const seeds = TRANSACTIONS.map(({ unsigned }) => JSON.stringify(unsigned));
export const words = [
  '"-0"',
  '"180.1"',
  '"referrer":null',
  '"9".repeat',
  '"function_call_type":"Mint"',
  '9'.repeat(78),
];

/** The values that the wallet leaves to the chain to refuse. */
const REFUSED_BY_CHAIN: ReadonlySet<string> = new Set([
  'amount_too_large',
  'coordinate_not_canonical',
  'coordinate_out_of_range',
]);
const SIGNATURE = [27, 1, 1].map((number) => Uint8Array.of(number));

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString();
  try {
    for (const { r, s, v } of readSignature(text)) {
      assert.match(r + s, /^0x[0-9a-f]{64}0x[0-9a-f]{64}$/);
      assert.ok(v === 27 || v === 28);
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  let unsigned;
  try {
    unsigned = unsignedBytes(JSON.parse(text));
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
    return;
  }
  const decoded = decodeRlp(unsigned, 2);
  assert.ok('item' in decoded && !(decoded.item instanceof Uint8Array));
  const read = decodeRaw(encodeRlp([...decoded.item, ...SIGNATURE]));
  if ('refused' in read) return assert.ok(REFUSED_BY_CHAIN.has(read.refused), read.refused);
  assert.equal(unsignedDigest(read.transaction), keccak256(unsigned));
}
