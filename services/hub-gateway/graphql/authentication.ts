/** Sign-in by a signed challenge, and the callers that tokens stand for. */
import {
  accountOfKey,
  refuseSignIn,
  TIMESTAMP_SECONDS_MAX,
  type SignInRefusal,
  type SignInRequest,
} from '../../../schemas/sign-in.ts';
import { bearerToken, signToken, verifyToken } from '../../runtime/http/token.ts';
import type { HubGatewayConfig } from '../config.ts';

export interface Caller {
  /** 0x + lower-case hex */
  readonly account: string;
  /** Unix seconds: the token is valid before this second */
  readonly expires_at: number;
}

/**
 * The caller of an Authorization header, or of the same text in a socket's `connection_init`.
 * Undefined without a valid token: the caller is anonymous. `now_ms` in Unix milliseconds.
 */
export async function callerOf(
  authorization: unknown,
  secret: string,
  now_ms: number,
): Promise<Caller | undefined> {
  const token = typeof authorization === 'string' ? bearerToken(authorization) : undefined;
  const claims = token === undefined ? undefined : await verifyToken(token, secret, now_ms);
  if (claims === undefined) return undefined;
  const account = accountOfKey(claims.pk);
  return account === undefined ? undefined : { account, expires_at: claims.exp };
}

type SignInSettings = Pick<
  HubGatewayConfig,
  'jwt_secret' | 'chain_id' | 'jwt_expiration_hours' | 'auth_single_use'
>;

/**
 * Issues tokens for signed challenges. The life of a token counts from the time in the challenge:
 * every hub gives the same token for the same challenge, so a retry works and nothing prolongs a
 * token.
 */
export class SignIns {
  readonly #settings: SignInSettings;
  readonly #now: () => number;
  readonly #startedAt: number;
  /** used challenges with the Unix second from which their age refuses them, in the order of use */
  readonly #used = new Map<string, number>();

  /** `now` in Unix milliseconds. */
  constructor(settings: SignInSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
    this.#startedAt = Math.floor(now() / 1_000);
  }

  /** `expiresAt` in Unix seconds. */
  async signIn(
    request: SignInRequest,
  ): Promise<{ token: string; expiresAt: number } | { refused: SignInRefusal | 'used_before' }> {
    const { chain_id: chainId, jwt_secret: secret, jwt_expiration_hours: hours } = this.#settings;
    const { publicKey, timestamp } = request;
    const refused = refuseSignIn(request, chainId, this.#now());
    if (refused !== undefined) return { refused };
    if (this.#settings.auth_single_use && !this.#use(publicKey, timestamp))
      return { refused: 'used_before' };
    const exp = timestamp + hours * 3_600;
    return { token: await signToken({ pk: publicKey, exp }, secret), expiresAt: exp };
  }

  /** False for a used challenge, and for one from before this process, which may be used. */
  #use(publicKey: string, timestamp: number): boolean {
    const now = Math.floor(this.#now() / 1_000);
    for (const [challenge, until] of this.#used) {
      if (until >= now) break;
      this.#used.delete(challenge);
    }
    const challenge = `${timestamp} ${publicKey}`;
    if (timestamp < this.#startedAt || this.#used.has(challenge)) return false;
    // its timestamp may be ahead of now by the tolerance, and is accepted for another tolerance
    this.#used.set(challenge, now + 2 * TIMESTAMP_SECONDS_MAX);
    return true;
  }
}
