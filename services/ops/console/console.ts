/** `ops console`: serves the operations page to this machine, until Ctrl-C. */
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { OPEN_SESSION, OPERATIONS_API } from '../../../schemas/operations-api/document.ts';
import { builtPage, pageRoutes } from '../../runtime/http/built-page.ts';
import { documentRoutes } from '../../runtime/http/document-routes.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { rateGuard, RateLimit } from '../../runtime/limits/rate.ts';
import { openHttp, type HttpServer } from '../../runtime/http/server.ts';
import { openReader } from '../../runtime/postgres/pool.ts';
import { httpUrl, optional, type Config } from '../../runtime/process/config.ts';
import { propertyOf } from '../../runtime/process/errors.ts';
import { openLog } from '../../runtime/process/log.ts';
import { Closing } from '../../runtime/process/main.ts';
import { Metrics } from '../../runtime/process/metrics.ts';
import { aborted } from '../../runtime/process/retry.ts';
import { readSettings, REGISTRY } from '../config.ts';
import { jsonOf, LOG, print, stopAtSignals } from '../connections.ts';
import { DUST } from '../../treasury/reconciliation/settings.ts';
import { openLedgerLogAt } from '../governance/decide.ts';
import { localServices } from '../status/services.ts';
import { sourcesOf, STATUS_SETTINGS, type Sources } from '../status/status.ts';
import { Misuse, type SharedArguments } from '../usage.ts';
import { LiveLedger } from './live-ledger.ts';
import { readOperations, SharedLook } from './operations.ts';
import { operationsRoutes, OPERATIONS_ERRORS, ownHost, signedIn } from './routes.ts';
import { SignIns } from './sign-in.ts';

const NAME = 'ops-console';
/** Where `vite build` puts it. */
export const OPERATIONS_PAGE = new URL(
  '../../console/operations-dist/operations.html',
  import.meta.url,
);
const DRAIN_MS = 2_000;
const STATEMENT_MS = 5_000;
/** A decision names up to 1,000 deposits. */
const BODY_BYTES_MAX = 65_536;
/** The limits of one client; a page asks twice a second. */
const REQUESTS = { rate_per_second: 50, rate_burst: 200 } as const;
const SIGN_INS = { rate_per_second: 0.5, rate_burst: 20 } as const;

export const CONSOLE_SETTINGS = {
  ...STATUS_SETTINGS,
  ...REGISTRY,
  ...DUST,
  prometheus_url: optional(httpUrl('APP_PROMETHEUS_URL')),
} as const;

interface ConsoleArguments extends SharedArguments {
  readonly host: string;
  readonly port: string;
}

export async function opsConsole(args: ConsoleArguments): Promise<number> {
  const port = portOf(args.port);
  // a stack file that is none is refused here, and not by the page
  localServices(args.stack);
  const config = readSettings(CONSOLE_SETTINGS, args.stack);
  const page = builtPage(OPERATIONS_PAGE);
  if (page === undefined)
    throw new Misuse(
      'the page is not built: npx vite build --config services/console/operations.config.ts builds it, as npm start does',
      'no_page',
    );
  const { signal } = stopAtSignals();
  const closing = new Closing();
  try {
    const { url } = await serveOperations(
      config,
      { stack: args.stack, http_host: args.host, http_port: port },
      pageRoutes(page, ['/']),
      signal,
      closing,
    );
    print(args.json === true ? jsonOf({ url }) : `operations: ${url}\nCtrl-C ends it`);
    await aborted(signal);
  } finally {
    await closing.close(
      () => undefined,
      (_name, error) => LOG.error({ err: error }),
    );
  }
  return 0;
}

interface OperationsPlace {
  /** the stack file */
  readonly stack: string;
  readonly http_host: string;
  readonly http_port: number;
}

function now(): number {
  return Date.now();
}

/** ms of a monotonic clock */
function clock(): number {
  return performance.now();
}

/** Listens, and returns once it does; servers that are away are waited for. */
export async function serveOperations(
  config: Config<typeof CONSOLE_SETTINGS>,
  { stack, http_host, http_port }: OperationsPlace,
  page: readonly GetRoute[],
  signal: AbortSignal,
  closing: Closing,
): Promise<HttpServer> {
  const log = openLog({ service: NAME, level: 'error' });
  const reader = openReader(
    {
      postgres_reader_url: config.postgres_reader_url,
      statement_timeout_ms: STATEMENT_MS,
      postgres_connect_ms: config.postgres_connect_ms,
      postgres_stale_ms: config.postgres_stale_ms,
      connections_max: 2,
    },
    NAME,
    LOG,
  );
  closing.add('Postgres', () => reader.close());
  const ledger = new LiveLedger(() => openLedgerLogAt(config), now);
  const following = ledger.follow(signal);
  closing.add('ledger', () => following);
  const signIns = new SignIns({ admission: () => ledger.admission(), now, random: randomBytes });
  const { prometheus_url, dust_below } = config;
  const status = (): Sources => sourcesOf(config, reader, stack);
  const look = new SharedLook(() =>
    readOperations({ status, reader, ledger, prometheus_url, dust_below }),
  );
  closing.add('look', () => look.idle());
  const requests = rateGuard(new RateLimit(REQUESTS), clock, OPERATIONS_ERRORS);
  const attempts = rateGuard(new RateLimit(SIGN_INS), clock, OPERATIONS_ERRORS);
  const api = operationsRoutes({
    sign_ins: signIns,
    ledger,
    reader,
    look: () => look.ask(),
    tail: config,
    signal,
    now,
  });
  const http = await openHttp(
    { http_host, http_port, drain_ms: DRAIN_MS },
    {
      log,
      metrics: new Metrics(NAME),
      body_bytes_max: BODY_BYTES_MAX,
      routes: [...api, ...documentRoutes(OPERATIONS_API, page)],
      errors: OPERATIONS_ERRORS,
      guards: [
        ownHost,
        requests,
        (request) => (request.path === OPEN_SESSION.path ? attempts(request) : undefined),
        signedIn(signIns),
      ],
    },
  ).catch((error: unknown) => {
    if (propertyOf(propertyOf(error, 'cause'), 'code') !== 'EADDRINUSE') throw error;
    throw new Misuse(
      `port ${http_port} is in use by another program (lsof -i :${http_port} names it): npx ops console --port 0 takes any free one`,
      'port_taken',
    );
  });
  closing.add('HTTP', () => http.drain());
  return http;
}

function portOf(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535))
    throw new Misuse(`--port is from 0 (any free one) to 65535, not "${text}"`);
  return port;
}
