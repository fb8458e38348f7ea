/** Sign-in by a signed challenge, and the callers that tokens stand for. */
import {
  accountOfKey,
  challengeOf,
  refuseSignIn,
  TIMESTAMP_SECONDS_MAX,
  type SignInRefusal,
  type SignInRequest,
} from '../../../schemas/sign-in.ts';
import type { HttpRequest } from '../../runtime/http/handler.ts';
import {
  bearerToken,
  hasExpired,
  signToken,
  verifyToken,
  type TokenSecrets,
} from '../../runtime/http/token.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import type { SharedCounts } from '../../runtime/shared-counts.ts';
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
  secrets: TokenSecrets,
  now_ms: number,
): Promise<Caller | undefined> {
  const token = typeof authorization === 'string' ? bearerToken(authorization) : undefined;
  const claims = token === undefined ? undefined : await verifyToken(token, secrets, now_ms);
  if (claims === undefined) return undefined;
  const account = accountOfKey(claims.pk);
  return account === undefined ? undefined : { account, expires_at: claims.exp };
}

/** In the payload of `connection_ack`: who the caller of a socket is, or why it is anonymous. */
export type SocketCaller =
  | { readonly signedIn: true; readonly account: string; readonly expiresAt: number }
  | { readonly signedIn: false; readonly code: string; readonly message: string };

const HOW = 'send it in the payload of connection_init as {"Authorization": "Bearer <token>"}';
const ANONYMOUS = {
  TOKEN_MISSING: `no token came with this socket: to be signed in, ${HOW}`,
  TOKEN_MISPLACED: `the token is not under the key Authorization of connection_init: ${HOW}`,
  TOKEN_INVALID: `Authorization is not the word Bearer and a token of this hub: ${HOW}, with the token as generateToken gave it`,
  TOKEN_EXPIRED: `the token has expired: sign in again with generateToken, and open a new socket with the new token`,
} as const;

/** The caller of a socket, and the same for its client. `elsewhere`: where no token belongs. */
export async function socketCallerOf(
  { Authorization: authorization, ...others }: Readonly<Record<string, unknown>>,
  elsewhere: readonly unknown[],
  secrets: TokenSecrets,
  now_ms: number,
): Promise<{ readonly caller: Caller | undefined; readonly told: SocketCaller }> {
  const caller = await callerOf(authorization, secrets, now_ms);
  if (caller !== undefined) {
    const { account, expires_at: expiresAt } = caller;
    return { caller, told: { signedIn: true, account, expiresAt } };
  }
  const code = await problemOf(authorization, [others, ...elsewhere], secrets, now_ms);
  return { caller, told: { signedIn: false, code, message: ANONYMOUS[code] } };
}

async function problemOf(
  authorization: unknown,
  elsewhere: readonly unknown[],
  secrets: TokenSecrets,
  now_ms: number,
): Promise<keyof typeof ANONYMOUS> {
  if (authorization === undefined || authorization === null || authorization === '')
    return holdsToken(elsewhere) ? 'TOKEN_MISPLACED' : 'TOKEN_MISSING';
  const token = typeof authorization === 'string' ? bearerToken(authorization) : undefined;
  const isExpired = token !== undefined && (await hasExpired(token, secrets, now_ms));
  return isExpired ? 'TOKEN_EXPIRED' : 'TOKEN_INVALID';
}

/** The word before a token, or the head and the claims of one. */
const TOKEN_LIKE = /\bbearer\b|\beyJ[\w-]{1,200}\.[\w-]{1,1000}\./i;

/** Wherever clients of other servers send it, and in whatever text. */
function holdsToken(value: unknown): boolean {
  return TOKEN_LIKE.test(JSON.stringify(value));
}

/** The callers of requests over HTTP; each token is verified once. */
export class Callers {
  readonly #secrets: TokenSecrets;
  readonly #now: () => number;
  readonly #callers = new WeakMap<object, Promise<Caller | undefined>>();

  /** `now` in Unix milliseconds. */
  constructor(secrets: TokenSecrets, now: () => number) {
    this.#secrets = secrets;
    this.#now = now;
  }

