import { join } from 'node:path';
import type { Addresses } from './addresses.ts';
import { plainEnvironment, type Command } from './child.ts';
import type { Common } from './choices.ts';
import { checkout } from './folder.ts';
import type { PortName, Ports } from './ports.ts';

/** What Node has compiled once it need not compile at each start, which is then half as long. */
const compileCache = join(checkout, 'node_modules', '.cache', 'node');

type Environment = Readonly<Record<string, string>>;

/** Where one service runs: the address it listens on, its ports, and the folder it may keep data in. */
export interface Place {
  readonly http_host: string;
  readonly ports: Ports;
  readonly data: string;
}

/** A program of the stack: `node <entry> <args>`, ready when `/ready` of its first port answers 200. */
export interface ServiceSpec {
  readonly name: string;
  readonly entry: string;
  readonly args: readonly string[];
  readonly ports: readonly [PortName, ...PortName[]];
  /** What the stack decides. */
  settings(at: Addresses, place: Place, common: Common): Environment;
  /** What the user's environment may say otherwise. */
  readonly defaults: Environment;
}

function kafka(at: Addresses): Environment {
  return { APP_KAFKA_BROKERS: at.kafka_brokers, APP_REGISTRY_URL: at.registry_url };
}

function http(place: Place, port: PortName): Environment {
  return { APP_HTTP_HOST: place.http_host, APP_HTTP_PORT: String(place.ports[port]) };
}

