/** All parts of the devnet put together. */
import type { Express } from 'express';
import type { Logger } from 'pino';
import { adminRoutes } from './admin-routes.ts';
import type { DevnetConfig } from './config.ts';
import { CltNode } from './clt/node.ts';
import type { Genesis, GenesisSettings } from './clt/genesis.ts';
import { makeGenesis } from './clt/genesis.ts';
import { faultRoutes } from './fault-routes.ts';
import { Faults, NODE_FAULT_DELAYS_MS } from './faults.ts';
import { application, drain, listen } from './http.ts';
import { Metrics } from './metrics.ts';
import { nodeRoutes } from './node-routes.ts';
import { Producer } from './producer.ts';
import { randomOf } from './random.ts';
import { ChainStore } from './store/chain-store.ts';
import { Traffic } from './traffic/traffic.ts';
import { accountRoutes } from './tron/account-routes.ts';
import { tronAdminRoutes } from './tron/admin-routes.ts';
import type { TronFaultMode } from './tron/faults.ts';
import { TRON_FAULT_DELAYS_MS } from './tron/faults.ts';
import { TronNetwork } from './tron/network.ts';
import { Provider } from './tron/provider.ts';
import { RateLimit, RequestCounter } from './tron/requests.ts';
import { walletRoutes } from './tron/wallet-routes.ts';

export interface Devnet {
  readonly node: CltNode;
  readonly tron: TronNetwork;
  readonly genesis: Genesis;
  readonly node_port: number;
  readonly tron_port: number;
  readonly admin_port: number;
  /** Rejects when the chain can no longer be kept. */
  readonly broken: Promise<never>;
  /** Answers what is in flight, then closes the ports and the files. */
  close(): Promise<void>;
}

/** Thousands of transfers in one body. */
const ADMIN_BODY_BYTES_MAX = 2 * 1024 * 1024;

const now = (): number => Date.now();

/** Takes the ports first, so that a second devnet on the same ports ends before it touches the chain; then opens the chain and begins. */
export async function startDevnet(
  config: DevnetConfig,
  settings: GenesisSettings,
  log: Logger,
): Promise<Devnet> {
  const nodeSide = await listen(config.http_host, config.node_port);
  const tronSide = await listen(config.http_host, config.tron_port);
  const adminSide = await listen(config.http_host, config.admin_port);
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const genesis = makeGenesis(settings);
  const store = new ChainStore(config.directory, genesis);
  const metrics = new Metrics();
  const node = new CltNode(genesis, store, {
    blocksAdded: (blocks) => metrics.blocksAdded(blocks),
    broken: reject,
  });
  metrics.watch(node);
  const tron = new TronNetwork(
    config.directory,
    { ...settings, solidify_ms: config.tron_solidify_ms },
    now(),
    reject,
  );
  metrics.watchTron(tron);
  const faults = new Faults(NODE_FAULT_DELAYS_MS);
  const tronFaults = new Faults<TronFaultMode>(TRON_FAULT_DELAYS_MS);
  const requests = new RequestCounter();
  const rateLimit = new RateLimit(config.tron_requests_per_second_max, config.tron_suspended_ms);
  const provider = new Provider({
    faults: tronFaults,
    requests,
    rate_limit: rateLimit,
    api_key: config.tron_api_key,
    now,
  });
  const producers = [
    new Producer(node, config.block_interval_ms, now),
    new Producer(tron, config.tron_block_interval_ms, now),
  ] as const;
  const [producer] = producers;
  const traffic = new Traffic(node, config.seed, (outcome) => metrics.trafficCounted(outcome));
  const random = randomOf(`reorganisations:${config.seed}:${node.head.height}`);
  nodeSide.server.on('request', application(log, 300 * 1024, nodeRoutes(node, faults, now)));
  const providerRoutes = [accountRoutes(tron.chain, provider), walletRoutes(tron.chain, provider)];
  tronSide.server.on(
    'request',
    application(log, 64 * 1024, together([...providerRoutes, (app) => provider.rest(app)])),
  );
  const admin = [
    adminRoutes({ node, producer, traffic, metrics, now, random }),
    tronAdminRoutes({ tron, requests, now }),
    faultRoutes(faults, tronFaults),
  ];
  adminSide.server.on('request', application(log, ADMIN_BODY_BYTES_MAX, together(admin)));
  for (const each of producers) each.enable(true);
  traffic.setRate(config.traffic_per_second);
  const servers = [nodeSide.server, tronSide.server, adminSide.server];
  return {
    node,
    tron,
    genesis,
    node_port: nodeSide.port,
    tron_port: tronSide.port,
    admin_port: adminSide.port,
    broken,
    close: async () => {
      traffic.setRate(0);
      for (const each of producers) each.enable(false);
      node.release();
      await Promise.all(servers.map((server) => drain(server, config.drain_ms)));
      await Promise.all([node.close(), tron.close()]);
    },
  };
}

function together(routes: readonly ((app: Express) => void)[]): (app: Express) => void {
  return (app) => {
    for (const add of routes) add(app);
  };
}
