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

export interface SignInRefusal {
  /** wrong_form: signed with a prefix, for another `publicKey` than a lower-case address */
  readonly refused: 'malformed' | 'wrong_time' | 'wrong_form' | 'wrong_signer';
  /** what to do */
  readonly message: string;
}

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
  { publicKey, timestamp, signature }: SignInRequest,
  chain_id: number,
  now_ms: number,
): SignInRefusal | undefined {
  const isOfKey = keyTest(publicKey);
  if (isOfKey === undefined) return malformed(KEY_FORMS);
  const checked = checkedSignature(signature);
  if (typeof checked === 'string') return malformed(checked);
  if (!Number.isSafeInteger(timestamp)) return malformed('timestamp must be in whole Unix seconds');
  const wrongTime = refuseTime(timestamp, Math.floor(now_ms / 1_000));
  if (wrongTime !== undefined) return { refused: 'wrong_time', message: wrongTime };
  const challenge = challengeOf(chain_id, publicKey, timestamp);
  const signed = SIGN_IN_FORMS.find((form) => {
    const signer = signerOf(challengeDigest(form, challenge), checked);
    return signer !== undefined && isOfKey(signer);
  });
  if (signed === undefined)
    return {
      refused: 'wrong_signer',
      message: `the signature is not by the key of publicKey over service-auth:${chain_id}:{publicKey}:{timestamp}, as these were sent: let this account of the wallet sign this text, for chain ${chain_id}; accounts of contracts cannot sign in`,
    };
  if (signed === 'raw' || WALLET_ADDRESS.test(publicKey)) return undefined;
  return {
    refused: 'wrong_form',
    message:
      'the signature has the prefix of a wallet, which is taken for an address in lower case alone: sign and send publicKey as 0x and 40 hex digits in lower case',
  };
}

const KEY_FORMS =
  'publicKey must be an address, 0x and 40 hex digits (for a TRON wallet 0x in place of the 41 of its hex form), or an uncompressed public key of 130 hex digits';

function malformed(message: string): SignInRefusal {
  return { refused: 'malformed', message };
}

/** Why a time is not current; both in Unix seconds. */
function refuseTime(timestamp: number, now: number): string | undefined {
  const age = now - timestamp;
  if (Math.abs(age) <= TIMESTAMP_SECONDS_MAX) return undefined;
  const limit = `at most ${TIMESTAMP_SECONDS_MAX} s are taken, and the server's time is ${now}`;
  return age > 0
    ? `the challenge is ${age} s old, ${limit}: sign a new one and send it at once; if you did, your clock is slow`
    : `the challenge is ${-age} s ahead, ${limit}: set your clock`;
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
 * s in the upper half becomes its other form, of the same key, the only one that ethers takes. A
 * text says why it is none.
 */
function checkedSignature({ r, s, v }: AuthSignature): Signature | string {
  const [rDigits, sDigits] = [SCALAR.exec(r)?.[1], SCALAR.exec(s)?.[1]];
  if (rDigits === undefined || sDigits === undefined)
    return 'r and s of the signature must be 32 bytes in hex each, with leading zeros: the 65 bytes of a wallet are r, s and v';
  if (v !== 27 && v !== 28)
    return 'v of the signature must be 27 or 28: add 27 where the wallet gives 0 or 1';
  const [rValue, sValue] = [BigInt(`0x${rDigits}`), BigInt(`0x${sDigits}`)];
  if (rValue === 0n || rValue >= CURVE_ORDER || sValue === 0n || sValue >= CURVE_ORDER)
    return 'r and s of the signature must be above 0 and below the order of secp256k1: send them as the wallet gives them';
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
