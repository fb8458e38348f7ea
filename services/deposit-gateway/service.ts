/** Opens what the gateway needs, confirms its key, and serves. */
import { performance } from 'node:perf_hooks';
import { addressOf } from '../../projections/deposits/queries.ts';
import { DEPOSIT_ADDRESSES, type Topic } from '../../schemas/topics.ts';
import { corsHeaders, preflight, type Guard, type HttpRequest } from '../runtime/http/handler.ts';
import { openLimits, type Limits } from '../runtime/limits/limits.ts';
import { openRateLimit, rateGuard } from '../runtime/limits/rate.ts';
import { openHttp } from '../runtime/http/server.ts';
import type { TokenSecrets } from '../runtime/http/token.ts';
import { showHosts } from '../runtime/postgres/hosts.ts';
import { openReader, type Reader } from '../runtime/postgres/pool.ts';
import {
  NO_REMARKS,
  STARTING,
  type HealthProblem,
  type Remarks,
} from '../runtime/process/health.ts';
import type { Service } from '../runtime/process/main.ts';
import { ReadModelLag } from '../runtime/process/read-model-lag.ts';
import { aborted } from '../runtime/process/retry.ts';
import { openNotificationSubscriber } from '../runtime/redis.ts';
import { openSharedCounts, type SharedCounts } from '../runtime/shared-counts.ts';
import { AddressLog } from './address-log.ts';
import { Callers, UNAUTHORIZED } from './callers.ts';
import type { DepositGatewayConfig } from './config.ts';
import { DepositAddresses } from './deposit-addresses.ts';
import { DEPOSIT_ERRORS, unavailable } from './errors.ts';
import { depositRoutes } from './routes.ts';
import { pinScheme } from './scheme.ts';

const NAME = 'deposit-gateway';
/** Age of a record from which on the read model may not lack it. */
const LATE_MS = 60_000;

/** Returns once it serves. `now` in Unix milliseconds. */
export async function serve(
  { config, log, metrics, tracing, signal, closing }: Service<DepositGatewayConfig>,
  topic: Topic = DEPOSIT_ADDRESSES,
  now = (): number => Date.now(),
): Promise<void> {
  let starting: HealthProblem | undefined = STARTING;
  const reader = openReader(config, NAME, log);
  showHosts(metrics, config.postgres_reader_url);
  closing.add('Postgres', () => reader.close());
  const key = config.deposit_key;
  const lag = new ReadModelLag('deposits', now, LATE_MS);
  const addressLog = new AddressLog({
    servers: config,
    topic,
    key,
    log,
    tracing,
    signal,
    onFolded: (end) => lag.ended(end),
  });
  closing.add('Kafka', () => addressLog.close());
  const counts = openSharedCounts(config, NAME, log, metrics);
  closing.add('shared counts', () => counts.close());
  const limits = openLimits(config.limits_off, metrics, log);
  const addresses = new DepositAddresses({
    settings: config,
    reader,
    address_log: addressLog,
    key,
    now,
    counts,
    limits,
    log,
    metrics,
    signal,
  });
  const notifications = openNotificationSubscriber(
    config,
    NAME,
    ['projection:deposits'],
    {
      onNotification: (_channel, message) => addresses.onNotification(message),
      onSubscribed: () => addresses.onNotification(undefined),
    },
    log,
  );
  closing.add('Redis', () => notifications.close());
  const app = depositApp(config, {
    reader,
    addresses,
    counts,
    limits,
    now,
    starting: () => starting && (addressLog.problem ?? starting),
    writing: () => addressLog.problem,
    lagging(folded) {
      lag.saw(folded);
      return lag.problem;
    },
    remarks: () => addresses.remarks,
  });
  const http = await openHttp(config, { log, metrics, tracing, ...app, http_limits: limits });
  closing.add('HTTP', () => http.drain());

  const start = async (): Promise<void> => {
    await pinScheme({ key, address_log: addressLog, now });
    starting = undefined;
  };
  // a shutdown does not wait for the attempt in flight
  await Promise.race([start(), aborted(signal)]);
}

const NOT_STARTED = unavailable('the service is starting: try again shortly');

type Settings = Pick<
  DepositGatewayConfig,
  'allowed_accounts' | 'rate_per_second' | 'rate_burst' | 'trust_proxy_hops'
> &
  TokenSecrets &
  Partial<Pick<DepositGatewayConfig, 'console_url'>>;

export interface DepositAppOptions {
  readonly reader: Reader;
  readonly addresses: Pick<DepositAddresses, 'open'>;
  /** of all instances; undefined: this one counts for itself */
  readonly counts?: SharedCounts;
  /** default: all, and none is counted */
  readonly limits?: Limits;
  /** Unix milliseconds */
  readonly now: () => number;
  /** undefined once addresses are shown */
  readonly starting: () => HealthProblem | undefined;
  /** why nothing can be appended to the log */
  readonly writing: () => HealthProblem | undefined;
  /**
   * Why the read model is too old, which has folded `deposit.addresses` up to this offset; none is
   * when not given.
   */
  readonly lagging?: (folded: bigint) => HealthProblem | undefined;
  readonly remarks?: () => Remarks;
}

/**
 * The token is checked, then the pilot's list; only a browser's preflight needs neither. A request
 * without a valid token counts for its address.
 */
export function depositApp(
  config: Settings,
  {
    reader,
    addresses,
    counts,
    limits = openLimits(),
    now,
    starting,
    writing,
    lagging = () => undefined,
    remarks = () => NO_REMARKS,
  }: DepositAppOptions,
) {
  const callers = new Callers(config, now);
  const rate = openRateLimit(NAME, config, counts, limits.rate);
  // lists need no key
  const started: Guard = ({ method }) =>
    method === 'POST' && starting() !== undefined ? NOT_STARTED : undefined;
  const readable = async (): Promise<HealthProblem | undefined> => {
    const [row] = await reader.rows(addressOf(Buffer.alloc(0)));
    return lagging(BigInt(row?.[0] ?? 0));
  };
  return {
    routes: depositRoutes({ reader, callers, addresses, now, console_url: config.console_url }),
    checks: [
      { name: 'deposits', projection: 'deposits', check: readable },
      { name: 'log', check: () => starting() ?? writing() },
    ],
    remarks,
    errors: DEPOSIT_ERRORS,
    guards: [
      ...(rate === undefined
        ? []
        : [
            rateGuard(
              rate,
              () => performance.now(),
              DEPOSIT_ERRORS,
              (request: HttpRequest) => callers.known(request),
            ),
          ]),
      preflight('GET, HEAD, POST'),
      (request: HttpRequest) => callers.refuse(request),
      started,
    ],
    headers: corsHeaders('retry-after, x-request-id'),
    // such as a token far longer than any
    overflow: UNAUTHORIZED,
    trust_proxy_hops: config.trust_proxy_hops,
  };
}
