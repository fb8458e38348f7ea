import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  messageSigner,
  privateKeySigner,
  signTransaction,
  toHex,
  unsignedBytes,
  type UnsignedTransaction,
} from '../../../packages/wallet/src/index.ts';
import { coordinateText } from '../../../schemas/coordinate.ts';
import { argumentsJson } from '../../../schemas/function-call.ts';
import { decodeRaw, encodeRaw } from '../../../schemas/raw-transaction.ts';
import { ADDRESS, CHAIN_ID, PRIVATE_KEY, TRANSACTIONS } from './vectors.ts';

const signer = privateKeySigner(PRIVATE_KEY);

function hex(bytes: number): fc.Arbitrary<string> {
  return fc.uint8Array({ minLength: bytes, maxLength: bytes }).map(toHex);
}
function degrees(limit: number): fc.Arbitrary<string> {
  return fc.double({ min: -limit, max: limit, noNaN: true }).map(coordinateText);
}
const optional = (text: fc.Arbitrary<string>): fc.Arbitrary<string | null> => fc.option(text);
const amount = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String);

const CALLS: Readonly<Record<string, Readonly<Record<string, fc.Arbitrary<string | null>>>>> = {
  RideRequest: {
    pickup_lat: degrees(90),
    pickup_lng: degrees(180),
    dropoff_lat: degrees(90),
    dropoff_lng: degrees(180),
    fare: amount,
    referrer: optional(hex(20)),
  },
  RideOffer: { request_hash: hex(32), fare: amount, referrer: optional(hex(20)) },
  RideAcceptance: { offer_hash: hex(32) },
  RidePay: { acceptance_hash: hex(32), fare: amount },
  RideCancel: { acceptance_hash: hex(32) },
  RideRequestCancel: { request_hash: hex(32) },
  Transfer: { to: hex(20), amount },
  Burn: { amount, redemption_ref: optional(hex(32)) },
};
const transactions: fc.Arbitrary<UnsignedTransaction> = fc.record({
  from: fc.constant(ADDRESS),
  nonce: fc.maxSafeNat(),
  chain_id: fc.maxSafeNat(),
  data: fc.oneof(
    ...Object.entries(CALLS).map(([type, args]) =>
      fc.record({ function_call_type: fc.constant(type), arguments: fc.record(args) }),
    ),
  ),
});

test('the chain reads every signed transaction as it was asked for, in its one encoding', async () => {
  await fc.assert(
    fc.asyncProperty(transactions, async (transaction) => {
      const { raw } = await signTransaction(transaction.chain_id, transaction, signer);
      const bytes = Buffer.from(raw.slice(2), 'hex');
      const decoded = decodeRaw(bytes);
      if ('refused' in decoded) throw new Error(decoded.refused);
      const { nonce, chain_id, call } = decoded.transaction;
      expect({ nonce, chain_id, data: { ...call, arguments: argumentsJson(call) } }).toEqual({
        nonce: transaction.nonce,
        chain_id: transaction.chain_id,
        data: transaction.data,
      });
      expect(encodeRaw(decoded.transaction)).toEqual(bytes);
    }),
    { numRuns: 50 },
  );
});

function unsigned(
  type: string,
  args: Readonly<Record<string, string | null>>,
  changed: Partial<UnsignedTransaction> = {},
): UnsignedTransaction {
  const data = { function_call_type: type, arguments: args };
  return { from: ADDRESS, nonce: 0, chain_id: CHAIN_ID, data, ...changed };
}
const HASH = `0x${'11'.repeat(32)}`;

test.each<[string, UnsignedTransaction]>([
  ['Mint is no call', unsigned('Mint', { to: ADDRESS, amount: '1', reference: null })],
  ['constructor is no call', unsigned('constructor', {})],
  ['has no argument tip', unsigned('RideAcceptance', { offer_hash: HASH, tip: '1' })],
  ['offer_hash must be 0x and 64 hex digits', unsigned('RideAcceptance', {})],
  ['offer_hash must be', unsigned('RideAcceptance', { offer_hash: `${HASH}11` })],
  ['offer_hash must be', unsigned('RideAcceptance', { offer_hash: null })],
  ['redemption_ref must be', unsigned('Burn', { amount: '1' })],
  ['amount must be', unsigned('Burn', { amount: '1e3', redemption_ref: null })],
  ['amount must be', unsigned('Burn', { amount: '01', redemption_ref: null })],
  ['amount must be', unsigned('Burn', { amount: '-1', redemption_ref: null })],
  ['nonce must be', unsigned('RideAcceptance', { offer_hash: HASH }, { nonce: -1 })],
  ['nonce must be', unsigned('RideAcceptance', { offer_hash: HASH }, { nonce: 2 ** 53 })],
  ['chain_id must be', unsigned('RideAcceptance', { offer_hash: HASH }, { chain_id: 0.5 })],
])('refuses to encode: %s', (message, json) => {
  expect(() => unsignedBytes(json)).toThrow(message);
});

test.each<[unknown]>([
  [undefined],
  [null],
  ['{}'],
  [{ from: ADDRESS, nonce: 0, chain_id: CHAIN_ID }],
  [{ from: ADDRESS, nonce: 0, chain_id: CHAIN_ID, data: { function_call_type: 'Burn' } }],
  [{ ...TRANSACTIONS[0]?.unsigned, from: undefined }],
])('refuses to encode %j', (json) => {
  expect(() => unsignedBytes(json)).toThrow('no unsigned transaction');
});

test('signs for the named chain and the own account only', async () => {
  const json = unsigned('RideAcceptance', { offer_hash: HASH });
  await expect(signTransaction(1, json, signer)).rejects.toThrow('for chain 7777, not 1');
  const other = { ...json, from: `0x${'22'.repeat(20)}` };
  await expect(signTransaction(CHAIN_ID, other, signer)).rejects.toThrow('not from 0x7e5f');
});

test('says that a wallet of messages signs no transaction', async () => {
  const [vector] = TRANSACTIONS;
  if (vector === undefined) throw new Error('no vector');
  const wallet = messageSigner(ADDRESS, () => '0x');
  // @ts-expect-error a caller in JavaScript has no types that refuse it
  const signing = signTransaction(CHAIN_ID, vector.unsigned, wallet);
  await expect(signing).rejects.toThrow('signs messages only');
});
