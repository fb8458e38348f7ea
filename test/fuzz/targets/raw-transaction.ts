import assert from 'node:assert/strict';
import { SigningKey } from 'ethers';
import { argumentsJson } from '../../../schemas/function-call.ts';
import {
  decodeRaw,
  encodeRaw,
  parseRawText,
  recoverSigner,
  unsignedDigest,
} from '../../../schemas/raw-transaction.ts';
import { readSubmission } from '../../../services/hub-gateway/graphql/parameters.ts';
import { Refused } from '../../../services/hub-gateway/graphql/errors.ts';
import type { FunctionCall } from '../../../schemas/function-call.ts';

export const about = 'raw transactions: one encoding each, and the hub refuses with its own errors';

const key = new SigningKey(`0x${'11'.repeat(32)}`);
const to = `0x${'ab'.repeat(20)}`;
const hash = `0x${'cd'.repeat(32)}`;
const CALLS: readonly FunctionCall[] = [
  {
    function_call_type: 'RideRequest',
    arguments: {
      pickup_lat: '52.5',
      pickup_lng: '-13.4',
      dropoff_lat: '0',
      dropoff_lng: '180',
      fare: 1_000n,
      referrer: to,
    },
  },
  { function_call_type: 'RideOffer', arguments: { request_hash: hash, fare: 5n, referrer: null } },
  { function_call_type: 'RideAcceptance', arguments: { offer_hash: hash } },
  { function_call_type: 'RidePay', arguments: { acceptance_hash: hash, fare: 1n } },
  { function_call_type: 'RideCancel', arguments: { acceptance_hash: hash } },
  { function_call_type: 'RideRequestCancel', arguments: { request_hash: hash } },
  { function_call_type: 'Mint', arguments: { to, amount: 7n, reference: hash } },
  { function_call_type: 'Transfer', arguments: { to, amount: 2n ** 255n } },
  { function_call_type: 'Burn', arguments: { amount: 0n, redemption_ref: null } },
];

export const seeds = CALLS.map((call) => {
  const unsigned = { chain_id: 1, nonce: 300, call };
  const { r, s, v } = key.sign(unsignedDigest(unsigned));
  return Buffer.from(encodeRaw({ ...unsigned, signature: { r, s, v } }));
});

const CALLER = { account: to, expires_at: 1 };

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString('latin1');
  const parsed = parseRawText(text);
  if ('raw' in parsed)
    assert.equal(parsed.raw.length, Math.floor(text.replace(/^0x/i, '').length / 2));
  for (const raw of [text, bytes.toString('hex')]) {
    try {
      readSubmission(raw, CALLER, 1);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      assert.ok(bytes.length < 8 || !error.message.includes(raw), 'the refusal repeats the input');
    }
  }
  const decoded = decodeRaw(bytes);
  if ('refused' in decoded) return assert.match(decoded.refused, /^[a-z0-9_]+$/);
  const { transaction } = decoded;
  assert.deepEqual(Buffer.from(encodeRaw(transaction)), bytes);
  assert.ok(
    Object.values(argumentsJson(transaction.call)).every(
      (each) => each === null || typeof each === 'string',
    ),
  );
  const recovered = recoverSigner(transaction);
  if ('signer' in recovered) assert.match(recovered.signer, /^0x[0-9a-f]{40}$/);
}
