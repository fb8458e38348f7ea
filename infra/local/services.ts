import { join } from 'node:path';
import type { Addresses } from './addresses.ts';
import { plainEnvironment, type Command } from './child.ts';
import { checkout } from './folder.ts';
import { portNames, portVariable, type PortName, type Ports } from './ports.ts';

type Environment = Readonly<Record<string, string>>;

/** What a service is told besides its addresses. */
export interface Common {
  readonly network: string;
  readonly chain_id: string;
  readonly log_level: string;
  readonly drain_ms: string;
  /** with which the hub signs tokens; told only to those who issue or verify them */
  readonly jwt_secret: string;
  /** of TRON, base58 */
  readonly usdt_contract: string;
  /** of TRON, base58, separated by commas: where money lies that was swept from deposit addresses */
  readonly custody_addresses: string;
}

/** Where the devnet has its USDT, as the Nile testnet has. */
const USDT_CONTRACT = 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf';

/** Of the mnemonic that everybody tests with, at m/44'/195'/1'/0/0. */
const DEVELOPMENT_CUSTODY = 'TCjow1qG4ZvDNj5ZRCF2RSuS2kMCGKK1JJ';

export const defaultCommon: Common = {
  network: 'testnet',
  chain_id: '7777',
  log_level: 'info',
  drain_ms: '10000',
  jwt_secret: 'a development secret, known to everybody',
  usdt_contract: USDT_CONTRACT,
  custody_addresses: DEVELOPMENT_CUSTODY,
};

/** Of the mnemonic that everybody tests with, at m/44'/195'/0'/0: never for a deposit that is worth anything. */
const DEVELOPMENT_XPUB = 'xpub6FGfJkAgwSdiFiFcxWt2rurqZu8YjuEmKfsxLVBrQwr1ZjHpqYEXR9w52uCGyMdmsatMr7VXgNLuoHyFKtK8LZDCVbrMetUGeTLXvWk8y4W';

/** The devnet's mint authority, of its seed `clt-devnet`; with another seed it is another key. It can mint nothing anywhere else. */
const DEVELOPMENT_MINT_KEY = '0xc80c4a2b5390da9a5ebf241d252f4da0cd04c2a4ef946f29ce829b6814a15ba7';

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
    settings: (_, place) => ({
      APP_HTTP_HOST: place.http_host,
      APP_NODE_PORT: String(place.ports.node),
      APP_TRON_PORT: String(place.ports.tron),
      APP_ADMIN_PORT: String(place.ports.devnet),
      APP_DEVNET_DIR: place.data,
    }),
    defaults: { APP_DEVNET_SEED: 'clt-devnet' },
  },
  {
    name: 'chain-ingester',
    entry: 'services/chain-ingester/main.ts',
    args: [],
    ports: ['chain_ingester'],
    settings: (at, place) => ({ ...http(place, 'chain_ingester'), ...kafka(at), APP_NODE_URL: at.node_url }),
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
    // What this stack's brokers allow, so that a killed projector is replaced soon.
    defaults: { APP_KAFKA_SESSION_MS: '2000' },
  },
  {
    name: 'explorer-gateway',
    entry: 'services/explorer-gateway/main.ts',
    args: [],
    ports: ['explorer'],
    settings: (at, place) => ({
      ...http(place, 'explorer'),
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
    settings: (at, place) => ({ ...http(place, 'treasury'), ...kafka(at), APP_TRON_URL: at.tron_url, APP_NODE_URL: at.node_url }),
    // The devnet has no quota: what the reserve is shows soon.
    defaults: {
      APP_MINT_KEY: DEVELOPMENT_MINT_KEY,
      APP_USDT_CONTRACT: USDT_CONTRACT,
      APP_CUSTODY_ADDRESSES: DEVELOPMENT_CUSTODY,
      APP_RECONCILE_EVERY_MS: '5000',
      APP_RECONCILE_REQUESTS_PER_SECOND: '200',
      APP_RECONCILE_REQUESTS_PER_DAY: '0',
    },
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
    }),
    // The mainnet wants a list of accounts, and takes no default for it; elsewhere nobody looks at it.
    defaults: { APP_DEPOSIT_XPUB: DEVELOPMENT_XPUB, APP_ALLOWED_ACCOUNTS: 'none', APP_RATE_PER_SECOND: '2000', APP_RATE_BURST: '6000' },
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
    settings: (at, place) => ({
      ...http(place, 'tron_watcher'),
      ...kafka(at),
      APP_POSTGRES_READER_URL: at.postgres_reader_url,
      APP_TRON_URL: at.tron_url,
    }),
    // The devnet has no quota: deposits show soon.
    defaults: {
      APP_USDT_CONTRACT: USDT_CONTRACT,
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
    defaults: { APP_RATE_PER_SECOND: '2000', APP_RATE_BURST: '6000', APP_SOCKETS_PER_CLIENT_MAX: '20000' },
  },
];

/** The environment of a service, as the stack and docker-compose.yml give it. */
export function serviceEnvironment(spec: ServiceSpec, common: Common, at: Addresses, place: Place): Record<string, string> {
  return {
    APP_NETWORK: common.network,
    APP_CHAIN_ID: common.chain_id,
    APP_LOG_LEVEL: common.log_level,
    APP_DRAIN_MS: common.drain_ms,
    ...spec.defaults,
    ...spec.settings(at, place, common),
  };
}

const ofTheStack = new Set<string>(['APP_CACHE_DIR', 'APP_LOCAL_DIR', 'APP_JWT_SECRET', ...portNames.map(portVariable)]);

/** The user's own APP_ settings, which every service is given as far as the stack does not decide them. */
export function ownSettings(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && name.startsWith('APP_') && !ofTheStack.has(name) ? [[name, value]] : [],
    ),
  );
}

/** Reads what the user may choose for all services. */
export function readCommon(env: NodeJS.ProcessEnv): Common {
  return {
    network: env['APP_NETWORK'] ?? defaultCommon.network,
    chain_id: env['APP_CHAIN_ID'] ?? defaultCommon.chain_id,
    log_level: env['APP_LOG_LEVEL'] ?? defaultCommon.log_level,
    drain_ms: env['APP_DRAIN_MS'] ?? defaultCommon.drain_ms,
    jwt_secret: env['APP_JWT_SECRET'] ?? defaultCommon.jwt_secret,
    usdt_contract: env['APP_USDT_CONTRACT'] ?? defaultCommon.usdt_contract,
    custody_addresses: env['APP_CUSTODY_ADDRESSES'] ?? defaultCommon.custody_addresses,
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
  const environment = { ...serviceEnvironment(spec, common, at, place), ...own, ...spec.settings(at, place, common) };
  return {
    file: process.execPath,
    // kafkajs sets timers with a negative time, of which Node warns.
    args: ['--disable-warning=TimeoutNegativeWarning', join(checkout, spec.entry), ...spec.args],
    env: plainEnvironment({ ...environment, ...extra }),
    cwd: checkout,
  };
}
