/** Opens what the explorer needs, puts its HTTP application together, and serves. */
import { performance } from 'node:perf_hooks';
import { indexedPosition } from '../../projections/explorer/queries/chain.ts';
import { ChainNode, nodeHead } from '../runtime/clt-node.ts';
import { AnswerCache } from '../runtime/http/answer-cache.ts';
import { corsHeaders, preflight } from '../runtime/http/handler.ts';
import { openLimits } from '../runtime/limits/limits.ts';
import { openRateLimit, rateGuard } from '../runtime/limits/rate.ts';
import { openHttp, type HttpOptions } from '../runtime/http/server.ts';
import type { KafkaSettings } from '../runtime/kafka/port.ts';
import type { KafkaOptions } from '../runtime/process/kafka-settings.ts';
import type { Logger } from '../runtime/process/log.ts';
import type { Service } from '../runtime/process/main.ts';
import { showHosts } from '../runtime/postgres/hosts.ts';
import { openReader, type Reader } from '../runtime/postgres/pool.ts';
import { ReadVersion } from '../runtime/read-version.ts';
import { openNotificationSubscriber } from '../runtime/redis.ts';
import { openSharedCounts, type SharedCounts } from '../runtime/shared-counts.ts';
import type { ConsoleConfig, ExplorerGatewayConfig } from './config.ts';
import { CONSOLE, openConsole } from './console.ts';
import { EXPLORER_ERRORS } from './errors.ts';
import { indexCheck, logEnds } from './lag.ts';
import { openReserve } from './reserve/reserve.ts';
import { cacheKeyOf, explorerRoutes } from './routes/routes.ts';

const NAME = 'explorer-gateway';

/** ms of a monotonic clock */
const clock = (): number => performance.now();

/** Returns its address once it serves; `pages`: the folder of the built console. */
export async function serve(
  { config, log, metrics, tracing, closing }: Service<ExplorerGatewayConfig>,
  pages = CONSOLE,
): Promise<string> {
  const reader = openReader(config, NAME, log);
  showHosts(metrics, config.postgres_reader_url);
  closing.add('Postgres', () => reader.close());
  const index = new ReadVersion({ reader, position: indexedPosition(), now: clock });
  const changed = (): void => index.changed();
  const notifications = openNotificationSubscriber(
    config,
    NAME,
    ['projection:explorer'],
    { onNotification: changed, onSubscribed: changed },
    log,
  );
  closing.add('Redis', () => notifications.close());
  const counts = openSharedCounts(config, NAME, log, metrics);
  closing.add('shared counts', () => counts.close());
  const limits = openLimits(config.limits_off, metrics, log);
  const app = explorerApp(config, reader, log, clock, index, counts, pages, limits);
  const http = await openHttp(config, { log, metrics, tracing, ...app, http_limits: limits });
  closing.add('HTTP', () => http.drain());
  return http.url;
}

type Settings = Pick<
  ExplorerGatewayConfig,
  | 'node_url'
  | 'kafka_brokers'
  | 'treasury_public_reconciliation_url'
  | 'ready_lag_blocks_max'
  | 'answers_kept_max'
  | 'exports_max'
  | 'rate_per_second'
  | 'rate_burst'
  | 'trust_proxy_hops'
> &
  KafkaOptions &
  ConsoleConfig;

function readsLog(config: Settings): config is Settings & KafkaSettings {
  return config.kafka_brokers !== undefined;
}

/**
 * Responses are cached per version of `index`; without it none is. Limits hold for all instances
 * that share `counts`; without it for this one.
 */
export function explorerApp(
  config: Settings,
  reader: Reader,
  log: Logger,
  now = clock,
  index?: ReadVersion,
  counts?: SharedCounts,
  pages?: URL,
  limits = openLimits(),
): Pick<
  HttpOptions,
  | 'routes'
  | 'nothingHere'
  | 'cache'
  | 'checks'
  | 'errors'
  | 'guards'
  | 'headers'
  | 'trust_proxy_hops'
> {
  const { treasury_public_reconciliation_url: treasuryPublicReconciliationUrl } = config;
  const rate = openRateLimit(NAME, config, counts, limits.rate);
  const head = nodeHead(config.node_url, now, log);
  const console = pages && openConsole({ folder: pages, config, reader });
  return {
    routes: explorerRoutes({
      reader,
      head,
      node: new ChainNode(config.node_url, new AbortController().signal),
      ends: readsLog(config) ? logEnds(config, now, log) : () => Promise.resolve(undefined),
      reserve:
        treasuryPublicReconciliationUrl === undefined
          ? undefined
          : openReserve(treasuryPublicReconciliationUrl, now, log),
      exports_max: config.exports_max,
      counts,
      limits,
      pages: console?.routes,
    }),
    nothingHere: console?.nothingHere,
    cache: index && { answers: new AnswerCache(index, config), keyOf: cacheKeyOf },
    checks: [indexCheck(reader, head, config.ready_lag_blocks_max)],
    errors: EXPLORER_ERRORS,
    guards: [
      ...(rate === undefined ? [] : [rateGuard(rate, now, EXPLORER_ERRORS)]),
      preflight('GET, HEAD'),
    ],
    headers: corsHeaders(
      'etag, link, retry-after, x-request-id, x-clt-to-height, x-clt-to-hash, x-clt-chain-id, x-clt-mint-authority',
    ),
    trust_proxy_hops: config.trust_proxy_hops,
  };
}