/** Every program of the stack, in the order of the data flow: each is started when the one before it is ready, and they are ended in the opposite order. */
export const services: readonly ServiceSpec[] = [
  {
    name: 'devnet',
    entry: 'infra/devnet/main.ts',
    args: [],
    ports: ['devnet', 'node', 'tron'],
    settings: (_, place, common) => ({
      APP_HTTP_HOST: place.http_host,
      APP_DEVNET_SEED: common.devnet_seed,
      APP_NODE_PORT: String(place.ports.node),
      APP_TRON_PORT: String(place.ports.tron),
      APP_ADMIN_PORT: String(place.ports.devnet),
      APP_DEVNET_DIR: place.data,
    }),
    defaults: {},
  },
  {
    name: 'chain-ingester',
    entry: 'services/chain-ingester/main.ts',
    args: [],
    ports: ['chain_ingester'],
    settings: (at, place) => ({
      ...http(place, 'chain_ingester'),
      ...kafka(at),
      APP_NODE_URL: at.node_url,
    }),
    defaults: {},
  },
  {
    name: 'projector-explorer',
    entry: 'services/projector/main.ts',
    args: ['explorer'],
    ports: ['projector_explorer'],
    settings: (at, place) => ({
      ...http(place, 'projector_explorer'),
      ...kafka(at),
      APP_POSTGRES_URL: at.postgres_url,
      APP_REDIS_URL: at.redis_url,
    }),
    // The first is what this stack's brokers allow, so that a killed projector is replaced soon.
    // Loading makes much that is let go of at once: with more room for it V8 moves less of it about.
    defaults: { APP_KAFKA_SESSION_MS: '2000', NODE_OPTIONS: '--max-semi-space-size=64' },
  },
  {
    name: 'explorer-gateway',
    entry: 'services/explorer-gateway/main.ts',
    args: [],
    ports: ['explorer'],
    settings: (at, place) => ({
      ...http(place, 'explorer'),
      APP_KAFKA_BROKERS: at.kafka_brokers,
      APP_POSTGRES_READER_URL: at.postgres_reader_url,
      APP_REDIS_URL: at.redis_url,
      APP_NODE_URL: at.node_url,
      APP_TREASURY_PUBLIC_RECONCILIATION_URL: `${at.treasury_url}/public/reconciliation`,
    }),
    // The clients of a development stack all share one address.
    defaults: { APP_RATE_PER_SECOND: '2000', APP_RATE_BURST: '6000' },
  },
  {
    name: 'treasury',
    entry: 'services/treasury/main.ts',
    args: [],
    ports: ['treasury'],
    settings: (at, place, common) => ({
      ...http(place, 'treasury'),
      ...kafka(at),
      APP_TRON_URL: at.tron_url,
      APP_NODE_URL: at.node_url,
      APP_MINT_KEY: common.mint_key,
      APP_USDT_CONTRACT: common.usdt_contract,
      APP_CUSTODY_ADDRESSES: common.custody_addresses,
      APP_RECONCILE_REQUESTS_PER_SECOND: common.reconcile_requests_per_second,
      APP_RECONCILE_REQUESTS_PER_DAY: common.reconcile_requests_per_day,
    }),
    // What the reserve is shows soon.
    defaults: { APP_RECONCILE_EVERY_MS: '5000' },
  },
  {
    name: 'projector-reserve',
    entry: 'services/projector/main.ts',
    args: ['reserve'],
    ports: ['projector_reserve'],
    settings: (at, place) => ({
      ...http(place, 'projector_reserve'),
      ...kafka(at),
      APP_POSTGRES_URL: at.postgres_url,
      APP_REDIS_URL: at.redis_url,
    }),
    defaults: { APP_KAFKA_SESSION_MS: '2000' },
  },
  {
    name: 'projector-deposits',
    entry: 'services/projector/main.ts',
    args: ['deposits'],
    ports: ['projector_deposits'],
    settings: (at, place) => ({
      ...http(place, 'projector_deposits'),
      ...kafka(at),
      APP_POSTGRES_URL: at.postgres_url,
      APP_REDIS_URL: at.redis_url,
    }),
    defaults: { APP_KAFKA_SESSION_MS: '2000' },
  },
  {
    name: 'deposit-gateway',
    entry: 'services/deposit-gateway/main.ts',
    args: [],
    ports: ['deposit'],
    settings: (at, place, common) => ({
      ...http(place, 'deposit'),
      ...kafka(at),
      APP_POSTGRES_READER_URL: at.postgres_reader_url,
      APP_REDIS_URL: at.redis_url,
      APP_JWT_SECRET: common.jwt_secret,
      APP_DEPOSIT_XPUB: common.deposit_xpub,
    }),
    // The mainnet wants a list of accounts, and takes no default for it; elsewhere nobody looks at it. The clients of a development stack all share one address.
    defaults: {
      APP_ALLOWED_ACCOUNTS: 'none',
      APP_RATE_PER_SECOND: '2000',
      APP_RATE_BURST: '6000',
      APP_ADDRESSES_PER_MINUTE: '0',
    },
  },
  {
    name: 'projector-watch',
    entry: 'services/projector/main.ts',
    args: ['watch'],
    ports: ['projector_watch'],
    settings: (at, place) => ({
      ...http(place, 'projector_watch'),
      ...kafka(at),
      APP_POSTGRES_URL: at.postgres_url,
      APP_REDIS_URL: at.redis_url,
    }),
    defaults: { APP_KAFKA_SESSION_MS: '2000' },
  },
  {
    name: 'tron-watcher',
    entry: 'services/tron-watcher/main.ts',
    args: [],
    ports: ['tron_watcher'],
    settings: (at, place, common) => ({
      ...http(place, 'tron_watcher'),
      ...kafka(at),
      APP_POSTGRES_READER_URL: at.postgres_reader_url,
      APP_TRON_URL: at.tron_url,
      APP_USDT_CONTRACT: common.usdt_contract,
    }),
    // The devnet has no quota: deposits show soon.
    defaults: {
      APP_KAFKA_SESSION_MS: '2000',
      APP_TRON_REQUESTS_PER_SECOND: '200',
      APP_TRON_REQUESTS_PER_DAY: '0',
      APP_PASS_EVERY_MS: '1000',
      APP_COLD_EVERY_MS: '5000',
    },
  },
  {
    name: 'projector-ride-market',
    entry: 'services/projector/main.ts',
    args: ['ride_market'],
    ports: ['projector_ride_market'],
    settings: (at, place) => ({
      ...http(place, 'projector_ride_market'),
      ...kafka(at),
      APP_POSTGRES_URL: at.postgres_url,
      APP_REDIS_URL: at.redis_url,
    }),
    defaults: { APP_KAFKA_SESSION_MS: '2000' },
  },
  {
    name: 'hub-gateway',
    entry: 'services/hub-gateway/main.ts',
    args: [],
    ports: ['hub'],
    settings: (at, place, common) => ({
      ...http(place, 'hub'),
      APP_POSTGRES_READER_URL: at.postgres_reader_url,
      APP_REDIS_URL: at.redis_url,
      APP_NODE_URL: at.node_url,
      APP_JWT_SECRET: common.jwt_secret,
    }),
    // The clients of a development stack all share one address.
    defaults: {
      APP_RATE_PER_SECOND: '2000',
      APP_RATE_BURST: '6000',
      APP_SOCKETS_PER_CLIENT_MAX: '20000',
    },
  },
];

/** The environment of a service, as the stack and docker-compose.yml give it. */
export function serviceEnvironment(
  spec: ServiceSpec,
  common: Common,
  at: Addresses,
  place: Place,
): Record<string, string> {
  return {
    APP_NETWORK: common.network,
    APP_CHAIN_ID: common.chain_id,
    APP_LOG_LEVEL: common.log_level,
    APP_DRAIN_MS: common.drain_ms,
    ...spec.defaults,
    ...spec.settings(at, place, common),
  };
}

/** What to run for a service of a stack on this machine. The user's `own` settings give way to what the stack decides; `extra` wins over everything. */
export function serviceCommand(
  spec: ServiceSpec,
  common: Common,
  at: Addresses,
  place: Place,
  own: Environment,
  extra: Environment = {},
): Command {
  const environment = {
    ...serviceEnvironment(spec, common, at, place),
    ...own,
    ...spec.settings(at, place, common),
  };
  return {
    file: process.execPath,
    // kafkajs sets timers with a negative time, of which Node warns.
    args: ['--disable-warning=TimeoutNegativeWarning', join(checkout, spec.entry), ...spec.args],
    env: plainEnvironment({ NODE_COMPILE_CACHE: compileCache, ...environment, ...extra }),
    cwd: checkout,
  };
}
