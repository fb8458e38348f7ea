import {
  SigningKey,
  computeAddress,
  encodeRlp as ethersRlp,
  hexlify,
  keccak256,
  toBeArray,
  toUtf8Bytes,
} from 'ethers';
import type { RlpStructuredDataish } from 'ethers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FunctionCall } from '../../schemas/function-call.ts';
import { FUNCTION_CALL_TYPES, argumentsJson } from '../../schemas/function-call.ts';
import type { SignedTransaction } from '../../schemas/raw-transaction.ts';
import {
  RAW_BYTES_MAX,
  decodeRaw,
  encodeRaw,
  parseRawText,
  recoverSigner,
  transactionHash,
  unsignedDigest,
} from '../../schemas/raw-transaction.ts';
import { fixedCases } from '../support/fixed-cases.ts';

const KEY = new SigningKey(`0x${'00'.repeat(31)}01`);
const ADDRESS = `0x${'ab'.repeat(20)}`;
const HASH = `0x${'cd'.repeat(32)}`;
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const MAX = (1n << 256n) - 1n;

const hex = (bytes: number): fc.Arbitrary<string> =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((value) => `0x${Buffer.from(value).toString('hex')}`);
const amount = fc.oneof(fc.bigInt(0n, 300n), fc.bigInt(0n, MAX), fc.constant(MAX));
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(value, { nil: null });
const degrees = (limit: number): fc.Arbitrary<string> =>
  fc.integer({ min: -limit * 1000, max: limit * 1000 }).map((value) => String(value / 1000));

const calls: {
  readonly [Type in FunctionCall['function_call_type']]: fc.Arbitrary<
    Extract<FunctionCall, { function_call_type: Type }>['arguments']
  >;
} = {
  RideRequest: fc.record({
    pickup_lat: degrees(90),
    pickup_lng: degrees(180),
    dropoff_lat: degrees(90),
    dropoff_lng: degrees(180),
    fare: amount,
    referrer: maybe(hex(20)),
  }),
  RideOffer: fc.record({ request_hash: hex(32), fare: amount, referrer: maybe(hex(20)) }),
  RideAcceptance: fc.record({ offer_hash: hex(32) }),
  RidePay: fc.record({ acceptance_hash: hex(32), fare: amount }),
  RideCancel: fc.record({ acceptance_hash: hex(32) }),
  RideRequestCancel: fc.record({ request_hash: hex(32) }),
  Mint: fc.record({ to: hex(20), amount, reference: maybe(hex(32)) }),
  Transfer: fc.record({ to: hex(20), amount }),
  Burn: fc.record({ amount, redemption_ref: maybe(hex(32)) }),
};

const anyCall: fc.Arbitrary<FunctionCall> = fc.oneof(
  calls.RideRequest.map(
    (args) => ({ function_call_type: 'RideRequest', arguments: args }) as const,
  ),
  calls.RideOffer.map((args) => ({ function_call_type: 'RideOffer', arguments: args }) as const),
  calls.RideAcceptance.map(
    (args) => ({ function_call_type: 'RideAcceptance', arguments: args }) as const,
  ),
  calls.RidePay.map((args) => ({ function_call_type: 'RidePay', arguments: args }) as const),
  calls.RideCancel.map((args) => ({ function_call_type: 'RideCancel', arguments: args }) as const),
  calls.RideRequestCancel.map(
    (args) => ({ function_call_type: 'RideRequestCancel', arguments: args }) as const,
  ),
  calls.Mint.map((args) => ({ function_call_type: 'Mint', arguments: args }) as const),
  calls.Transfer.map((args) => ({ function_call_type: 'Transfer', arguments: args }) as const),
  calls.Burn.map((args) => ({ function_call_type: 'Burn', arguments: args }) as const),
);

const signed: fc.Arbitrary<SignedTransaction> = fc.record({
  chain_id: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  nonce: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  call: anyCall,
  signature: fc.record({
    r: fc.bigInt(1n, ORDER - 1n).map((value) => `0x${value.toString(16).padStart(64, '0')}`),
    s: fc.bigInt(1n, ORDER / 2n).map((value) => `0x${value.toString(16).padStart(64, '0')}`),
    v: fc.constantFrom(27 as const, 28 as const),
  }),
});

