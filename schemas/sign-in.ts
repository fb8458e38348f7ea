/**
 * Signing in with a wallet. The challenge names the chain, the key and the time, as text; it is signed in one of three forms, each with a digest of its own, so that a
 * signature made for one form, chain or time is none for another.
 */
import { computeAddress, keccak256, SigningKey } from 'ethers';

/** How far a challenge's time may be from the server's, either way and inclusive. */
export const TIMESTAMP_SECONDS_MAX = 120;

/** As a client sends it. */
export interface AuthSignature {
  readonly r: string;
  readonly s: string;
  readonly v: number;
}

export interface SignInRequest {
  /** a wallet address, 0x + 40 hex digits, or an uncompressed public key, 130 hex digits with or without 0x; byte for byte part of the challenge */
  readonly publicKey: string;
  /** Unix seconds */
  readonly timestamp: number;
  readonly signature: AuthSignature;
}

export type SignInRefusal = 'wrong_time' | 'wrong_signature';

/** Which text the wallet was shown, or signed unseen. */
export const SIGN_IN_FORMS = ['raw', 'eip191', 'tip191'] as const;
export type SignInForm = (typeof SIGN_IN_FORMS)[number];

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const WALLET_ADDRESS = /^0x[0-9a-f]{40}$/;
const PUBLIC_KEY = /^(?:0x)?(04[0-9a-fA-F]{128})$/;
const SCALAR = /^(?:0x)?([0-9a-fA-F]{64})$/;

/** The text that is signed. */
export function challengeOf(chain_id: number, publicKey: string, timestamp: number): string {
  return `service-auth:${chain_id}:${publicKey}:${timestamp}`;
}

/** What a wallet signs for this text, 0x + hex. */
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

/** Undefined when the challenge of this request was signed by its key within the time; `now_ms` in Unix milliseconds. */
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

/** The account, 0x + lower-case hex, of a public key in either form, the address of a wallet or the key itself; undefined when it is neither. */
export function accountOfKey(publicKey: string): string | undefined {
  if (ADDRESS.test(publicKey)) return publicKey.toLowerCase();
  const digits = PUBLIC_KEY.exec(publicKey)?.[1];
  if (digits === undefined) return undefined;
  try {
    return computeAddress(`0x${digits}`).toLowerCase();
  } catch {
    // a point that is not on the curve is nobody's key
    return undefined;
  }
}

/** A wallet knows itself by its address, in lower case; keys and addresses in any other shape sign raw. */
function formsOf(publicKey: string): readonly SignInForm[] {
  return WALLET_ADDRESS.test(publicKey) ? SIGN_IN_FORMS : ['raw'];
}

/** Whether a recovered key, 0x04.., is the one that was named; undefined when none was. */
function keyTest(publicKey: string): ((recovered: string) => boolean) | undefined {
  if (ADDRESS.test(publicKey))
    return (recovered) => computeAddress(recovered).toLowerCase() === publicKey.toLowerCase();
  const digits = PUBLIC_KEY.exec(publicKey)?.[1];
  return digits === undefined
    ? undefined
    : (recovered) => recovered.toLowerCase() === `0x${digits.toLowerCase()}`;
}

interface CheckedSignature {
  /** 0x + 64 hex digits */
  readonly r: string;
  readonly s: string;
  readonly v: 27 | 28;
}

/** What ethers does not see to: it takes other v, high s, and breaks on numbers that are out of range. */
function checkedSignature({ r, s, v }: AuthSignature): CheckedSignature | undefined {
  const [rDigits, sDigits] = [SCALAR.exec(r)?.[1], SCALAR.exec(s)?.[1]];
  if (rDigits === undefined || sDigits === undefined || (v !== 27 && v !== 28)) return undefined;
  const [rValue, sValue] = [BigInt(`0x${rDigits}`), BigInt(`0x${sDigits}`)];
  if (rValue === 0n || rValue >= CURVE_ORDER || sValue === 0n || sValue > CURVE_ORDER / 2n)
    return undefined;
  return { r: `0x${rDigits}`, s: `0x${sDigits}`, v };
}

/** The uncompressed public key that made the signature, 0x04..; undefined when r is on no point of the curve. */
function signerOf(digest: string, signature: CheckedSignature): string | undefined {
  try {
    return SigningKey.recoverPublicKey(digest, signature);
  } catch {
    // what ethers throws here has no code; the numbers' ranges are checked, so only the curve is left
    return undefined;
  }
}

/** EIP-191 and, with another network's name, TIP-191: the length is that of the UTF-8 bytes. */
function prefixedDigest(network: 'Ethereum' | 'TRON', challenge: string): string {
  const message = Buffer.from(challenge);
  return keccak256(
    Buffer.concat([Buffer.from(`\u0019${network} Signed Message:\n${message.length}`), message]),
  );
}
