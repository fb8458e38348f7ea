/** What the HTTP server of deposits consists of: guards in their order, routes, error answers, readiness. */
import { performance } from 'node:perf_hooks';
import { addressBook } from '../../projections/deposits/queries.ts';
import type { Guard } from '../runtime/http/handler.ts';
import { corsHeaders, preflight } from '../runtime/http/cors.ts';
import type { HttpOptions } from '../runtime/http/server.ts';
import type { HealthProblem } from '../runtime/process/health.ts';
import type { Reader } from '../runtime/postgres/pool.ts';
import { RateLimit, rateGuard } from '../runtime/http/rate-limit.ts';
import { Callers } from './callers.ts';
import type { DepositGatewayConfig } from './config.ts';
import type { DepositAddresses } from './deposit-addresses.ts';
import { DEPOSIT_ERRORS, unavailable } from './error-answers.ts';
import { depositRoutes } from './routes.ts';

/** Room for a token far longer than any: it gets the answer of every other bad one. */
const HEADER_BYTES_MAX = 256 * 1024;
const STARTING = unavailable('the service is starting: try again shortly');

type Settings = Pick<
  DepositGatewayConfig,
  'jwt_secret' | 'allowed_accounts' | 'rate_per_second' | 'rate_burst' | 'trust_proxy_hops'
>;

export interface DepositAppOptions {
  readonly reader: Reader;
  readonly addresses: Pick<DepositAddresses, 'open'>;
  /** Unix milliseconds */
  readonly now: () => number;
  /** undefined once the API is served */
  readonly starting: () => HealthProblem | undefined;
  /** why nothing can be appended to the log */
  readonly writing: () => HealthProblem | undefined;
}

type DepositApp = Pick<
  HttpOptions,
  'routes' | 'checks' | 'errors' | 'guards' | 'headers' | 'trust_proxy_hops' | 'header_bytes_max'
>;

/** The token is asked for before all else, then the pilot's list; only what a browser asks by itself needs none, and is told nothing. */
export function depositApp(
  config: Settings,
  { reader, addresses, now, starting, writing }: DepositAppOptions,
): DepositApp {
  const callers = new Callers({ ...config, now });
  const limited =
    config.rate_per_second === 0
      ? []
      : [rateGuard(new RateLimit(config), () => performance.now(), DEPOSIT_ERRORS)];
  const open: Guard = ({ path }) =>
    path.startsWith('/api/') && starting() !== undefined ? STARTING : undefined;
  const readable = async (): Promise<undefined> => void (await reader.rows(addressBook()));
  return {
    routes: depositRoutes({ reader, callers, addresses, now }),
    checks: [
      { name: 'deposits', projection: 'deposits', check: () => starting() ?? readable() },
      { name: 'log', check: writing },
    ],
    errors: DEPOSIT_ERRORS,
    guards: [preflight('GET, HEAD, POST'), (request) => callers.refuse(request), ...limited, open],
    headers: corsHeaders('retry-after, x-request-id'),
    trust_proxy_hops: config.trust_proxy_hops,
    header_bytes_max: HEADER_BYTES_MAX,
  };
}
