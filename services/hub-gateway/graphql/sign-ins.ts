/**
 * Tokens for those who have signed the challenge. A token's life counts from the time in the challenge, so that the same challenge gives the same token, whichever hub
 * it is sent to and however often: a retry works, and nothing prolongs a token.
 */
import {
  refuseSignIn,
  TIMESTAMP_SECONDS_MAX,
  type SignInRefusal,
  type SignInRequest,
} from '../../../schemas/sign-in.ts';
import { signToken } from '../../runtime/http/token.ts';

export interface SignInSettings {
  readonly chain_id: number;
  readonly jwt_secret: string;
  readonly jwt_expiration_hours: number;
  /** whether a challenge is taken once only */
  readonly auth_single_use: boolean;
}

export interface SignedIn {
  readonly token: string;
  /** Unix seconds */
  readonly expiresAt: number;
}

export class SignIns {
  readonly #settings: SignInSettings;
  readonly #now: () => number;
  readonly #since: number;
  /** the challenges taken, with the Unix second from which they are refused for their age; the oldest first */
  readonly #taken = new Map<string, number>();

  /** `now` in Unix milliseconds. */
  constructor(settings: SignInSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
    this.#since = Math.floor(now() / 1_000);
  }

  /** The token of the request's key, or why there is none. */
  async signIn(
    request: SignInRequest,
  ): Promise<SignedIn | { readonly refused: SignInRefusal | 'used_before' }> {
    const {
      chain_id: chainId,
      jwt_secret: secret,
      jwt_expiration_hours: hours,
      auth_single_use: singleUse,
    } = this.#settings;
    const { publicKey, timestamp } = request;
    const refused = refuseSignIn(request, chainId, this.#now());
    if (refused !== undefined) return { refused };
    if (singleUse && !this.#take(publicKey, timestamp)) return { refused: 'used_before' };
    const exp = timestamp + hours * 3_600;
    return { token: await signToken({ pk: publicKey, exp }, secret), expiresAt: exp };
  }

  /** Whether this challenge comes for the first time, as far as is known: of those from before this process nothing is. */
  #take(publicKey: string, timestamp: number): boolean {
    const now = Math.floor(this.#now() / 1_000);
    for (const [challenge, until] of this.#taken) {
      if (until >= now) break;
      this.#taken.delete(challenge);
    }
    const challenge = `${timestamp} ${publicKey}`;
    if (timestamp < this.#since || this.#taken.has(challenge)) return false;
    // any taken now is too old after twice the time that it may differ by
    this.#taken.set(challenge, now + 2 * TIMESTAMP_SECONDS_MAX);
    return true;
  }
}
