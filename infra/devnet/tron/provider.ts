/** Shared by every route of TRON's provider: request counts, API key, rate limit and faults. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Express, Request, Response } from 'express';
import type { Faults, TronFaultMode } from '../http/faults.ts';

const KEY_HEADER = 'TRON-PRO-API-KEY';

interface ProviderParts {
  readonly faults: Faults<TronFaultMode>;
  readonly requests: RequestCounter;
  readonly rate_limit: RateLimit;
  readonly keys: ApiKeys;
  readonly now: () => number;
}

/** The keys of the provider's customers. */
export class ApiKeys {
  #accepted: ReadonlySet<string> | undefined;
  readonly #used = new Map<string, number>();

  /** Undefined: none is required, and any is accepted. */
  constructor(accepted: readonly string[] | undefined) {
    this.#accepted = accepted && new Set(accepted);
  }

  /** From now on these are accepted, and no other. */
  accept(keys: readonly string[]): void {
    this.#accepted = new Set(keys);
  }

  /** Whether a request with this key is accepted, which counts it. */
  take(key: string | undefined): boolean {
    if (this.#accepted !== undefined && (key === undefined || !this.#accepted.has(key)))
      return false;
    if (key !== undefined) this.#used.set(key, (this.#used.get(key) ?? 0) + 1);
    return true;
  }

  /** Accepted requests by key. */
  used(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#used);
  }
}

export class Provider {
  readonly faults: Faults<TronFaultMode>;
  readonly now: () => number;
  readonly #parts: ProviderParts;

  constructor(parts: ProviderParts) {
    this.faults = parts.faults;
    this.now = parts.now;
    this.#parts = parts;
  }

  /** Registers a route. `handle` returns the answer; undefined: it has answered itself. */
  route(
    app: Express,
    method: 'get' | 'post',
    path: string,
    handle: (request: Request, response: Response) => object | undefined,
  ): void {
    app[method](path, async (request, response) => {
      this.#parts.requests.add(path, this.now());
      if (!(await this.#isUp(request, response))) return;
      const body = handle(request, response);
      if (body !== undefined) this.#answer(response, body);
    });
  }

  /** Counts and refuses requests to other paths. */
  refuseOthers(app: Express): void {
    app.use((request, response) => {
      this.#parts.requests.add('other', this.now());
      refuseV1(response, 404, `there is no ${request.method} route at this path`);
    });
  }

  #answer(response: Response, body: object): void {
    const text = JSON.stringify(body);
    const isCut = this.faults.take('truncated') !== undefined;
    response.type('application/json').send(isCut ? text.slice(0, text.length >> 1) : text);
  }

  /** False when a refusal or a fault answered or reset the connection. */
  async #isUp(request: Request, response: Response): Promise<boolean> {
    const { keys, rate_limit } = this.#parts;
    if (!keys.take(request.get(KEY_HEADER))) {
      refuseNode(response, 401, 'ApiKey not exists');
      return false;
    }
    if (!rate_limit.allows(this.now())) {
      refuseSuspended(response, rate_limit.per_second, rate_limit.suspended_ms / 1_000);
      return false;
    }
    if (this.#isFaulty(response)) return false;
    const delay = this.faults.take('delay');
    if (delay !== undefined) await pause(delay.delay_ms, undefined, { ref: false });
    return !response.destroyed;
  }

  /** Answers with the first active fault, if any. */
  #isFaulty(response: Response): boolean {
    const { faults } = this;
    if (faults.take('reset') !== undefined) response.socket?.resetAndDestroy();
    else if (faults.take('status_403') !== undefined) refuseSuspended(response, 15, 30);
    else if (faults.take('status_429') !== undefined)
      refuseNode(response, 429, 'too many requests, slow down');
    else if (faults.take('status_503') !== undefined)
      sendPage(response, 503, '503 Service Temporarily Unavailable');
    else if (faults.take('html') !== undefined) sendPage(response, 200, 'Just a moment...');
    else if (faults.take('success_false') !== undefined)
      this.#answer(response, { success: false, error: 'system error', statusCode: 500 });
    else if (faults.take('error_200') !== undefined)
      this.#answer(response, { Error: 'class java.lang.NullPointerException : null' });
    else return false;
    return true;
  }
}

/** Refuses as the routes below /v1 do. */
export function refuseV1(response: Response, status: number, error: string): undefined {
  response.status(status).json({ success: false, error, statusCode: status });
}

/** Refuses as the gateway in front of all routes does. */
function refuseNode(response: Response, status: number, error: string): void {
  response.status(status).json({ Error: error, StatusCode: status });
}

function refuseSuspended(response: Response, per_second: number, seconds: number): void {
  refuseNode(
    response,
    403,
    `The key exceeds the frequency limit(${per_second}), and the query server is suspended for ${seconds}s`,
  );
}

function sendPage(response: Response, status: number, title: string): void {
  const html = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`;
  response.status(status).type('text/html').send(html);
}

const WINDOW_MS = 1_000;

/** Counts events within a sliding second: after `t - 1000` and up to `t`. */
class SlidingSecond {
  #times: number[] = [];

  /** Adds an event at a time in ms; returns the number within the second. */
  add(time: number): number {
    this.#times.push(time);
    const current = this.#times.findIndex((each) => each > time - WINDOW_MS);
    if (current > 0) this.#times.splice(0, current);
    return this.#times.length;
  }
}

/** Counts requests, so that tests can hold a client to its budget. */
export class RequestCounter {
  #total = 0;
  #byPath = new Map<string, number>();
  #max = 0;
  #second = new SlidingSecond();

  add(path: string, time: number): void {
    this.#total++;
    this.#byPath.set(path, (this.#byPath.get(path) ?? 0) + 1);
    this.#max = Math.max(this.#max, this.#second.add(time));
  }

  /** `max_in_1s`: the most within one second. */
  counts(): object {
    return { total: this.#total, by_path: Object.fromEntries(this.#byPath), max_in_1s: this.#max };
  }

  reset(): void {
    this.#total = 0;
    this.#byPath = new Map();
    this.#max = 0;
    this.#second = new SlidingSecond();
  }
}

/** TronGrid's limit: a client that exceeds it is refused for a while. */
export class RateLimit {
  readonly per_second: number;
  readonly suspended_ms: number;
  readonly #second = new SlidingSecond();
  #suspendedUntil = 0;

  /** 0 per second: no limit. */
  constructor(per_second: number, suspended_ms: number) {
    this.per_second = per_second;
    this.suspended_ms = suspended_ms;
  }

  /** Whether a request at this time in ms is answered. */
  allows(time: number): boolean {
    if (this.per_second === 0) return true;
    if (time < this.#suspendedUntil) return false;
    if (this.#second.add(time) <= this.per_second) return true;
    this.#suspendedUntil = time + this.suspended_ms;
    return false;
  }
}
