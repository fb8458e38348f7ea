/**
 * Raw transactions: rlp([chain_id, nonce, function_call_type, arguments, v, r, s]). Integers are
 * big-endian without leading zeros, text is UTF-8, addresses and hashes are 20 and 32 bytes, absent
 * values are empty. The signed digest is keccak256(rlp([chain_id, nonce, function_call_type,
 * arguments])). A transaction has exactly one encoding, hence one hash: others are refused.
 */
import { keccak256, recoverAddress } from 'ethers';
import type { CallRefusal, FunctionCall } from './function-call.ts';
import { decodeCall, encodeArguments } from './function-call.ts';
import type { Rlp, RlpRefusal } from './rlp.ts';
import { decodeInteger, decodeRlp, encodeInteger, encodeRlp } from './rlp.ts';

interface UnsignedTransaction {
  readonly chain_id: number;
  readonly nonce: number;
  readonly call: FunctionCall;
}

export interface Signature {
  /** 0x + 64 hex digits */
  readonly r: string;
  readonly s: string;
  readonly v: 27 | 28;
}

export interface SignedTransaction extends UnsignedTransaction {
  readonly signature: Signature;
}

type RawRefusal =
  | RlpRefusal
  | CallRefusal
  | 'not_hex'
  | 'too_large'
  | 'chain_id_too_large'
  | 'nonce_too_large'
  | 'signature_v_not_27_or_28'
  | 'signature_r_out_of_range'
  | 'signature_s_out_of_range';

/** The largest raw transaction, in bytes. */
export const RAW_BYTES_MAX = 128 * 1024;

/** Arguments of calls that are known are no lists. */
const ARGUMENTS_DEPTH_MAX = 8;

/** The order of the curve secp256k1. */
export const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const HEX = /^(?:0x)?((?:[0-9a-f]{2})+)$/i;

/** The digest that the sender signs, 0x + hex. */
export function unsignedDigest(transaction: UnsignedTransaction): string {
  return keccak256(encodeRlp(unsignedItems(transaction)));
}

/** The raw bytes of a signed transaction. */
export function encodeRaw(transaction: SignedTransaction): Uint8Array {
  const { v, r, s } = transaction.signature;
  return encodeRlp([
    ...unsignedItems(transaction),
    encodeInteger(BigInt(v)),
    encodeInteger(BigInt(r)),
    encodeInteger(BigInt(s)),
  ]);
}

/** keccak256 of the raw bytes, 0x + hex. */
export function transactionHash(raw: Uint8Array): string {
  return keccak256(raw);
}

/** Parses hex with or without 0x, in any case. Checks `bytes_max` before decoding. */
export function parseRawText(
  text: string,
  bytes_max = RAW_BYTES_MAX,
): { readonly raw: Buffer } | { readonly refused: 'not_hex' | 'too_large' } {
  if (text.length > bytes_max * 2 + 2) return { refused: 'too_large' };
  const digits = HEX.exec(text)?.[1];
  return digits === undefined ? { refused: 'not_hex' } : { raw: Buffer.from(digits, 'hex') };
}

/** Decodes a transaction. It checks the ranges of the signature; `recoverSigner` its signer. */
export function decodeRaw(
  raw: Uint8Array,
  bytes_max = RAW_BYTES_MAX,
): { readonly transaction: SignedTransaction } | { readonly refused: RawRefusal } {
  const parts = partsOf(raw, 2, bytes_max);
  if ('refused' in parts) return parts;
  const called = decodeCall(parts.type, parts.args);
  if ('refused' in called) return called;
  const numbers = numbersOf(parts);
  return 'refused' in numbers ? numbers : { transaction: { ...numbers, call: called.call } };
}

/** The signed parts of a transaction of any call, also of one that is not known here. */
export interface Envelope {
  readonly chain_id: number;
  readonly nonce: number;
  readonly function_call_type: string;
  /** 0x + lower-case hex */
  readonly signer: string;
}

