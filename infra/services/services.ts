/** The services of the stack, for the local stack, docker-compose.yml and the tests. */
import type { PortName, Ports } from './ports.ts';
import type { SettingName, StackSettings } from './settings.ts';

/** The addresses at which services find each other. */
export interface Addresses {
  /** host:port, several separated by commas */
  readonly kafka_brokers: string;
  readonly registry_url: string;
  /** for the role that owns and writes the tables */
  readonly postgres_url: string;
  /** for the role that may only SELECT */
  readonly postgres_reader_url: string;
  /** for the role of people, who may only SELECT too */
  readonly postgres_analyst_url: string;
  readonly redis_url: string;
  readonly node_url: string;
  /** TronGrid's API, without a path */
  readonly tron_url: string;
  /** without a path */
  readonly treasury_url: string;
}

export type Environment = Readonly<Record<string, string>>;

/** Where one service runs: the address it listens on, the ports, and the folder for its data. */
export interface Place {
  readonly http_host: string;
  readonly ports: Ports;
  readonly data: string;
}

function addressVariables(at: Addresses) {
  return {
    APP_KAFKA_BROKERS: at.kafka_brokers,
    APP_REGISTRY_URL: at.registry_url,
    APP_POSTGRES_URL: at.postgres_url,
    APP_POSTGRES_READER_URL: at.postgres_reader_url,
    APP_REDIS_URL: at.redis_url,
    APP_NODE_URL: at.node_url,
    APP_TRON_URL: at.tron_url,
    APP_TREASURY_PUBLIC_RECONCILIATION_URL: `${at.treasury_url}/public/reconciliation`,
    APP_TREASURY_ARRIVALS_URL: `${at.treasury_url}/arrivals`,
  };
}

/** Where a browser finds the console, and the services that its pages ask. */
function publicVariables(ports: Ports) {
  return {
    APP_CONSOLE_URL: `http://127.0.0.1:${ports.explorer}`,
    APP_CONSOLE_HUB_URL: `http://127.0.0.1:${ports.hub}`,
    APP_CONSOLE_DEPOSITS_URL: `http://127.0.0.1:${ports.deposit}`,
  };
}

/** A program of the stack: `node <entry> <args>`. */
export interface ServiceSpec {
  readonly name: string;
  readonly entry: string;
  readonly args: readonly string[];
  readonly ports: readonly [PortName, ...PortName[]];
  /** where it answers `/status` and `/metrics` */
  readonly ops_port: PortName;
  /** The variables of its ports where they are not APP_HTTP_PORT alone. */
  readonly port_variables?: readonly string[];
  /** The variable of its data folder, for a service that has one. */
  readonly data_variable?: string;
  /** Variables whose values the stack decides. */
  readonly variables: readonly (
    | keyof ReturnType<typeof addressVariables>
    | keyof ReturnType<typeof publicVariables>
    | SettingName
  )[];
  /** Variables whose values the user may change. */
  readonly defaults: Environment;
  /** More of them, for the devnet: on the mainnet the service's own defaults hold. */
  readonly testnet?: Environment;
}

type Variables = ServiceSpec['variables'];
const KAFKA: Variables = ['APP_KAFKA_BROKERS', 'APP_REGISTRY_URL'];
const READ: Variables = ['APP_POSTGRES_READER_URL', 'APP_REDIS_URL'];
/** The brokers of this stack allow a short session, so a killed process is replaced soon. */
const SHORT_SESSION = { APP_KAFKA_SESSION_MS: '2000' };
/** All clients of a development stack share one address. */
const WIDE_RATE_LIMITS = { APP_RATE_PER_SECOND: '2000', APP_RATE_BURST: '6000' };

function service(
  name: string,
  port: PortName,
  variables: Variables,
  defaults: Environment = {},
  testnet: Environment = {},
): ServiceSpec {
  const entry = `services/${name}/main.ts`;
  return { name, entry, args: [], ports: [port], ops_port: port, variables, defaults, testnet };
}

/** A service for clients of the outside, which are not to reach `/status` and `/metrics`. */
function gateway(
  port: 'explorer' | 'deposit' | 'hub',
  variables: Variables,
  testnet: Environment,
  defaults: Environment = {},
): ServiceSpec {
  const ops_port = `${port}_ops` as const;
  return {
    ...service(`${port}-gateway`, port, variables, defaults, testnet),
    ports: [port, ops_port],
    port_variables: ['APP_HTTP_PORT', 'APP_OPS_PORT'],
    ops_port,
  };
}

function projector(
  projection: 'explorer' | 'reserve' | 'deposits' | 'watch' | 'ride_market' | 'series',
  defaults: Environment = {},
): ServiceSpec {
  return {
    name: `projector-${projection.replace('_', '-')}`,
    entry: 'services/projector/main.ts',
    args: [projection],
    ports: [`projector_${projection}`],
    ops_port: `projector_${projection}`,
    variables: [...KAFKA, 'APP_POSTGRES_URL', 'APP_REDIS_URL'],
    defaults: { ...SHORT_SESSION, ...defaults },
  };
}

