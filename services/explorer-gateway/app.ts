/** What the explorer's HTTP server consists of: routes, guards, headers, error answers, readiness. */
import { performance } from 'node:perf_hooks';
import type { HttpAppOptions } from '../runtime/http-app.ts';
import type { Logger } from '../runtime/log.ts';
import type { Reader } from '../runtime/postgres.ts';
import type { ExplorerGatewayConfig } from './config.ts';
import { answerPreflight, CORS_HEADERS } from './cors.ts';
import { EXPLORER_ERRORS } from './error-answers.ts';
import { indexCheck } from './index-check.ts';
import { nodeHead } from './node-head.ts';
import { RateLimit, rateGuard } from './rate-limit.ts';
import { explorerRoutes } from './routes.ts';

const now = (): number => performance.now();

export function explorerApp(
  config: Pick<ExplorerGatewayConfig, 'node_url' | 'ready_lag_blocks_max' | 'rate_per_second' | 'rate_burst' | 'trust_proxy_hops'>,
  reader: Reader,
  log: Logger,
): Pick<HttpAppOptions, 'routes' | 'checks' | 'errors' | 'guards' | 'headers' | 'body_bytes_max' | 'trust_proxy_hops'> {
  const limited = config.rate_per_second === 0 ? [] : [rateGuard(new RateLimit(config), now)];
  return {
    routes: explorerRoutes(reader),
    checks: [indexCheck(reader, nodeHead(config.node_url, now, log), config.ready_lag_blocks_max)],
    errors: EXPLORER_ERRORS,
    guards: [answerPreflight, ...limited],
    headers: CORS_HEADERS,
    trust_proxy_hops: config.trust_proxy_hops,
  };
}