function sign(call: FunctionCall, chain_id = 7777, nonce = 3): SignedTransaction {
  const { r, s, v } = KEY.sign(unsignedDigest({ chain_id, nonce, call }));
  return { chain_id, nonce, call, signature: { r, s, v } };
}

const TRANSFER: FunctionCall = {
  function_call_type: 'Transfer',
  arguments: { to: ADDRESS, amount: 1_000n },
};

test('every call round-trips, and its JSON names every argument', () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(signed, (transaction) => {
      seen.add(transaction.call.function_call_type);
      expect(decodeRaw(encodeRaw(transaction))).toEqual({ transaction });
      expect(Object.keys(argumentsJson(transaction.call))).toEqual(
        Object.keys(transaction.call.arguments),
      );
    }),
    { numRuns: 500, examples: fixedCases(100, signed) },
  );
  expect([...seen].toSorted()).toEqual(FUNCTION_CALL_TYPES.toSorted());
});

test('bytes, digest and hash equal those of another RLP implementation', () => {
  const transaction = sign(TRANSFER, 7777, 0);
  const unsigned = [
    toBeArray(7777),
    new Uint8Array(0),
    toUtf8Bytes('Transfer'),
    [ADDRESS, toBeArray(1_000)],
  ];
  expect(unsignedDigest(transaction)).toBe(keccak256(ethersRlp(unsigned)));
  const { r, s, v } = transaction.signature;
  const raw = ethersRlp([...unsigned, toBeArray(v), toBeArray(r), toBeArray(s)]);
  expect(hexlify(encodeRaw(transaction))).toBe(raw);
  expect(transactionHash(encodeRaw(transaction))).toBe(keccak256(raw));
});

test('the signer is recovered for the signed chain and nonce only', () => {
  const address = computeAddress(KEY).toLowerCase();
  const transaction = sign(TRANSFER);
  expect(recoverSigner(transaction)).toEqual({ signer: address });
  expect(recoverSigner({ ...transaction, chain_id: 1 })).not.toEqual({ signer: address });
  expect(recoverSigner({ ...transaction, nonce: 4 })).not.toEqual({ signer: address });
});

test('a signature whose r is on no point of the curve is refused, not thrown', () => {
  // 5 is the x of no point: 5^3 + 7 is no square in the field
  expect(
    recoverSigner({
      ...sign(TRANSFER),
      signature: { r: `0x${'5'.padStart(64, '0')}`, s: `0x${'1'.padStart(64, '0')}`, v: 27 },
    }),
  ).toEqual({
    refused: 'bad_signature',
  });
});

const NONE = new Uint8Array(0);
type Items = readonly RlpStructuredDataish[];
const ARGS: Items = [ADDRESS, '0x01'];
const raw = (items: Items): Uint8Array => Buffer.from(ethersRlp([...items]).slice(2), 'hex');
const text = (value: string): Uint8Array => toUtf8Bytes(value);
const call = (type: string, args: Items): Items => [
  '0x1e61',
  NONE,
  text(type),
  [...args],
  '0x1b',
  '0x01',
  '0x01',
];
const transfer = (
  changes: Partial<Record<0 | 1 | 2 | 3 | 4 | 5 | 6, RlpStructuredDataish>>,
): Items =>
  call('Transfer', ARGS).map(
    (item, index) => Object.entries(changes).find(([at]) => Number(at) === index)?.[1] ?? item,
  );
const request = (changes: Partial<Record<0 | 1 | 2 | 3 | 4 | 5, RlpStructuredDataish>>): Items =>
  call(
    'RideRequest',
    [text('52.5'), text('13.4'), text('-52.5'), text('0'), '0x64', NONE].map(
      (item, index) => Object.entries(changes).find(([at]) => Number(at) === index)?.[1] ?? item,
    ),
  );
const big = (value: bigint): Uint8Array => toBeArray(value);

test('the unmodified transactions are valid', () => {
  expect(decodeRaw(raw(transfer({})))).toHaveProperty('transaction');
  expect(decodeRaw(raw(request({})))).toHaveProperty('transaction');
});

