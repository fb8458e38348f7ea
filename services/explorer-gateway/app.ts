/** What the explorer's HTTP server consists of: routes, guards, headers, error answers, readiness. */
import { performance } from 'node:perf_hooks';
import { AnswerCache } from '../runtime/http/answer-cache.ts';
import { corsHeaders, preflight } from '../runtime/http/cors.ts';
import type { HttpAppOptions } from '../runtime/http/app.ts';
import type { Logger } from '../runtime/process/log.ts';
import type { Reader } from '../runtime/postgres/pool.ts';
import { RateLimit, rateGuard } from '../runtime/http/rate-limit.ts';
import type { ReadVersion } from '../runtime/read-version.ts';
import type { ExplorerGatewayConfig } from './config.ts';
import { EXPLORER_ERRORS } from './error-answers.ts';
import { indexCheck } from './index-check.ts';
import { logEnds } from './log-ends.ts';
import { nodeHead } from './node-head.ts';
import { reserveOf } from './reserve/reserve.ts';
import { explorerRoutes } from './routes/routes.ts';

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
>;

/** `now` in ms of a monotonic clock. Responses are cached per version of `index`; without it none is. */
export function explorerApp(
  config: Settings,
  reader: Reader,
  log: Logger,
  now = (): number => performance.now(),
  index?: ReadVersion,
): Pick<
  HttpAppOptions,
  'routes' | 'checks' | 'errors' | 'guards' | 'headers' | 'body_bytes_max' | 'trust_proxy_hops'
> {
  const { treasury_public_reconciliation_url: treasuryUrl, kafka_brokers: brokers } = config;
  const limited =
    config.rate_per_second === 0 ? [] : [rateGuard(new RateLimit(config), now, EXPLORER_ERRORS)];
  const head = nodeHead(config.node_url, now, log);
  const reserve = treasuryUrl === undefined ? undefined : reserveOf(treasuryUrl, now, log);
  return {
    routes: explorerRoutes({
      reader,
      head,
      ends: brokers === undefined ? () => Promise.resolve(undefined) : logEnds(brokers, now, log),
      reserve,
      exports_max: config.exports_max,
      cache: index && new AnswerCache(index, config),
    }),
    checks: [indexCheck(reader, head, config.ready_lag_blocks_max)],
    errors: EXPLORER_ERRORS,
    guards: [preflight('GET, HEAD'), ...limited],
    headers: corsHeaders('link, retry-after, x-request-id, x-clt-to-height, x-clt-to-hash'),
    trust_proxy_hops: config.trust_proxy_hops,
  };
}
