/** What all routes of the provider share: counting, key, rate limit, faults of every route, and how an answer is sent. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Express, Request, Response } from 'express';
import type { Faults } from '../faults.ts';
import type { TronFaultMode } from './faults.ts';
import type { RateLimit, RequestCounter } from './requests.ts';

const KEY_HEADER = 'TRON-PRO-API-KEY';

export interface ProviderParts {
  readonly faults: Faults<TronFaultMode>;
  readonly requests: RequestCounter;
  readonly rate_limit: RateLimit;
  /** undefined: none is asked for */
  readonly api_key: string | undefined;
  readonly now: () => number;
}

export class Provider {
  readonly faults: Faults<TronFaultMode>;
  readonly now: () => number;
  readonly #requests: RequestCounter;
  readonly #rateLimit: RateLimit;
  readonly #apiKey: string | undefined;

  constructor({ faults, requests, rate_limit, api_key, now }: ProviderParts) {
    this.faults = faults;
    this.now = now;
    this.#requests = requests;
    this.#rateLimit = rate_limit;
    this.#apiKey = api_key;
  }

  /** Registers a route. What `handle` returns is the answer; undefined: it has answered itself. */
  route(
    app: Express,
    method: 'get' | 'post',
    path: string,
    handle: (request: Request, response: Response) => object | undefined,
  ): void {
    app[method](path, async (request, response) => {
      this.#requests.add(path, this.now());
      if (!(await this.#isUp(request, response))) return;
      const body = handle(request, response);
      if (body !== undefined) this.#answer(response, body);
    });
  }

  /** Counts and answers what no route took. */
  rest(app: Express): void {
    app.use((request, response) => {
      this.#requests.add('other', this.now());
      refuseV1(response, 404, `there is no ${request.method} route at this path`);
    });
  }

  #answer(response: Response, body: object): void {
    const text = JSON.stringify(body);
    const sent =
      this.faults.take('truncated') === undefined ? text : text.slice(0, text.length >> 1);
    response.type('application/json').send(sent);
  }

  /** False when a refusal or a fault has answered, or has cut the connection. */
  async #isUp(request: Request, response: Response): Promise<boolean> {
    if (this.#apiKey !== undefined && request.get(KEY_HEADER) !== this.#apiKey) {
      refuseNode(response, 401, 'ApiKey not exists');
      return false;
    }
    if (!this.#rateLimit.allows(this.now())) {
      suspended(response, this.#rateLimit.per_second, this.#rateLimit.suspended_ms / 1_000);
      return false;
    }
    if (this.#isFaulty(response)) return false;
    const delay = this.faults.take('delay');
    if (delay !== undefined) await pause(delay.delay_ms, undefined, { ref: false });
    return !response.destroyed;
  }

  /** At most one of these faults concerns a request. */
  #isFaulty(response: Response): boolean {
    const { faults } = this;
    if (faults.take('reset') !== undefined) response.socket?.resetAndDestroy();
    else if (faults.take('status_403') !== undefined) suspended(response, 15, 30);
    else if (faults.take('status_429') !== undefined)
      refuseNode(response, 429, 'too many requests, slow down');
    else if (faults.take('status_503') !== undefined)
      page(response, 503, '503 Service Temporarily Unavailable');
    else if (faults.take('html') !== undefined) page(response, 200, 'Just a moment...');
    else if (faults.take('success_false') !== undefined)
      this.#answer(response, { success: false, error: 'system error', statusCode: 500 });
    else if (faults.take('error_200') !== undefined) {
      this.#answer(response, { Error: 'class java.lang.NullPointerException : null' });
    } else return false;
    return true;
  }
}

/** As the routes below /v1 refuse. */
export function refuseV1(response: Response, status: number, error: string): undefined {
  response.status(status).json({ success: false, error, statusCode: status });
}

/** As the gateway before all routes refuses. */
function refuseNode(response: Response, status: number, error: string): void {
  response.status(status).json({ Error: error, StatusCode: status });
}

function suspended(response: Response, per_second: number, seconds: number): void {
  refuseNode(
    response,
    403,
    `The key exceeds the frequency limit(${per_second}), and the query server is suspended for ${seconds}s`,
  );
}

function page(response: Response, status: number, title: string): void {
  const html = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`;
  response.status(status).type('text/html').send(html);
}