const BAD: readonly (readonly [what: string, bytes: Uint8Array, refused: string])[] = [
  ['nothing', NONE, 'rlp_truncated'],
  ['a single byte', Uint8Array.of(1), 'wrong_arity'],
  ['an empty list', Uint8Array.of(0xc0), 'wrong_arity'],
  ['bytes cut off', raw(transfer({})).subarray(0, -1), 'rlp_truncated'],
  ['trailing bytes', Buffer.concat([raw(transfer({})), Uint8Array.of(0)]), 'trailing_bytes'],
  ['a small byte with a prefix', Uint8Array.of(0xc2, 0x81, 0x05), 'rlp_not_minimal'],
  ['a long form for a short list', Uint8Array.of(0xf8, 0x01, 0x05), 'rlp_not_minimal'],
  [
    'a length with a leading zero',
    Buffer.concat([Uint8Array.of(0xf9, 0x00, 0x38), new Uint8Array(56)]),
    'rlp_not_minimal',
  ],
  [
    'a length beyond the end',
    Uint8Array.of(0xbf, 255, 255, 255, 255, 255, 255, 255, 255),
    'rlp_truncated',
  ],
  ['a list inside an argument', raw(transfer({ 3: [ADDRESS, ['0x01']] })), 'rlp_nested_too_deep'],
  ['six items', raw(call('Transfer', ARGS).slice(0, 6)), 'wrong_arity'],
  ['eight items', raw([...call('Transfer', ARGS), '0x01']), 'wrong_arity'],
  ['too few arguments', raw(call('Transfer', [ADDRESS])), 'wrong_arity'],
  ['too many arguments', raw(call('Transfer', [...ARGS, '0x01'])), 'wrong_arity'],
  ['arguments that are no list', raw(transfer({ 3: '0x01' })), 'wrong_arity'],
  ['a chain id that is a list', raw(transfer({ 0: [] })), 'unexpected_list'],
  ['a type that is a list', raw(transfer({ 2: [] })), 'unexpected_list'],
  ['an unknown call', raw(transfer({ 2: text('Steal') })), 'unknown_function_call'],
  [
    'a call named like a property of every object',
    raw(transfer({ 2: text('constructor') })),
    'unknown_function_call',
  ],
  ['a call in lower case', raw(transfer({ 2: text('transfer') })), 'unknown_function_call'],
  ['a chain id with a leading zero', raw(transfer({ 0: '0x001e61' })), 'integer_not_minimal'],
  ['a nonce of one zero byte', raw(transfer({ 1: '0x00' })), 'integer_not_minimal'],
  [
    'an amount with a leading zero',
    raw(transfer({ 3: [ADDRESS, '0x0001'] })),
    'integer_not_minimal',
  ],
  ['a chain id beyond 2^53', raw(transfer({ 0: big(1n << 53n) })), 'chain_id_too_large'],
  ['a nonce beyond 2^53', raw(transfer({ 1: big(1n << 53n) })), 'nonce_too_large'],
  ['an amount of 2^256', raw(transfer({ 3: [ADDRESS, big(1n << 256n)] })), 'amount_too_large'],
  ['an address of 19 bytes', raw(transfer({ 3: [`0x${'ab'.repeat(19)}`, '0x01'] })), 'bad_address'],
  ['an address of 21 bytes', raw(transfer({ 3: [`0x${'ab'.repeat(21)}`, '0x01'] })), 'bad_address'],
  ['no address where one must be', raw(transfer({ 3: [NONE, '0x01'] })), 'bad_address'],
  ['a referrer of 1 byte', raw(request({ 5: '0x01' })), 'bad_address'],
  ['a hash of 31 bytes', raw(call('RideAcceptance', [`0x${'cd'.repeat(31)}`])), 'bad_hash'],
  ['a hash of 33 bytes', raw(call('RideCancel', [`0x${'cd'.repeat(33)}`])), 'bad_hash'],
  ['no hash where one must be', raw(call('RidePay', [NONE, '0x01'])), 'bad_hash'],
  ['a redemption reference of 1 byte', raw(call('Burn', ['0x01', '0x01'])), 'bad_hash'],
  ['a mint reference of 33 bytes', raw(call('Mint', [ADDRESS, '0x01', `${HASH}00`])), 'bad_hash'],
  ['a latitude beyond 90', raw(request({ 0: text('90.0000001') })), 'coordinate_out_of_range'],
  [
    'a latitude just beyond -90',
    raw(request({ 2: text('-90.000000000000001') })),
    'coordinate_out_of_range',
  ],
  ['a longitude beyond 180', raw(request({ 1: text('181') })), 'coordinate_out_of_range'],
  ['a coordinate with an exponent', raw(request({ 1: text('1e2') })), 'coordinate_not_canonical'],
  ['a coordinate with a sign', raw(request({ 1: text('+1') })), 'coordinate_not_canonical'],
  [
    'a coordinate with a trailing zero',
    raw(request({ 1: text('1.50') })),
    'coordinate_not_canonical',
  ],
  ['a coordinate with a leading zero', raw(request({ 1: text('01') })), 'coordinate_not_canonical'],
  ['a coordinate without its zero', raw(request({ 1: text('.5') })), 'coordinate_not_canonical'],
  ['minus zero', raw(request({ 1: text('-0') })), 'coordinate_not_canonical'],
  [
    'a coordinate that ends in a point',
    raw(request({ 1: text('1.') })),
    'coordinate_not_canonical',
  ],
  ['a coordinate with a line feed', raw(request({ 1: text('1\n') })), 'coordinate_not_canonical'],
  ['NaN', raw(request({ 1: text('NaN') })), 'coordinate_not_canonical'],
  ['no coordinate', raw(request({ 1: NONE })), 'coordinate_not_canonical'],
  ['full-width digits', raw(request({ 1: text('１') })), 'coordinate_not_canonical'],
  [
    'a coordinate of 60 KiB',
    raw(request({ 1: text(`1.${'1'.repeat(60_000)}`) })),
    'coordinate_not_canonical',
  ],
  ...([0n, 1n, 26n, 29n, 37n, 1n << 256n] as const).map(
    (v) => [`v of ${v}`, raw(transfer({ 4: big(v) })), 'signature_v_not_27_or_28'] as const,
  ),
  ...([0n, ORDER, ORDER + 1n, 1n << 256n] as const).map(
    (r) => [`r of ${r}`, raw(transfer({ 5: big(r) })), 'signature_r_out_of_range'] as const,
  ),
  ...([0n, ORDER / 2n + 1n, ORDER, 1n << 256n] as const).map(
    (s) => [`s of ${s}`, raw(transfer({ 6: big(s) })), 'signature_s_out_of_range'] as const,
  ),
  ['r with a leading zero', raw(transfer({ 5: '0x0001' })), 'integer_not_minimal'],
  ['more bytes than anyone takes', new Uint8Array(RAW_BYTES_MAX + 1), 'too_large'],
];

