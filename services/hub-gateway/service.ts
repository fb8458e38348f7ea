/** Opens what the hub needs and serves: queries and mutations over HTTP, and all operations over sockets. */
import { performance } from 'node:perf_hooks';
import { indexedPosition } from '../../projections/explorer/queries/chain.ts';
import { marketHead } from '../../projections/ride-market/queries.ts';
import { AnswerCache } from '../runtime/http/answer-cache.ts';
import { preflight } from '../runtime/http/cors.ts';
import { openHttp } from '../runtime/http/server.ts';
import type { Service } from '../runtime/process/main.ts';
import { openReader } from '../runtime/postgres/pool.ts';
import { RateLimit, rateGuard } from '../runtime/http/rate-limit.ts';
import { changedKeys, ReadVersion, VERSION_CHECK_MS } from '../runtime/read-version.ts';
import { openNotificationSubscriber } from '../runtime/redis.ts';
import { aborted } from '../runtime/process/retry.ts';
import { Apollo } from './graphql/apollo.ts';
import { Balances } from './graphql/balances.ts';
import { Builders } from './graphql/builders.ts';
import { ChainParameters } from './graphql/chain-info.ts';
import { hubChecks } from './graphql/checks.ts';
import type { HubGatewayConfig } from './config.ts';
import { Documents } from './graphql/documents.ts';
import { HUB_ERRORS } from './graphql/errors.ts';
import { CORS_HEADERS, keptAnswers } from './http/front.ts';
import { BODY_BYTES_MAX, graphqlRoutes } from './http/graphql-route.ts';
import { Groups } from './sockets/groups.ts';
import type { Hub } from './hub.ts';
import { ChainNode } from '../runtime/clt-node.ts';
import { operationTimes } from './graphql/operation-times.ts';
import { GRAPHQL_PATH } from './http/paths.ts';
import { hubSchema } from './graphql/schema.ts';
import { SignIns } from './graphql/sign-ins.ts';
import { socketProtocol } from './sockets/protocol.ts';
import { Sockets } from './sockets/sockets.ts';

const NAME = 'hub-gateway';

/** ms of a clock that never goes back */
const clock = (): number => performance.now();

/** Resolves with the address it serves at. `now` in Unix milliseconds. */
export async function serve(
  service: Service<HubGatewayConfig>,
  now = (): number => Date.now(),
): Promise<string> {
  const { config, log, metrics, signal, closing } = service;
  const reader = openReader({ ...config, application_name: NAME }, log);
  closing.add('Postgres', () => reader.close());

  const node = new ChainNode(config.node_url, signal, config.node_timeout_ms);
  const chain = new ChainParameters();
  const hub: Hub = {
    ...config,
    reader,
    node,
    chain,
    balances: new Balances(reader),
    builders: new Builders({ ...config, reader, node }),
    sign_ins: new SignIns(config, now),
  };
  const schema = hubSchema();
  const formatting = { log, suggestions: config.introspection };
  const groups = new Groups({ ...config, schema, hub, formatting });
  const market = new ReadVersion({
    reader,
    position: marketHead(),
    now: clock,
    onChange: (keys) => groups.tell('market', keys),
  });
  const accounts = new ReadVersion({
    reader,
    position: indexedPosition(),
    now: clock,
    onChange: (keys) => groups.tell('accounts', keys),
  });
  const models = new Map([
    ['projection:ride_market', market],
    ['projection:explorer', accounts],
  ]);
  const notifications = openNotificationSubscriber(
    { ...config, client_name: NAME },
    [...models.keys()],
    {
      onNotification: (channel, message) => models.get(channel)?.changed(changedKeys(message)),
      onSubscribed: () => models.forEach((model) => model.changed()),
    },
    log,
  );
  closing.add('Redis', () => notifications.close());
  // any notification may be lost: whoever has a subscription open hears of a change a second later all the same
  const asking = setInterval(
    () => void lookForMissed(groups, [...models.values()], log),
    VERSION_CHECK_MS,
  );
  closing.add('the look-out', () => clearInterval(asking));

  const documents = new Documents(schema, config.introspection);
  const apollo = new Apollo({
    schema,
    formatting,
    introspection: config.introspection,
    documents,
    plugins: [operationTimes(metrics)],
  });
  await apollo.start();
  closing.add('Apollo', () => apollo.stop());
  const rate = config.rate_per_second === 0 ? undefined : new RateLimit(config);
  const protocol = socketProtocol({
    ...config,
    schema,
    hub,
    groups,
    formatting,
    tokens: config,
    now,
    documents,
  });
  const sockets = new Sockets({ settings: config, protocol, rate, log, now: clock });
  metrics.gauge('hub_sockets', 'open sockets', [], function () {
    this.set(sockets.size);
  });
  metrics.gauge('hub_sockets_max', 'sockets that there may be').set(config.sockets_max);
  metrics.gauge(
    'hub_sockets_behind',
    'sockets that have not taken what was sent to them',
    [],
    function () {
      this.set(sockets.behind);
    },
  );
  metrics.gauge(
    'hub_sockets_given_up',
    'sockets closed so far because they were too slow',
    [],
    function () {
      this.set(sockets.givenUp);
    },
  );
  metrics.gauge(
    'hub_subscription_groups',
    'different subscriptions that are open',
    [],
    function () {
      this.set(groups.size);
    },
  );
  metrics.gauge('hub_deliveries', 'results handed to subscribers so far', [], function () {
    this.set(groups.deliveries);
  });

  const cache = new AnswerCache(market, config);
  metrics.gauge('hub_kept_answers_used', 'answers so far that were there already', [], function () {
    this.set(cache.hits);
  });

  const http = await openHttp({
    ...config,
    log,
    metrics,
    routes: graphqlRoutes({ apollo, hub, cache, tokens: config, now }),
    checks: hubChecks(reader, chain),
    errors: HUB_ERRORS,
    guards: [
      preflight('GET, HEAD, POST'),
      ...(rate === undefined ? [] : [rateGuard(rate, clock, HUB_ERRORS, GRAPHQL_PATH)]),
    ],
    headers: CORS_HEADERS,
    body_bytes_max: BODY_BYTES_MAX,
    front: keptAnswers({ ...config, cache, rate, now: clock }),
    upgrade: (request, socket, head) => sockets.upgrade(request, socket, head),
  });
  closing.add('HTTP', () => http.drain());
  closing.add('sockets', () => sockets.close());

  // what is being tried when the process is told to stop keeps nobody waiting
  await Promise.race([chain.load(node, config, log, signal), aborted(signal)]);
  return http.url;
}

async function lookForMissed(
  groups: Groups,
  models: readonly ReadVersion[],
  log: Service<HubGatewayConfig>['log'],
): Promise<void> {
  if (groups.size === 0) return;
  try {
    await Promise.all(models.map((model) => model.current()));
    groups.retry();
  } catch (error) {
    log.debug({ err: error }, 'the read models cannot be asked how far they are');
  }
}
