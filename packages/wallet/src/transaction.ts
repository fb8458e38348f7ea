/** The bytes of a transaction, from the JSON that the hub builds. */
import { encodeRlp, fromHex, integerBytes, keccak256, toHex, utf8, type Rlp } from './bytes.ts';
import { readObject } from './json.ts';
import { signedBy } from './signature.ts';
import type { MessageSigner, Signer } from './signers.ts';

/** The answer of each `createUnsigned...`. */
export interface UnsignedTransaction {
  /** the signer's address */
  readonly from: string;
  readonly nonce: number;
  readonly chain_id: number;
  readonly data: {
    readonly function_call_type: string;
    /** amounts are decimal text; an optional argument may be null */
    readonly arguments: Readonly<Record<string, string | null>>;
  };
}

export interface SignedTransaction {
  readonly from: string;
  readonly nonce: number;
  /** for `sendRawTransaction`, 0x + hex */
  readonly raw: string;
  /** 0x + 64 hex digits */
  readonly hash: string;
}

const FORMATS = {
  amount: /^(0|[1-9][0-9]{0,77})$/,
  address: /^0x[0-9a-fA-F]{40}$/,
  hash: /^0x[0-9a-fA-F]{64}$/,
  degrees: /^-?(0|[1-9][0-9]{0,2})(\.[0-9]{0,14}[1-9])?$/,
};
const NAMES = {
  amount: 'a decimal integer as text',
  address: '0x and 40 hex digits',
  hash: '0x and 64 hex digits',
  degrees: 'decimal degrees as text',
};
type Format = keyof typeof FORMATS;

/** The arguments of each call in the order of the signed bytes. */
const CALLS: Readonly<Record<string, Readonly<Record<string, Format>>>> = {
  RideRequest: {
    pickup_lat: 'degrees',
    pickup_lng: 'degrees',
    dropoff_lat: 'degrees',
    dropoff_lng: 'degrees',
    fare: 'amount',
    referrer: 'address',
  },
  RideOffer: { request_hash: 'hash', fare: 'amount', referrer: 'address' },
  RideAcceptance: { offer_hash: 'hash' },
  RidePay: { acceptance_hash: 'hash', fare: 'amount' },
  RideCancel: { acceptance_hash: 'hash' },
  RideRequestCancel: { request_hash: 'hash' },
  Transfer: { to: 'address', amount: 'amount' },
  Burn: { amount: 'amount', redemption_ref: 'hash' },
};
const OPTIONAL: ReadonlySet<string> = new Set(['referrer', 'redemption_ref']);

/**
 * The bytes whose keccak256 is signed, of the JSON of a builder as it came: an
 * `UnsignedTransaction`. Anything else throws a TypeError.
 */
export function unsignedBytes(unsigned: unknown): Uint8Array {
  return encodeRlp(read(unsigned).items);
}

/** The 32 bytes to sign, as they are. */
export function unsignedDigest(unsigned: unknown): Uint8Array {
  return keccak256(unsignedBytes(unsigned));
}

/**
 * Signs a transaction of the chain with this id. Compare `data` with what you asked for before:
 * what is signed is what the JSON says.
 */
export async function signTransaction(
  chainId: number,
  unsigned: unknown,
  signer: Signer,
): Promise<SignedTransaction> {
  const transaction = read(unsigned);
  const { from, nonce, items } = transaction;
  if (!canSignDigest(signer))
    throw new TypeError('this wallet signs messages only, and a transaction is signed as a digest');
  if (transaction.chainId !== chainId)
    throw new TypeError(`the transaction is for chain ${transaction.chainId}, not ${chainId}`);
  if (from !== signer.address)
    throw new TypeError(`the transaction is from ${from}, not from ${signer.address}`);
  const digest = keccak256(encodeRlp(items));
  const { r, s, v } = signedBy(from, [digest], await signer.signDigest(digest));
  const numbers = [BigInt(v), BigInt(r), BigInt(s)].map(integerBytes);
  const raw = encodeRlp([...items, ...numbers]);
  return { from, nonce, raw: toHex(raw), hash: toHex(keccak256(raw)) };
}

/** False for a `MessageSigner` from code without types. */
function canSignDigest(signer: MessageSigner): boolean {
  return 'signDigest' in signer;
}

interface Read {
  readonly from: string;
  readonly nonce: number;
  readonly chainId: number;
  readonly items: readonly Rlp[];
}

function read(unsigned: unknown): Read {
  const { from, nonce, chain_id: chainId, data } = readObject(unsigned) ?? {};
  const { function_call_type: functionCallType, arguments: args } = readObject(data) ?? {};
  const values = readObject(args);
  if (typeof from !== 'string' || typeof functionCallType !== 'string' || values === undefined)
    throw new TypeError('the JSON is no unsigned transaction');
  const parameters = Object.hasOwn(CALLS, functionCallType) ? CALLS[functionCallType] : undefined;
  if (parameters === undefined)
    throw new TypeError(`${functionCallType} is no call that is signed here`);
  const unknown = Object.keys(values).find((name) => !Object.hasOwn(parameters, name));
  if (unknown !== undefined) throw new TypeError(`${functionCallType} has no argument ${unknown}`);
  const numbers = { chainId: count('chain_id', chainId), nonce: count('nonce', nonce) };
  return {
    from: from.toLowerCase(),
    ...numbers,
    items: [
      integerBytes(BigInt(numbers.chainId)),
      integerBytes(BigInt(numbers.nonce)),
      utf8(functionCallType),
      Object.entries(parameters).map(([name, format]) => argument(name, format, values[name])),
    ],
  };
}

function count(name: string, value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new TypeError(`${name} must be an integer from 0 to 2^53 - 1`);
  return value;
}

function argument(name: string, format: Format, value: unknown): Uint8Array {
  if (value === null && OPTIONAL.has(name)) return new Uint8Array(0);
  if (typeof value !== 'string' || !FORMATS[format].test(value))
    throw new TypeError(`the argument ${name} must be ${NAMES[format]}`);
  if (format === 'amount') return integerBytes(BigInt(value));
  return format === 'degrees' ? utf8(value) : fromHex(value);
}
