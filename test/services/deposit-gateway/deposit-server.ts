/**
 * The gateway's HTTP server in the test process, on a real port, over a read model that the test
 * fills. Every response is checked against the OpenAPI document.
 */
import { depositApp, type DepositAppOptions } from '../../../services/deposit-gateway/service.ts';
import { openHttp } from '../../../services/runtime/http/server.ts';
import { openLog } from '../../../services/runtime/process/log.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { openReader } from '../../../services/runtime/postgres/pool.ts';
import { toHex } from '../../../schemas/address.ts';
import { goodToken, SECRET } from '../../support/tokens.ts';
import { DEPOSITS, type Answered } from '../../support/openapi.ts';
import { HANG_MS } from '../../support/limits.ts';

/** Unix seconds of the gateway's clock. */
export const NOW = 1_790_000_000;

export interface DepositServerOptions extends Partial<
  Pick<DepositAppOptions, 'addresses' | 'now' | 'starting' | 'writing'>
> {
  readonly postgres_reader_url: string;
  readonly allowed_accounts?: ReadonlySet<string>;
  readonly rate_per_second?: number;
  readonly rate_burst?: number;
}

export interface DepositServer {
  readonly url: string;
  /** all lines of the log, at its finest */
  readonly lines: readonly string[];
  /** `headers`: or that of authorization alone */
  ask(
    method: string,
    path: string,
    headers?: string | Readonly<Record<string, string>>,
  ): Promise<Answered>;
  close(): Promise<void>;
}

/**
 * The header of an account's good token; of a key's, when text is given. `at` in Unix milliseconds.
 */
export function bearerOf(account: Buffer | string, at = NOW * 1_000): string {
  const exp = Math.floor(at / 1_000) + 60;
  return `Bearer ${goodToken({ pk: typeof account === 'string' ? account : toHex(account), exp }, SECRET)}`;
}

export async function openDeposits(options: DepositServerOptions): Promise<DepositServer> {
  const lines: string[] = [];
  const log = openLog({
    service: 'deposit-gateway',
    level: 'trace',
    destination: { write: (line) => void lines.push(line) },
  });
  const reader = openReader(
    { ...options, statement_timeout_ms: HANG_MS, postgres_connect_ms: HANG_MS, connections_max: 4 },
    'deposit-gateway',
    log,
  );
  const settings = {
    jwt_secret: SECRET,
    allowed_accounts: options.allowed_accounts,
    rate_per_second: 0,
    rate_burst: 1,
    trust_proxy_hops: 0,
  };
  const app = depositApp(
    { ...settings, ...options },
    {
      reader,
      addresses: { open: () => Promise.resolve(undefined) },
      now: () => NOW * 1_000,
      starting: () => undefined,
      writing: () => undefined,
      ...options,
    },
  );
  const http = await openHttp(
    { http_host: '127.0.0.1', http_port: 0 },
    { log, metrics: new Metrics('test'), ...app },
  );
  return {
    url: http.url,
    lines,
    ask: async (method, path, given = {}) => {
      const response = await fetch(http.url + path, {
        method,
        headers: typeof given === 'string' ? { authorization: given } : given,
      });
      const answer = {
        status: response.status,
        text: await response.text(),
        headers: response.headers,
      };
      DEPOSITS.checkAnswer(method, path, answer);
      return answer;
    },
    close: async () => {
      await http.drain();
      await reader.close();
    },
  };
}

/** All that a client sees of an answer but what is each request's and connection's own. */
export function bytesOf({ status, text, headers }: Answered): string {
  const shown = [...headers].filter(
    ([name]) => !['x-request-id', 'date', 'connection', 'keep-alive'].includes(name),
  );
  return JSON.stringify([status, shown, text]);
}