  /** Undefined at once for a request without a token. */
  of(request: Pick<HttpRequest, 'headers'>): Promise<Caller | undefined> | undefined {
    const { authorization } = request.headers;
    if (authorization === undefined) return undefined;
    const known = this.#callers.get(request);
    if (known !== undefined) return known;
    const caller = callerOf(authorization, this.#secrets, this.#now());
    this.#callers.set(request, caller);
    return caller;
  }
}

type SignInSettings = Pick<
  HubGatewayConfig,
  'jwt_secret' | 'chain_id' | 'jwt_expiration_hours' | 'auth_single_use'
>;

/** `from_before`: the hub may have been told of it before it was started. */
type UseRefusal = Refusal<'used_before' | 'from_before'>;

const USED_BEFORE: UseRefusal = {
  refused: 'used_before',
  message: 'this challenge was used before: sign a new one',
};
const FROM_BEFORE: UseRefusal = {
  refused: 'from_before',
  message:
    'this challenge is from before the start of this server, which cannot tell whether it was used: sign a new one, and if that is refused too, check your clock',
};

const INT_MAX = 2 ** 31 - 1;
/** Hubs accept a challenge for so long; their clocks may differ by a minute. */
const USED_MS = (2 * TIMESTAMP_SECONDS_MAX + 60) * 1_000;
const USE = `return redis.call('SET', KEYS[1], 1, 'NX', 'PX', ARGV[1])`;

/**
 * Issues tokens for signed challenges. The life of a token counts from the time in the challenge:
 * every hub gives the same token for the same challenge, so a retry works and nothing prolongs a
 * token. With `auth_single_use` a challenge is used once at all hubs that share `counts`, also
 * after a restart. While Redis is away each hub knows its own sign-ins since its start; it refuses
 * challenges from before, and cannot know of one that was used before and dated ahead.
 */
export class SignIns {
  readonly #settings: SignInSettings;
  readonly #now: () => number;
  readonly #counts: Pick<SharedCounts, 'run'> | undefined;
  readonly #startedAt: number;
  /** used challenges with the Unix second from which their age refuses them, in the order of use */
  readonly #used = new Map<string, number>();

  /** `now` in Unix milliseconds. */
  constructor(settings: SignInSettings, now: () => number, counts?: Pick<SharedCounts, 'run'>) {
    this.#settings = settings;
    this.#now = now;
    this.#counts = counts;
    this.#startedAt = Math.floor(now() / 1_000);
  }

  /** `expiresAt` in Unix seconds, at most the largest Int of GraphQL. */
  async signIn(
    request: SignInRequest,
  ): Promise<{ token: string; expiresAt: number } | SignInRefusal | UseRefusal> {
    const {
      chain_id: chainId,
      jwt_secret: jwtSecret,
      jwt_expiration_hours: jwtExpirationHours,
    } = this.#settings;
    const { publicKey, timestamp } = request;
    const refused =
      refuseSignIn(request, chainId, this.#now()) ?? (await this.#use(publicKey, timestamp));
    if (refused !== undefined) return refused;
    const exp = timestamp + jwtExpirationHours * 3_600;
    return {
      token: await signToken({ pk: publicKey, exp }, jwtSecret),
      expiresAt: Math.min(exp, INT_MAX),
    };
  }

  async #use(publicKey: string, timestamp: number): Promise<UseRefusal | undefined> {
    const { auth_single_use: authSingleUse, chain_id: chainId } = this.#settings;
    if (!authSingleUse) return undefined;
    const now = Math.floor(this.#now() / 1_000);
    for (const [challenge, until] of this.#used) {
      if (until >= now) break;
      this.#used.delete(challenge);
    }
    const challenge = `${timestamp} ${publicKey}`;
    if (this.#used.has(challenge)) return USED_BEFORE;
    // its timestamp may be ahead of now by the tolerance, and is accepted for another tolerance
    this.#used.set(challenge, now + 2 * TIMESTAMP_SECONDS_MAX);
    const key = `limits:${challengeOf(chainId, publicKey, timestamp)}`;
    const used = await this.#counts?.run(USE, [key], [USED_MS]);
    if (used !== undefined) return used === null ? USED_BEFORE : undefined;
    return timestamp < this.#startedAt ? FROM_BEFORE : undefined;
  }
}
