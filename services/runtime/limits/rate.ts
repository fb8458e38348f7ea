/**
 * A token bucket for each client, in bounded memory: so many requests a second, with bursts. A
 * library of fixed windows would let twice as many pass around the end of a window.
 *
 * All instances of a service share the buckets in Redis, without a question per request: an
 * instance decides by its own bucket, and ten times a second tells Redis how many requests of each
 * client passed. The answer is the shared bucket, and the own one is never fuller than that. So a
 * client that asks n instances at once gets n bursts at most, and then waits until the excess has
 * been made up: in the long run the rate is that of one instance. To a service of one instance the
 * shared bucket makes no difference. `takeExactly` asks each time instead.
 */
import { performance } from 'node:perf_hooks';
import { LRUCache } from 'lru-cache';
import type { SharedCounts } from '../shared-counts.ts';
import { networksAround } from '../http/client-address.ts';
import type { ErrorShape, HttpRequest } from '../http/handler.ts';
import type { HttpResponse } from '../http/response.ts';
import { ACCOUNTS_PER_ADDRESS } from './clients.ts';
import { ON, type Limit } from './limits.ts';

interface Bucket {
  /** below 0: taken in excess at other instances */
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

export interface Sharing {
  /** names the buckets, with rate and burst: instances with other settings count by themselves */
  readonly name: string;
  readonly counts: Pick<SharedCounts, 'run'>;
  /** the clock of `take`; default: the monotonic one */
  readonly now?: () => number;
}

/** Requests that passed and that Redis has not been told of. */
interface Passed {
  requests: number;
  /** the limit of the bucket, in those of one client */
  readonly times: number;
  /** when the first of them passed, ms */
  readonly since: number;
}

const CLIENTS_MAX = 50_000;
const TELL_MS = 100;
const TELL_BUCKETS_MAX = 500;

/**
 * KEYS: buckets. ARGV: ms of a token; a bucket with more than so many ms to its full burst is left
 * as it is; and for each bucket how long ago the first of its requests passed (ms), and how many
 * did. Returns for each bucket how many ms from now it is full, these requests taken. A bucket is
 * stored as the time at which it is full, and not any longer.
 */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local answer = {}
for i, key in ipairs(KEYS) do
  local full = math.max(tonumber(redis.call('GET', key) or 0), now - ARGV[2 * i + 1])
  full = full + ARGV[2 * i + 2] * ARGV[1]
  if full > now and full - now <= tonumber(ARGV[2]) then
    redis.call('SET', key, string.format('%.4f', full), 'PX', math.ceil(full - now))
  end
  answer[i] = string.format('%.4f', full - now)
end
return answer`;

export class RateLimit {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #buckets: LRUCache<string, Bucket>;
  readonly #sharing: Sharing | undefined;
  readonly #prefix: string;
  readonly #now: () => number;
  readonly #limit: Limit;
  #passed = new Map<string, Passed>();

  constructor(options: RateLimitOptions, sharing?: Sharing, limit: Limit = ON) {
    const { rate_per_second: ratePerSecond, rate_burst: rateBurst } = options;
    this.#perMs = ratePerSecond / 1_000;
    this.#burst = rateBurst;
    this.#buckets = new LRUCache({ max: options.clients_max ?? CLIENTS_MAX });
    this.#sharing = sharing;
    this.#limit = limit;
    this.#prefix = `limits:${sharing?.name}:${ratePerSecond}:${rateBurst}:`;
    this.#now = sharing?.now ?? ((): number => performance.now());
  }

  /**
   * Takes a request of `client` at `now` (ms of a monotonic clock), which may count as several: 0
   * when it may pass, otherwise the ms after which it may. A request with a token counts for its
   * `account`, and for the accounts of its address together, which have three times the limit.
   */
  take(client: string, now: number, requests = 1, account?: string): number {
    // one that counts as more than a burst would never pass
    const taken = Math.min(requests, this.#burst);
    const buckets = bucketsOf(client, account);
    const wait = this.#takeHere(buckets, now, taken);
    if (wait > 0) this.#limit.refused();
    if (wait === 0 && this.#sharing !== undefined)
      for (const [bucket, times] of buckets) this.#note(bucket, times, now, taken);
    return wait;
  }

  /** As `take`, of all instances together, for what is worth a question to Redis. */
  async takeExactly(client: string): Promise<number> {
    const wait = await this.#takeOfAll(client);
    if (wait > 0) this.#limit.refused();
    return wait;
  }

  async #takeOfAll(client: string): Promise<number> {
    const now = this.#now();
    const wait = this.#takeHere(bucketsOf(client), now, 1);
    if (wait > 0 || this.#sharing === undefined) return wait;
    const burstMs = this.#burst / this.#perMs;
    // beyond the precision of the stored time
    const [fullIn] = await this.#share(
      [[client, { requests: 1, times: 1, since: now }]],
      burstMs + 0.01,
    );
    return fullIn === undefined ? 0 : Math.max(0, fullIn - burstMs - 0.01);
  }

  #takeHere(buckets: ReturnType<typeof networksAround>, now: number, requests: number): number {
    let wait = 0;
    const around = buckets.map(([network, times]) => {
      const [burst, perMs] = [this.#burst * times, this.#perMs * times];
      const bucket = this.#buckets.get(network) ?? { tokens: burst, at: now };
      this.#buckets.set(network, bucket);
      bucket.tokens = Math.min(burst, bucket.tokens + (now - bucket.at) * perMs);
      bucket.at = now;
      wait = Math.max(wait, (requests - bucket.tokens) / perMs);
      return bucket;
    });
    if (wait > 0) return wait;
    for (const bucket of around) bucket.tokens -= requests;
    return 0;
  }

  #note(bucket: string, times: number, now: number, requests: number): void {
    const passed = this.#passed.get(bucket);
    if (passed !== undefined) passed.requests += requests;
    else if (this.#passed.set(bucket, { requests, times, since: now }).size === 1)
      setTimeout(() => void this.#tell(), TELL_MS).unref();
  }

  /** While Redis is away nothing is kept for later: the own buckets have counted it. */
  async #tell(): Promise<void> {
    const passed = [...this.#passed];
    this.#passed = new Map();
    for (let at = 0; at < passed.length; at += TELL_BUCKETS_MAX)
      await this.#share(passed.slice(at, at + TELL_BUCKETS_MAX), Number.MAX_SAFE_INTEGER);
  }

  /** In how many ms each shared bucket is full; empty while Redis is away. */
  async #share(passed: readonly (readonly [string, Passed])[], mostMs: number): Promise<number[]> {
    const asked = this.#now();
    const answer = await this.#sharing?.counts.run(
      TAKE,
      passed.map(([bucket]) => this.#prefix + bucket),
      [
        1 / this.#perMs,
        mostMs,
        ...passed.flatMap(([, { requests, times, since }]) => [asked - since, requests / times]),
      ],
    );
    const fullIn = Array.isArray(answer) ? answer.map(Number) : [];
    for (const [at, [name, { requests, times }]] of passed.entries()) {
      const bucket = this.#buckets.peek(name);
      const ms = fullIn[at];
      if (bucket === undefined || ms === undefined) continue;
      const isTaken = ms <= mostMs;
      const since = (this.#passed.get(name)?.requests ?? 0) - (isTaken ? 0 : requests);
      const shared = (this.#burst - (ms + asked - bucket.at) * this.#perMs) * times - since;
      bucket.tokens = Math.min(bucket.tokens, shared);
    }
    return fullIn;
  }
}

/** The bucket that a request counts in, and those around it. */
function bucketsOf(client: string, account?: string): ReturnType<typeof networksAround> {
  if (account === undefined) return networksAround(client);
  return [
    [account, 1],
    ...networksAround(client).map(
      ([network, times]) => [`accounts of ${network}`, times * ACCOUNTS_PER_ADDRESS] as const,
    ),
  ];
}

/** Undefined where it is switched off, or set to any number. */
export function openRateLimit(
  name: string,
  options: RateLimitOptions,
  counts: Sharing['counts'] | undefined,
  limit: Limit = ON,
): RateLimit | undefined {
  if (options.rate_per_second === 0 || !limit.is_on) return undefined;
  return new RateLimit(options, counts && { name, counts }, limit);
}

/** A client that asks again as soon as it is refused must not keep the process busy: it waits. */
export const REFUSAL_DELAY_MS = 500;

/** A body counts as a request for each so many bytes. */
const REQUEST_BYTES = 16_384;
/** A body without a length counts as the longest that a gateway reads. */
const UNKNOWN_LENGTH_REQUESTS = 20;

function requestsOf({ headers }: Pick<HttpRequest, 'headers'>): number {
  if (headers['transfer-encoding'] !== undefined) return UNKNOWN_LENGTH_REQUESTS;
  return Math.max(1, Math.ceil(Number(headers['content-length'] ?? 0) / REQUEST_BYTES));
}

type Counted = Pick<HttpRequest, 'exchange' | 'headers'>;

/**
 * Refuses requests beyond the limit. `now` in ms; `accountOf`: the account of a
 * valid token, by which the request counts.
 */
export function rateGuard<Request extends Counted>(
  limit: RateLimit,
  now: () => number,
  shape: Pick<ErrorShape, 'body'>,
  accountOf: (request: Request) => string | undefined | Promise<string | undefined> = () =>
    undefined,
): (request: Request) => HttpResponse | Promise<HttpResponse | undefined> | undefined {
  const refuse = (request: Request, account?: string): HttpResponse | undefined => {
    const wait = limit.take(request.exchange.client, now(), requestsOf(request), account);
    return wait === 0 ? undefined : rateLimited(wait, shape);
  };
  return (request) => {
    const account = accountOf(request);
    return account instanceof Promise
      ? account.then((known) => refuse(request, known))
      : refuse(request, account);
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
