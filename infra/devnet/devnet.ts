/** All parts of the devnet put together. */
import type { Logger } from 'pino';
import { adminRoutes } from './admin-routes.ts';
import type { DevnetConfig } from './config.ts';
import { CltNode } from './clt/node.ts';
import type { Genesis, GenesisSettings } from './clt/genesis.ts';
import { makeGenesis } from './clt/genesis.ts';
import { Faults } from './faults.ts';
import { application, drain, listen } from './http.ts';
import { Metrics } from './metrics.ts';
import { nodeRoutes } from './node-routes.ts';
import { Producer } from './producer.ts';
import { randomOf } from './random.ts';
import { ChainStore } from './store/chain-store.ts';
import { Traffic } from './traffic/traffic.ts';

export interface Devnet {
  readonly node: CltNode;
  readonly genesis: Genesis;
  readonly node_port: number;
  readonly admin_port: number;
  /** Rejects when the chain can no longer be kept. */
  readonly broken: Promise<never>;
  /** Answers what is in flight, then closes the ports and the files. */
  close(): Promise<void>;
}

const now = (): number => Date.now();

/** Takes the ports first, so that a second devnet on the same ports ends before it touches the chain; then opens the chain and begins. */
export async function startDevnet(config: DevnetConfig, settings: GenesisSettings, log: Logger): Promise<Devnet> {
  const nodeSide = await listen(config.http_host, config.node_port);
  const adminSide = await listen(config.http_host, config.admin_port);
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const genesis = makeGenesis(settings);
  const store = new ChainStore(config.directory, genesis);
  const metrics = new Metrics();
  const node = new CltNode(genesis, store, { blocksAdded: (blocks) => metrics.blocksAdded(blocks), broken: reject });
  metrics.watch(node);
  const faults = new Faults();
  const producer = new Producer(node, config.block_interval_ms, now);
  const traffic = new Traffic(node, config.seed, (outcome) => metrics.trafficCounted(outcome));
  const random = randomOf(`reorganisations:${config.seed}:${node.head.height}`);
  const parts = { node, producer, traffic, faults, metrics, now, random };
  nodeSide.server.on('request', application(log, 300 * 1024, nodeRoutes(node, faults, now)));
  adminSide.server.on('request', application(log, 64 * 1024, adminRoutes(parts)));
  producer.enable(true);
  traffic.setRate(config.traffic_per_second);
  return {
    node,
    genesis,
    node_port: nodeSide.port,
    admin_port: adminSide.port,
    broken,
    close: async () => {
      traffic.setRate(0);
      producer.enable(false);
      node.release();
      await Promise.all([drain(nodeSide.server, config.drain_ms), drain(adminSide.server, config.drain_ms)]);
      await node.close();
    },
  };
}
