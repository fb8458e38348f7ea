/** Recoverable signatures as the hub and the chain take them. */

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

function split(text: string): readonly [r: string, s: string, v: number] {
  const [, r, s, v] = SIGNATURE.exec(text) ?? [];
  if (r === undefined || s === undefined || v === undefined)
    throw new TypeError(
      'a signature must be 65 bytes as hex: accounts of contracts, whose signatures are longer, cannot sign in',
    );
  return [r, s, Number.parseInt(v, 16)];
}