/** Reads bytes as `decodeRaw` and `recoverSigner` do, but for the meaning of the arguments. */
export function readEnvelope(
  raw: Uint8Array,
): Envelope | { readonly refused: RawRefusal | 'bad_signature' } {
  const parts = partsOf(raw, ARGUMENTS_DEPTH_MAX, RAW_BYTES_MAX);
  if ('refused' in parts) return parts;
  const numbers = numbersOf(parts);
  if ('refused' in numbers) return numbers;
  const { chain_id, nonce, signature } = numbers;
  const recovered = signerOf(keccak256(encodeRlp(parts.items.slice(0, 4))), signature);
  return 'refused' in recovered
    ? recovered
    : { chain_id, nonce, function_call_type: parts.type, signer: recovered.signer };
}

interface Parts {
  readonly items: readonly Rlp[];
  readonly type: string;
  readonly args: readonly Rlp[];
}

function partsOf(
  raw: Uint8Array,
  depth_max: number,
  bytes_max: number,
): Parts | { readonly refused: RawRefusal } {
  if (raw.length > bytes_max) return { refused: 'too_large' };
  const decoded = decodeRlp(raw, depth_max);
  if ('refused' in decoded) return decoded;
  const { item: items } = decoded;
  if (items instanceof Uint8Array || items.length !== 7) return { refused: 'wrong_arity' };
  const [, , type, args] = items;
  if (args === undefined || args instanceof Uint8Array) return { refused: 'wrong_arity' };
  if (!(type instanceof Uint8Array)) return { refused: 'unexpected_list' };
  return { items, type: Buffer.from(type).toString('latin1'), args };
}

function numbersOf({
  items: [chainId, nonce, , , v, r, s],
}: Parts): Omit<SignedTransaction, 'call'> | { readonly refused: RawRefusal } {
  const numbers = integers([chainId, nonce, v, r, s]);
  if ('refused' in numbers) return numbers;
  const [chainIdValue = 0n, nonceValue = 0n, vValue = 0n, rValue = 0n, sValue = 0n] =
    numbers.values;
  if (chainIdValue > Number.MAX_SAFE_INTEGER) return { refused: 'chain_id_too_large' };
  if (nonceValue > Number.MAX_SAFE_INTEGER) return { refused: 'nonce_too_large' };
  const signature = signatureOf(vValue, rValue, sValue);
  if ('refused' in signature) return signature;
  return {
    chain_id: Number(chainIdValue),
    nonce: Number(nonceValue),
    signature: signature.signature,
  };
}

/** The signer's address, 0x + lower-case hex. Refused when r is on no point of the curve. */
export function recoverSigner(
  transaction: SignedTransaction,
): { readonly signer: string } | { readonly refused: 'bad_signature' } {
  return signerOf(unsignedDigest(transaction), transaction.signature);
}

function signerOf(
  digest: string,
  signature: Signature,
): { readonly signer: string } | { readonly refused: 'bad_signature' } {
  try {
    return { signer: recoverAddress(digest, signature).toLowerCase() };
  } catch {
    // the ranges are checked already: only an r that is on no point of the curve is left
    return { refused: 'bad_signature' };
  }
}

function unsignedItems({ chain_id, nonce, call }: UnsignedTransaction): readonly Rlp[] {
  return [
    encodeInteger(BigInt(chain_id)),
    encodeInteger(BigInt(nonce)),
    Buffer.from(call.function_call_type, 'utf8'),
    encodeArguments(call),
  ];
}

function integers(
  items: readonly (Rlp | undefined)[],
): { readonly values: readonly bigint[] } | { readonly refused: RawRefusal } {
  const values: bigint[] = [];
  for (const item of items) {
    if (!(item instanceof Uint8Array)) return { refused: 'unexpected_list' };
    const value = decodeInteger(item);
    if (value === undefined) return { refused: 'integer_not_minimal' };
    values.push(value);
  }
  return { values };
}

function signatureOf(
  v: bigint,
  r: bigint,
  s: bigint,
): { readonly signature: Signature } | { readonly refused: RawRefusal } {
  if (v !== 27n && v !== 28n) return { refused: 'signature_v_not_27_or_28' };
  if (r === 0n || r >= CURVE_ORDER) return { refused: 'signature_r_out_of_range' };
  // s and CURVE_ORDER - s are both valid: allowing one keeps the hash unique
  if (s === 0n || s > CURVE_ORDER / 2n) return { refused: 'signature_s_out_of_range' };
  return { signature: { v: v === 27n ? 27 : 28, r: toHex32(r), s: toHex32(s) } };
}

function toHex32(value: bigint): string {
  return `0x${value.toString(16).padStart(64, '0')}`;
}
