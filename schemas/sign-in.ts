/**
 * Sign-in with a wallet. The challenge is text with the chain, the key and the time. It is signed
 * in one of three forms with distinct digests, so that a signature is valid for one form, chain and
 * time only.
 */
import { computeAddress, keccak256, SigningKey } from 'ethers';
import { CURVE_ORDER, type Signature } from './raw-transaction.ts';

/** The maximum distance of a challenge's time from the server's, inclusive. */
export const TIMESTAMP_SECONDS_MAX = 120;

export interface AuthSignature {
  readonly r: string;
  readonly s: string;
  readonly v: number;
}

export interface SignInRequest {
  /** 0x + 40 hex digits, or an uncompressed key: 130 hex digits; part of the challenge as sent */
  readonly publicKey: string;
  /** Unix seconds */
  readonly timestamp: number;
  readonly signature: AuthSignature;
}

export type SignInRefusal = 'wrong_time' | 'wrong_signature';

/** raw: the plain digest. eip191, tip191: the prefixed message that a wallet displays. */
export const SIGN_IN_FORMS = ['raw', 'eip191', 'tip191'] as const;
export type SignInForm = (typeof SIGN_IN_FORMS)[number];

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const WALLET_ADDRESS = /^0x[0-9a-f]{40}$/;
const PUBLIC_KEY = /^(?:0x)?(04[0-9a-fA-F]{128})$/;
const SCALAR = /^(?:0x)?([0-9a-fA-F]{64})$/;

/** The signed text. */
export function challengeOf(chain_id: number, publicKey: string, timestamp: number): string {
  return `service-auth:${chain_id}:${publicKey}:${timestamp}`;
}

/** The digest that a wallet signs for this text, 0x + hex. */
export function challengeDigest(form: SignInForm, challenge: string): string {
  switch (form) {
    case 'raw':
      return keccak256(Buffer.from(keccak256(Buffer.from(challenge)).slice(2)));
    case 'eip191':
      return prefixedDigest('Ethereum', challenge);
    case 'tip191':
      return prefixedDigest('TRON', challenge);
  }
}

/** Undefined when the key signed the challenge and its time is current. */
export function refuseSignIn(
  request: SignInRequest,
  chain_id: number,
  now_ms: number,
): SignInRefusal | undefined {
  const { publicKey, timestamp, signature } = request;
  const late = Math.abs(Math.floor(now_ms / 1_000) - timestamp);
  if (!Number.isSafeInteger(timestamp) || late > TIMESTAMP_SECONDS_MAX) return 'wrong_time';
  const isOfKey = keyTest(publicKey);
  const checked = checkedSignature(signature);
  if (isOfKey === undefined || checked === undefined) return 'wrong_signature';
  const challenge = challengeOf(chain_id, publicKey, timestamp);
  const isSigned = formsOf(publicKey).some((form) => {
    const signer = signerOf(challengeDigest(form, challenge), checked);
    return signer !== undefined && isOfKey(signer);
  });
  return isSigned ? undefined : 'wrong_signature';
}

/** The account (0x + lower-case hex) of a `publicKey`; undefined when it is malformed. */
export function accountOfKey(publicKey: string): string | undefined {
  if (ADDRESS.test(publicKey)) return publicKey.toLowerCase();
  const digits = PUBLIC_KEY.exec(publicKey)?.[1];
  if (digits === undefined) return undefined;
  try {
    return computeAddress(`0x${digits}`).toLowerCase();
  } catch {
    // the point is not on the curve
    return undefined;
  }
}

/** Wallets send a lower-case address; every other key signs raw. */
function formsOf(publicKey: string): readonly SignInForm[] {
  return WALLET_ADDRESS.test(publicKey) ? SIGN_IN_FORMS : ['raw'];
}

/** A test of a recovered key (0x04..) against `publicKey`; undefined when that is malformed. */
function keyTest(publicKey: string): ((recovered: string) => boolean) | undefined {
  if (ADDRESS.test(publicKey))
    return (recovered) => computeAddress(recovered).toLowerCase() === publicKey.toLowerCase();
  const digits = PUBLIC_KEY.exec(publicKey)?.[1];
  return digits === undefined
    ? undefined
    : (recovered) => recovered.toLowerCase() === `0x${digits.toLowerCase()}`;
}

/**
 * Stricter than ethers, which accepts other v and throws on numbers out of range. A signature with
 * s in the upper half becomes its other form, of the same key, the only one that ethers takes.
 */
function checkedSignature({ r, s, v }: AuthSignature): Signature | undefined {
  const [rDigits, sDigits] = [SCALAR.exec(r)?.[1], SCALAR.exec(s)?.[1]];
  if (rDigits === undefined || sDigits === undefined || (v !== 27 && v !== 28)) return undefined;
  const [rValue, sValue] = [BigInt(`0x${rDigits}`), BigInt(`0x${sDigits}`)];
  if (rValue === 0n || rValue >= CURVE_ORDER || sValue === 0n || sValue >= CURVE_ORDER)
    return undefined;
  if (sValue <= CURVE_ORDER / 2n) return { r: `0x${rDigits}`, s: `0x${sDigits}`, v };
  const low = (CURVE_ORDER - sValue).toString(16).padStart(64, '0');
  return { r: `0x${rDigits}`, s: `0x${low}`, v: v === 27 ? 28 : 27 };
}

/** The uncompressed key of the signer, 0x04..; undefined when r is on no point of the curve. */
function signerOf(digest: string, signature: Signature): string | undefined {
  try {
    return SigningKey.recoverPublicKey(digest, signature);
  } catch {
    // the ranges are checked already: only an r that is on no point of the curve is left
    return undefined;
  }
}

/** EIP-191 and TIP-191. The length counts UTF-8 bytes. */
function prefixedDigest(network: 'Ethereum' | 'TRON', challenge: string): string {
  const message = Buffer.from(challenge);
  return keccak256(
    Buffer.concat([Buffer.from(`\u0019${network} Signed Message:\n${message.length}`), message]),
  );
}