test.each(BAD)('%s is refused with its reason', (_what, bytes, refused) => {
  expect(decodeRaw(bytes)).toEqual({ refused });
});

test('lists nested 100,000 deep are refused without recursion', () => {
  const deep = Buffer.alloc(400_000);
  for (let at = 0; at < deep.length; at += 4)
    deep.set(
      [
        0xfa,
        ...Uint8Array.of(
          (deep.length - at - 4) >> 16,
          (deep.length - at - 4) >> 8,
          deep.length - at - 4,
        ),
      ],
      at,
    );
  expect(decodeRaw(deep, deep.length)).toEqual({ refused: 'rlp_nested_too_deep' });
});

test('any bytes decode to a transaction with one encoding or to a refusal, without throwing', () => {
  const good = raw(transfer({}));
  const mutated = fc
    .array(fc.tuple(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 4,
    })
    .map((changes) =>
      changes.reduce((bytes, [at, value]) => bytes.fill(value, at, at + 1), Uint8Array.from(good)),
    );
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), mutated), (bytes) => {
      const decoded = decodeRaw(bytes);
      if ('refused' in decoded) expect(decoded.refused).toMatch(/^[a-z0-9_]+$/);
      else expect(Buffer.from(encodeRaw(decoded.transaction)).equals(bytes)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

test('raw text is hex with or without 0x, in any case, up to the limit', () => {
  expect(parseRawText('0xABcd')).toEqual({ raw: Buffer.from('abcd', 'hex') });
  expect(parseRawText('abcd')).toEqual({ raw: Buffer.from('abcd', 'hex') });
  for (const bad of ['', '0x', '0xabc', 'xyz', '0x0xab', ' 0xab', '0xab\n'])
    expect(parseRawText(bad), bad).toEqual({ refused: 'not_hex' });
  expect(parseRawText(`0x${'ab'.repeat(5)}`, 4)).toEqual({ refused: 'too_large' });
  expect(parseRawText('a'.repeat(2 ** 20))).toEqual({ refused: 'too_large' });
});
