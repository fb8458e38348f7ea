/** Opens and wires the hub: queries and mutations over HTTP, all operations over sockets. */
import { performance } from 'node:perf_hooks';
import type { Query } from '../../projections/contract/page.ts';
import { indexedPosition } from '../../projections/explorer/queries/chain.ts';
import { marketHead } from '../../projections/ride-market/queries.ts';
import { ChainNode, nodeHead } from '../runtime/clt-node.ts';
import { AnswerCache } from '../runtime/http/answer-cache.ts';
import { corsHeaders, preflight, type HttpRequest } from '../runtime/http/handler.ts';
import { openLimits } from '../runtime/limits/limits.ts';
import { openRateLimit, rateGuard } from '../runtime/limits/rate.ts';
import { Starts } from '../runtime/limits/starts.ts';
import { Turns } from '../runtime/limits/turns.ts';
import { openHttp } from '../runtime/http/server.ts';
import { showHosts } from '../runtime/postgres/hosts.ts';
import { openReader, type Reader, type Statement } from '../runtime/postgres/pool.ts';
import { projectorOf } from '../runtime/process/config.ts';
import type { Check, HealthProblem } from '../runtime/process/health.ts';
import type { Service } from '../runtime/process/main.ts';
import { aborted } from '../runtime/process/retry.ts';
import {
  changedKeys,
  ReadVersion,
  traceparentIn,
  VERSION_CHECK_MS,
} from '../runtime/read-version.ts';
import { openNotificationSubscriber } from '../runtime/redis.ts';
import { openSharedCounts } from '../runtime/shared-counts.ts';
import type { HubGatewayConfig } from './config.ts';
import { Callers, SignIns } from './graphql/authentication.ts';
import { Balances, ChainParameters, type Hub, type Model } from './graphql/context.ts';
import { HUB_ERRORS } from './graphql/errors.ts';
import { lagCheck } from './lag.ts';
import { Pipeline } from './graphql/pipeline.ts';
import { hubSchema } from './graphql/schema.ts';
import { SharedReads } from './graphql/shared-reads.ts';
import { BODY_BYTES_MAX, cacheKeyOf, graphqlRoutes, noStreams } from './http/graphql-route.ts';
import { schemaRoutes } from './http/schema-routes.ts';
import { socketProtocol } from './sockets/protocol.ts';
import { SharedSubscriptions } from './sockets/shared-subscriptions.ts';
import { SocketServer } from './sockets/socket-server.ts';

const NAME = 'hub-gateway';
/** Operations at once that read lists; subscriptions apart. */
const EXECUTIONS_MAX = 4;
/** A client may have this many operations waiting, each for at most this long. */
const WAITING = { waiting_max: 50, wait_ms_max: 30_000 } as const;

/** ms of a monotonic clock */
const clock = (): number => performance.now();

/** Resolves with the URL of the server. `now` in Unix milliseconds. */
export async function serve(
  service: Service<HubGatewayConfig>,
  now = (): number => Date.now(),
): Promise<string> {
  const { config, log, metrics, tracing, signal, closing } = service;
  const { introspection } = config;
  const reader = openReader(config, NAME, log);
  showHosts(metrics, config.postgres_reader_url);
  closing.add('Postgres', () => reader.close());

  const counts = openSharedCounts(config, NAME, log, metrics);
  closing.add('shared counts', () => counts.close());
  // its requests belong to those of callers, which are answered before the process ends
  const drained = new AbortController();
  closing.add('requests to the node', () => drained.abort());
  const node = new ChainNode(config.node_url, drained.signal, config.node_timeout_ms);
  const chain = new ChainParameters();
  const limits = openLimits(config.limits_off, metrics, log);
  const rate = openRateLimit(NAME, config, counts, limits.rate);
  const starts = new Starts(limits.starts);
  const market = followReadModels(service, reader, () => subscriptions);
  const hub: Hub = {
    chain_id: config.chain_id,
    request_referrer: config.request_referrer,
    offer_referrer: config.offer_referrer,
    list_rows_max: config.list_rows_max,
    reader,
    shared_reads: new SharedReads(reader, market),
    node,
    chain,
    turns: new Turns(EXECUTIONS_MAX, { ...WAITING, limit: limits.turns }),
    balances: new Balances(reader),
    sign_ins: new SignIns(config, now, counts),
    rate,
  };
  const schema = hubSchema();
  const formatting = { log, suggestions: introspection };
  const pipeline = new Pipeline({
    schema,
    hub,
    formatting,
    introspection,
    metrics,
    limit: limits.documents,
  });
  const subscriptions: SharedSubscriptions = new SharedSubscriptions({
    subscription_bytes_max: config.subscription_bytes_max,
    subscriptions_per_client_max: config.subscriptions_per_client_max,
    pipeline,
    hub,
    tracing,
    limits,
  });

  await pipeline.start();
  closing.add('Apollo', () => pipeline.stop());
  const cache = new AnswerCache(market, config);
  const callers = new Callers(config, now);
  const accountOf = (request: HttpRequest): Promise<string | undefined> | undefined =>
    callers.of(request)?.then((caller) => caller?.account);
  const protocol = socketProtocol({
    secrets: config,
    socket_operations_max: config.socket_operations_max,
    socket_init_ms: config.socket_init_ms,
    schema,
    pipeline,
    formatting,
    subscriptions,
    limit: limits.subscriptions,
    now,
  });
  const sockets = new SocketServer({
    settings: config,
    protocol,
    rate,
    limits,
    starts,
    log,
    now: clock,
  });

  for (const [name, help, value] of [
    ['hub_sockets', 'Open sockets', () => sockets.size],
    ['hub_sockets_max', 'Limit of open sockets', () => config.sockets_max],
    ['hub_sockets_backpressured', 'Sockets with too many bytes outstanding', () => sockets.behind],
    ['hub_sockets_given_up', 'Sockets closed so far for slowness', () => sockets.given_up],
    ['hub_operations_waiting', 'Operations that wait to read lists', () => hub.turns.waiting],
    ['hub_shared_subscriptions', 'Different open subscriptions', () => subscriptions.size],
    ['hub_deliveries', 'Results delivered so far', () => subscriptions.deliveries],
    ['hub_answer_cache_hits', 'Responses served from the cache so far', () => cache.hits],
  ] as const)
    metrics.gauge(name, help, [], function () {
      this.set(value());
    });

  const http = await openHttp(config, {
    log,
    metrics,
    tracing,
    routes: [
      ...graphqlRoutes({ pipeline, introspection, callers }),
      ...schemaRoutes(introspection, config.console_url),
    ],
    checks: [
      ...hubChecks(reader, chain),
      lagCheck(reader, nodeHead(config.node_url, clock, log), config.ready_lag_blocks_max),
    ],
    errors: HUB_ERRORS,
    guards: [
      ...(rate === undefined ? [] : [rateGuard(rate, clock, HUB_ERRORS, accountOf)]),
      preflight('GET, HEAD, POST'),
      noStreams,
    ],
    headers: corsHeaders('etag, retry-after, x-request-id'),
    trust_proxy_hops: config.trust_proxy_hops,
    body_bytes_max: BODY_BYTES_MAX,
    http_limits: limits,
    starts,
    cache: { answers: cache, keyOf: cacheKeyOf },
    // those of sockets, and as many as others have for requests
    http_connections_max: config.sockets_max + 10_000,
    http_connections_per_client_max: config.sockets_per_client_max + 1_000,
    upgrade: (request, socket, head) => sockets.upgrade(request, socket, head),
  });
  closing.add('HTTP', () => http.drain());
  closing.add('sockets', () => sockets.close());

  // shutdown does not wait for a retry
  await Promise.race([chain.load(node, config, log, signal), aborted(signal)]);
  return http.url;
}

