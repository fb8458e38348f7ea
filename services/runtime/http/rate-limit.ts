/** So many requests a second and client, with bursts: a token bucket for each address, in bounded memory. */
import { clientOf } from './client-address.ts';
import type { HttpResponse, ErrorShape } from './handler.ts';

interface Bucket {
  tokens: number;
  /** when `tokens` was right, ms */
  at: number;
}

const CLIENTS_MAX = 50_000;

export class RateLimit {
  readonly #per_ms: number;
  readonly #burst: number;
  readonly #clients_max: number;
  /** the least recently seen first */
  readonly #buckets = new Map<string, Bucket>();

  constructor(settings: {
    readonly rate_per_second: number;
    readonly rate_burst: number;
    readonly clients_max?: number;
  }) {
    this.#per_ms = settings.rate_per_second / 1_000;
    this.#burst = settings.rate_burst;
    this.#clients_max = settings.clients_max ?? CLIENTS_MAX;
  }

  /** How many clients are remembered. */
  get clients(): number {
    return this.#buckets.size;
  }

  /** Takes one request of `client` at `now` (ms of a clock that never goes back): 0 when it may pass, otherwise the ms after which one may. */
  take(client: string, now: number): number {
    const known = this.#buckets.get(client);
    const bucket = known ?? { tokens: this.#burst, at: now };
    if (known !== undefined) this.#buckets.delete(client);
    else this.#makeRoom();
    this.#buckets.set(client, bucket);
    bucket.tokens = Math.min(this.#burst, bucket.tokens + (now - bucket.at) * this.#per_ms);
    bucket.at = now;
    if (bucket.tokens < 1) return (1 - bucket.tokens) / this.#per_ms;
    bucket.tokens -= 1;
    return 0;
  }

  /** Whoever was not seen for longest is forgotten, that is, starts with a full burst. */
  #makeRoom(): void {
    if (this.#buckets.size < this.#clients_max) return;
    for (const client of this.#buckets.keys()) {
      this.#buckets.delete(client);
      return;
    }
  }
}

/** What matters of a request here. */
interface HttpRequest {
  readonly path: string;
  /** as a trusted proxy says, if there is one */
  readonly ip?: string | undefined;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

/** Refuses with 429, Retry-After and a body of this shape what goes beyond the limit, of paths that begin like this: health, readiness and metrics are never refused. `now` in ms. */
export function rateGuard(
  limit: RateLimit,
  now: () => number,
  shape: Pick<ErrorShape, 'body'>,
  prefix = '/api/',
): (request: HttpRequest) => HttpResponse | undefined {
  return (request) => {
    if (!request.path.startsWith(prefix)) return undefined;
    const wait = limit.take(clientOf(request), now());
    return wait === 0 ? undefined : rateLimited(wait, shape);
  };
}

export function rateLimited(
  wait_ms: number,
  shape: Pick<ErrorShape, 'body'>,
  what = 'too many requests',
): HttpResponse {
  const seconds = String(Math.ceil(wait_ms / 1_000));
  const body = shape.body({
    status: 429,
    code: 'rate_limited',
    message: `${what}: try again in ${seconds} s`,
  });
  return { status: 429, body, headers: { 'retry-after': seconds } };
}
