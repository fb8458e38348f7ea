/** Recoverable signatures as the hub and the chain take them, checked against their account. */
import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak256, toHex } from './bytes.ts';

export interface Signature {
  /** 0x + 64 hex digits */
  readonly r: string;
  /** 0x + 64 hex digits, at most half of the curve's order */
  readonly s: string;
  readonly v: 27 | 28;
}

/**
 * A signature as signers give it: 65 bytes as hex, or its parts. `v` may be 0 or 1, or be absent
 * where a digest was signed, because the address tells which of the two it is.
 */
export type SignatureLike =
  string | { readonly r: string; readonly s: string; readonly v?: number | bigint | undefined };

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const SIGNATURE = /^(?:0x)?([0-9a-f]{64})([0-9a-f]{64})([0-9a-f]{2})$/i;
const CONTRACTS =
  'accounts of contracts, which have no key of their own, can neither sign in nor give a key';
const HEX = /^(?:0x)?[0-9a-f]*$/i;
const SCALAR = /^(?:0x)?([0-9a-f]{64})$/i;

/** The signature with the low one of its two s, and each `v` that it may have. */
export function readSignature(like: SignatureLike): readonly [Signature, ...Signature[]] {
  const [r, s, v] = typeof like === 'string' ? split(like) : [like.r, like.s, like.v];
  const [rDigits, sDigits] = [SCALAR.exec(r)?.[1], SCALAR.exec(s)?.[1]];
  if (rDigits === undefined || sDigits === undefined)
    throw new TypeError('r and s of a signature must be 32 bytes as hex each');
  const value = BigInt(`0x${sDigits}`);
  const isHigh = value > CURVE_ORDER / 2n;
  const low = isHigh ? CURVE_ORDER - value : value;
  const parts = {
    r: `0x${rDigits.toLowerCase()}`,
    s: `0x${low.toString(16).padStart(64, '0')}`,
  };
  if (v === undefined)
    return [
      { ...parts, v: 27 },
      { ...parts, v: 28 },
    ];
  const parity = Number(v) >= 27 ? Number(v) - 27 : Number(v);
  if (parity !== 0 && parity !== 1)
    throw new TypeError('v of a signature must be 27 or 28, or 0 or 1');
  return [{ ...parts, v: (parity === 1) === isHigh ? 27 : 28 }];
}

/** The signature of one of these digests by the key of this account; throws for any other. */
export function signedBy(
  account: string,
  digests: readonly Uint8Array[],
  like: SignatureLike,
): Signature {
  const signature = readSignature(like).find((each) =>
    digests.some((digest) => signerOf(digest, each) === account),
  );
  if (signature === undefined)
    throw new Error(
      `the signature is not by the key of ${account}: choose this account in the wallet; ${CONTRACTS}`,
    );
  return signature;
}

/** The last 20 bytes of the hash of a key's 64 bytes, without its first byte 04. */
export function addressOf(publicKey: Uint8Array): string {
  return toHex(keccak256(publicKey.subarray(1)).subarray(12));
}

function signerOf(digest: Uint8Array, { r, s, v }: Signature): string | undefined {
  try {
    const signature = new secp256k1.Signature(BigInt(r), BigInt(s), v - 27);
    return addressOf(signature.recoverPublicKey(digest).toBytes(false));
  } catch {
    // r is on no point of the curve, or a number is out of range
    return undefined;
  }
}

function split(text: string): readonly [r: string, s: string, v: number] {
  const [, r, s, v] = SIGNATURE.exec(text) ?? [];
  if (r !== undefined && s !== undefined && v !== undefined) return [r, s, Number.parseInt(v, 16)];
  const bytes = HEX.test(text) ? text.replace(/^0x/i, '').length / 2 : undefined;
  throw new TypeError(
    bytes === 0 || (bytes ?? 0) > 65
      ? `a signature of ${bytes} bytes is none of a key: ${CONTRACTS}`
      : 'a signature must be 65 bytes as hex: r, s and v',
  );
}
