/**
 * A token bucket for each client, in bounded memory: so many requests a second, with bursts. A
 * library of fixed windows would let twice as many pass around the end of a window.
 */
import { LRUCache } from 'lru-cache';
import { clientOf } from './client-address.ts';
import type { ErrorShape, HttpRequest, HttpResponse } from './handler.ts';

interface Bucket {
  tokens: number;
  /** when `tokens` was right, ms */
  at: number;
}

export interface RateLimitOptions {
  readonly rate_per_second: number;
  readonly rate_burst: number;
  /** of more, the least recently seen is forgotten: it starts with a full burst */
  readonly clients_max?: number;
}

const CLIENTS_MAX = 50_000;

export class RateLimit {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #buckets: LRUCache<string, Bucket>;

  constructor(options: RateLimitOptions) {
    this.#perMs = options.rate_per_second / 1_000;
    this.#burst = options.rate_burst;
    this.#buckets = new LRUCache({ max: options.clients_max ?? CLIENTS_MAX });
  }

  /**
   * Takes one request of `client` at `now` (ms of a monotonic clock): 0 when it may pass, otherwise
   * the ms after which one may.
   */
  take(client: string, now: number): number {
    let bucket = this.#buckets.get(client);
    if (bucket === undefined) {
      bucket = { tokens: this.#burst, at: now };
      this.#buckets.set(client, bucket);
    }
    bucket.tokens = Math.min(this.#burst, bucket.tokens + (now - bucket.at) * this.#perMs);
    bucket.at = now;
    if (bucket.tokens < 1) return (1 - bucket.tokens) / this.#perMs;
    bucket.tokens -= 1;
    return 0;
  }
}

/**
 * Refuses requests beyond the limit whose path begins with `prefix`; health, readiness and metrics
 * are never refused. `now` in ms.
 */
export function rateGuard(
  limit: RateLimit,
  now: () => number,
  shape: Pick<ErrorShape, 'body'>,
  prefix = '/api/',
): (request: Pick<HttpRequest, 'path' | 'ip' | 'socket'>) => HttpResponse | undefined {
  return (request) => {
    if (!request.path.startsWith(prefix)) return undefined;
    const wait = limit.take(clientOf(request), now());
    return wait === 0 ? undefined : rateLimited(wait, shape);
  };
}

/** 429 with Retry-After; `why` begins the message. */
export function rateLimited(
  wait_ms: number,
  shape: Pick<ErrorShape, 'body'>,
  why = 'too many requests',
): HttpResponse {
  const seconds = String(Math.ceil(wait_ms / 1_000));
  const body = shape.body({
    status: 429,
    code: 'rate_limited',
    message: `${why}: try again in ${seconds} s`,
  });
  return { status: 429, body, headers: { 'retry-after': seconds } };
}
