/** Opens the parts of the devnet, connects them and closes them. */
import type { Logger } from 'pino';
import type { DevnetConfig } from './config.ts';
import { makeGenesis, type GenesisSettings } from './clt/genesis.ts';
import { CltNode } from './clt/node.ts';
import { adminRoutes } from './http/admin-routes.ts';
import { application, drain, listen } from './http/app.ts';
import { Faults, NODE_FAULTS, TRON_FAULTS, faultRoutes } from './http/faults.ts';
import { Metrics } from './http/metrics.ts';
import { nodeRoutes } from './http/node-routes.ts';
import { ChainStore } from './store/chain-store.ts';
import { Traffic, blockTimer, seededRandom } from './traffic/traffic.ts';
import { accountRoutes } from './tron/account-routes.ts';
import { tronAdminRoutes } from './tron/admin-routes.ts';
import { TronNetwork } from './tron/network.ts';
import { ApiKeys, Provider, RateLimit, RequestCounter } from './tron/provider.ts';
import { walletRoutes } from './tron/wallet-routes.ts';

export type Devnet = Awaited<ReturnType<typeof startDevnet>>;

const NODE_BODY_BYTES_MAX = 300 * 1024;
const TRON_BODY_BYTES_MAX = 64 * 1024;
/** A body may hold thousands of transfers. */
const ADMIN_BODY_BYTES_MAX = 2 * 1024 * 1024;

const now = (): number => Date.now();

/**
 * Binds the ports first: a second devnet on the same ports fails before it touches the chain.
 * Then opens the chains and starts making blocks and traffic.
 */
export async function startDevnet(config: DevnetConfig, settings: GenesisSettings, log: Logger) {
  const nodeSide = await listen(config.http_host, config.node_port);
  const tronSide = await listen(config.http_host, config.tron_port);
  const adminSide = await listen(config.http_host, config.admin_port);
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const genesis = makeGenesis(settings);
  const metrics = new Metrics();
  const node = new CltNode(genesis, new ChainStore(config.directory, genesis), {
    blocksAdded: (blocks) => metrics.blocksAdded(blocks),
    broken: reject,
  });
  const tron = new TronNetwork(
    config.directory,
    { ...settings, solidify_ms: config.tron_solidify_ms },
    now(),
    reject,
  );
  metrics.observe(node, tron);
  const nodeFaults = new Faults(NODE_FAULTS);
  const tronFaults = new Faults(TRON_FAULTS);
  const requests = new RequestCounter();
  const keys = new ApiKeys(config.tron_api_key === undefined ? undefined : [config.tron_api_key]);
  const provider = new Provider({
    faults: tronFaults,
    requests,
    rate_limit: new RateLimit(config.tron_requests_per_second_max, config.tron_suspended_ms),
    keys,
    now,
  });
  const enableCltBlocks = blockTimer(node, config.block_interval_ms, now);
  const enableTronBlocks = blockTimer(tron, config.tron_block_interval_ms, now);
  const traffic = new Traffic(node, config.seed, (outcome) => metrics.trafficCounted(outcome));
  const random = seededRandom(`reorganisations:${config.seed}:${node.head.height}`);

  const nodeApp = application(log, NODE_BODY_BYTES_MAX, [nodeRoutes(node, nodeFaults, now)]);
  const tronApp = application(log, TRON_BODY_BYTES_MAX, [
    accountRoutes(tron.chain, provider),
    walletRoutes(tron.chain, provider),
    (app) => provider.refuseOthers(app),
  ]);
  const adminApp = application(log, ADMIN_BODY_BYTES_MAX, [
    adminRoutes({ node, enableBlocks: enableCltBlocks, traffic, metrics, now, random }),
    tronAdminRoutes({ tron, requests, keys, now }),
    faultRoutes({ node: nodeFaults, tron: tronFaults }),
  ]);
  nodeSide.server.on('request', nodeApp);
  tronSide.server.on('request', tronApp);
  adminSide.server.on('request', adminApp);
  enableCltBlocks(true);
  enableTronBlocks(true);
  traffic.setRate(config.traffic_per_second);
  return {
    node,
    tron,
    genesis,
    node_port: nodeSide.port,
    tron_port: tronSide.port,
    admin_port: adminSide.port,
    /** Rejects when a chain can no longer be written to disk. */
    broken,
    /** Completes requests in flight, then closes ports and files. */
    close: async () => {
      traffic.setRate(0);
      enableCltBlocks(false);
      enableTronBlocks(false);
      node.release();
      const servers = [nodeSide.server, tronSide.server, adminSide.server];
      await Promise.all(servers.map((server) => drain(server, config.drain_ms)));
      await Promise.all([node.store.close(), tron.close()]);
    },
  };
}