/** Follows both read models for the subscriptions. Returns the version of the market. */
function followReadModels(
  { config, log, metrics, closing }: Service<HubGatewayConfig>,
  reader: Reader,
  subscriptions: () => SharedSubscriptions,
): ReadVersion {
  const open = (model: Model, position: Query): ReadVersion =>
    new ReadVersion({
      reader,
      position,
      now: clock,
      onChange: (keys, traceparent) => subscriptions().notify(model, keys, traceparent),
    });
  const market = open('market', marketHead());
  const accounts = open('accounts', indexedPosition());
  const versions = new Map([
    ['projection:ride_market', market],
    ['projection:explorer', accounts],
  ]);
  const heard = metrics.counter('hub_notifications_total', 'Change notifications from Redis');
  const notifications = openNotificationSubscriber(
    config,
    NAME,
    [...versions.keys()],
    {
      onNotification(channel, message) {
        heard.inc();
        versions.get(channel)?.changed(changedKeys(message), traceparentIn(message));
      },
      onSubscribed: () => versions.forEach((version) => version.changed()),
    },
    log,
  );
  closing.add('Redis', () => notifications.close());
  // finds changes whose notifications were lost
  const check = async (): Promise<void> => {
    if (subscriptions().size === 0) return;
    try {
      await Promise.all([market.current(), accounts.current()]);
      subscriptions().retryFailed();
    } catch (error) {
      log.debug({ err: error }, 'the versions of the read models cannot be checked');
    }
  };
  const checking = setInterval(() => void check(), VERSION_CHECK_MS);
  closing.add('version checks', () => clearInterval(checking));
  return market;
}

const READ_MODELS = ['explorer', 'ride_market'];

/** Columns: projection, whether it is indexed. */
const INDEXED: Statement = {
  name: 'hub_is_indexed',
  text: `SELECT projection, indexed_at IS NOT NULL FROM projector.projections WHERE projection IN ('explorer', 'ride_market')`,
  values: [],
};

/** The hub is ready when the chain's parameters are known and both read models are indexed. */
function hubChecks(reader: Reader, chain: ChainParameters): readonly Check[] {
  const readModels = async (): Promise<HealthProblem | undefined> => {
    const indexed = new Map(
      (await reader.rows(INDEXED)).map(([name, isIndexed]) => [name, isIndexed === 't']),
    );
    const missing = READ_MODELS.filter((name) => indexed.get(name) !== true);
    if (missing.length === 0) return undefined;
    const messages = missing.map((name) =>
      indexed.has(name)
        ? `${name} is being built, and slow until it is: see /ready of ${projectorOf(name)}`
        : `${name} is not there: npx ops start ${projectorOf(name)}`,
    );
    const waits_for = `projection:${missing[0]}`;
    return { status: 'waiting', waits_for, message: messages.join('; ') };
  };
  return [
    { name: 'chain', check: () => chain.problem },
    { name: 'read models', projection: 'explorer', check: readModels },
  ];
}