const RECONCILIATION: Variables = [
  'APP_CUSTODY_ADDRESSES',
  'APP_RECONCILE_REQUESTS_PER_SECOND',
  'APP_RECONCILE_REQUESTS_PER_DAY',
];
const OPERATORS: Variables = ['APP_OPERATORS', 'APP_TWO_OPERATORS_ABOVE'];
const TRON: Variables = ['APP_TRON_URL', 'APP_USDT_CONTRACT'];

/** Every program of the stack, in the order of starts along the data flow; stops reverse it. */
export const services: readonly ServiceSpec[] = [
  {
    ...service('devnet', 'devnet', ['APP_DEVNET_SEED']),
    entry: 'infra/devnet/main.ts',
    ports: ['devnet', 'node', 'tron'],
    port_variables: ['APP_ADMIN_PORT', 'APP_NODE_PORT', 'APP_TRON_PORT'],
    data_variable: 'APP_DEVNET_DIR',
  },
  service('chain-ingester', 'chain_ingester', [...KAFKA, 'APP_NODE_URL'], SHORT_SESSION),
  // A load allocates much that is short-lived: a larger young generation copies less of it.
  projector('explorer', { NODE_OPTIONS: '--max-semi-space-size=64' }),
  gateway(
    'explorer',
    [
      'APP_KAFKA_BROKERS',
      ...READ,
      'APP_NODE_URL',
      'APP_TREASURY_PUBLIC_RECONCILIATION_URL',
      'APP_CONSOLE_URL',
      'APP_CONSOLE_HUB_URL',
      'APP_CONSOLE_DEPOSITS_URL',
    ],
    // no explorer of TRON knows the transfers of the devnet
    { ...WIDE_RATE_LIMITS, APP_CONSOLE_TRON_URL: 'none' },
  ),
  service(
    'treasury',
    'treasury',
    [
      ...KAFKA,
      ...TRON,
      'APP_NODE_URL',
      'APP_MINT_KEY',
      'APP_DEPOSIT_XPUB',
      ...OPERATORS,
      ...RECONCILIATION,
    ],
    SHORT_SESSION,
    // The reserve shows soon.
    { APP_RECONCILE_EVERY_MS: '5000' },
  ),
  projector('reserve'),
  projector('deposits'),
  gateway(
    'deposit',
    [...KAFKA, ...READ, 'APP_JWT_SECRET', 'APP_DEPOSIT_XPUB', 'APP_CONSOLE_URL'],
    { ...WIDE_RATE_LIMITS, APP_ADDRESSES_PER_MINUTE: '0' },
    // The mainnet requires a list of accounts; other networks ignore it.
    { APP_ALLOWED_ACCOUNTS: 'none' },
  ),
  projector('watch'),
  service(
    'tron-watcher',
    'tron_watcher',
    [...KAFKA, ...TRON, 'APP_POSTGRES_READER_URL', 'APP_TREASURY_ARRIVALS_URL'],
    SHORT_SESSION,
    // The devnet has no quota, so deposits show soon.
    {
      APP_TRON_REQUESTS_PER_SECOND: '200',
      APP_TRON_REQUESTS_PER_DAY: '0',
      APP_PASS_EVERY_MS: '1000',
      APP_COLD_EVERY_MS: '5000',
    },
  ),
  projector('ride_market'),
  projector('series'),
  gateway('hub', [...READ, 'APP_NODE_URL', 'APP_JWT_SECRET', 'APP_CONSOLE_URL'], {
    ...WIDE_RATE_LIMITS,
    APP_SOCKETS_PER_CLIENT_MAX: '20000',
    APP_SUBSCRIPTIONS_PER_CLIENT_MAX: '20000',
  }),
];

/** The environment of a service. The `user` may override the defaults, not the stack's values. */
export function serviceEnvironment(
  spec: ServiceSpec,
  settings: StackSettings,
  at: Addresses,
  place: Place,
  user: Environment = {},
): Environment {
  const values = { ...addressVariables(at), ...publicVariables(place.ports), ...settings };
  const pick = (names: Variables): Environment =>
    Object.fromEntries(names.map((name) => [name, values[name]]));
  const { port_variables = ['APP_HTTP_PORT'], data_variable } = spec;
  return {
    ...pick(['APP_NETWORK', 'APP_CHAIN_ID', 'APP_LOG_LEVEL', 'APP_DRAIN_MS']),
    ...spec.defaults,
    ...(settings.APP_NETWORK === 'mainnet' ? {} : spec.testnet),
    ...user,
    APP_HTTP_HOST: place.http_host,
    ...Object.fromEntries(
      spec.ports.map((port, index) => [port_variables[index], String(place.ports[port])]),
    ),
    ...(data_variable === undefined ? {} : { [data_variable]: place.data }),
    ...pick(spec.variables),
  };
}
