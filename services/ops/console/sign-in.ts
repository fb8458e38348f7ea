/**
 * Sign-in of operators at the operations page. The server makes a text (EIP-4361, which wallets
 * compare with the page that asks), an operator's key signs it once, and the page gets a token that
 * it keeps in memory. No cookie: those of one port of a machine are sent to all others.
 */
import { hash } from 'node:crypto';
import { getAddress } from 'ethers';
import { LRUCache } from 'lru-cache';
import { parseAddress, toHex } from '../../../schemas/address.ts';
import { signerOfText } from '../../../schemas/operator-signature.ts';
import type { Refusal } from '../../runtime/process/errors.ts';

const CHALLENGE_MS = 120_000;
export const SESSION_MS = 30 * 60_000;
/** Beyond these the one that was used least recently is forgotten. */
const CHALLENGES_MAX = 1_000;
const SESSIONS_MAX = 100;
const NONCE_BYTES = 16;
const TOKEN_BYTES = 32;

/** Who may sign in; a refusal while nobody may. */
export type Admission =
  | {
      /** addresses of the operators in force; undefined: there are none, and any key may */
      readonly operators: readonly Buffer[] | undefined;
    }
  | Refusal<'not_ready'>;

interface SignInOptions {
  readonly admission: () => Admission;
  /** Unix milliseconds */
  readonly now: () => number;
  readonly random: (bytes: number) => Buffer;
}

export interface Session {
  readonly token: string;
  /** 20 bytes */
  readonly operator: Buffer;
  /** Unix milliseconds */
  readonly expires_at: number;
}

type SignInRefusal = 'not_ready' | 'invalid_request' | 'unknown_challenge' | 'foreign_key';

const NOT_OF_ADDRESS: Refusal<'foreign_key'> = {
  refused: 'foreign_key',
  message:
    'the signature is not by the address that the text names: choose this account in the wallet and sign in again; accounts of contracts cannot sign in',
};
const ANOTHER: Refusal<'foreign_key'> = {
  refused: 'foreign_key',
  message:
    'the signature is of nobody among the operators in force: `ops operators show` lists them',
};
const UNKNOWN: Refusal<'unknown_challenge'> = {
  refused: 'unknown_challenge',
  message: 'the text was signed too late, or was used before: sign in again',
};

export class SignIns {
  readonly #options: SignInOptions;
  /** addresses by the text that they were given */
  readonly #challenges: LRUCache<string, Buffer>;
  /** by a hash of the token, so that the time of a comparison tells nothing */
  readonly #sessions: LRUCache<string, Session>;

  constructor(options: SignInOptions) {
    this.#options = options;
    const perf = { now: options.now };
    this.#challenges = new LRUCache({
      max: CHALLENGES_MAX,
      ttl: CHALLENGE_MS,
      ttlResolution: 0,
      perf,
    });
    this.#sessions = new LRUCache({ max: SESSIONS_MAX, ttl: SESSION_MS, ttlResolution: 0, perf });
  }

  /** The text that the key of this address has to sign; `origin` is that of the page. */
  challenge(
    given: string,
    origin: string,
  ): { readonly text: string } | Refusal<'not_ready' | 'invalid_request'> {
    const { admission, now, random } = this.#options;
    const admitted = admission();
    if ('refused' in admitted) return admitted;
    const address = parseAddress(given);
    if (address === undefined)
      return { refused: 'invalid_request', message: 'address is 0x and 40 hex digits' };
    const at = now();
    const text = [
      `${new URL(origin).host} wants you to sign in with your Ethereum account:`,
      getAddress(toHex(address)),
      '',
      'Look at the operations of the CLT system. This decides nothing.',
      '',
      `URI: ${origin}`,
      'Version: 1',
      // required by EIP-4361; no chain is asked
      'Chain ID: 1',
      `Nonce: ${random(NONCE_BYTES).toString('hex')}`,
      `Issued At: ${new Date(at).toISOString()}`,
      `Expiration Time: ${new Date(at + CHALLENGE_MS).toISOString()}`,
    ].join('\n');
    this.#challenges.set(text, address);
    return { text };
  }

  /** Opens a session for a text that its key has signed, once. */
  open(text: string, signature: Buffer): Session | Refusal<SignInRefusal> {
    const { admission, now, random } = this.#options;
    const admitted = admission();
    if ('refused' in admitted) return admitted;
    const address = this.#challenges.get(text);
    if (address === undefined) return UNKNOWN;
    this.#challenges.delete(text);
    const signer = signerOfText(text, signature);
    if (signer === undefined || !signer.equals(address)) return NOT_OF_ADDRESS;
    if (!isAmong(admitted, signer)) return ANOTHER;
    const token = random(TOKEN_BYTES).toString('base64url');
    const session = { token, operator: signer, expires_at: now() + SESSION_MS };
    this.#sessions.set(hash('sha256', token), session);
    return session;
  }

  /** The session of a token, while its operator is in force. */
  of(token: string): Session | undefined {
    const session = this.#sessions.get(hash('sha256', token));
    if (session === undefined) return undefined;
    const admitted = this.#options.admission();
    return !('refused' in admitted) && isAmong(admitted, session.operator) ? session : undefined;
  }

  close(token: string): void {
    this.#sessions.delete(hash('sha256', token));
  }
}

function isAmong({ operators }: Exclude<Admission, Refusal>, address: Buffer): boolean {
  return operators === undefined || operators.some((each) => each.equals(address));
}
