/** Where the operator's commands look: settings as everywhere, and what is not set comes from the stack file of a stack on this machine. */
import { readFileSync } from 'node:fs';
import {
  httpUrl,
  list,
  postgresUrl,
  readConfig,
  type Config,
  type Environment,
  type Settings,
} from '../runtime/process/config.ts';
import type { LocalService } from './status/service-health.ts';

const SETTINGS = {
  kafka_brokers: list('APP_KAFKA_BROKERS'),
  postgres_reader_url: postgresUrl('APP_POSTGRES_READER_URL'),
  node_url: httpUrl('APP_NODE_URL'),
} as const;

export type OpsConfig = Config<typeof SETTINGS>;

/** Key of the stack file for each variable. */
const OF_STACK_FILE: Readonly<Record<string, string>> = {
  APP_KAFKA_BROKERS: 'kafka_brokers',
  APP_POSTGRES_READER_URL: 'postgres_reader_url',
  APP_POSTGRES_URL: 'postgres_url',
  APP_NODE_URL: 'node_url',
  APP_REGISTRY_URL: 'registry_url',
  APP_TRON_URL: 'tron_url',
  APP_USDT_CONTRACT: 'usdt_contract',
  APP_CUSTODY_ADDRESSES: 'custody_addresses',
  APP_RECONCILE_REQUESTS_PER_SECOND: 'reconcile_requests_per_second',
  APP_RECONCILE_REQUESTS_PER_DAY: 'reconcile_requests_per_day',
};

/** Where the stack's registry has Confluent's interface; its file names the server alone. */
const REGISTRY_PATH = '/apis/ccompat/v7';

/** Throws a `ConfigError` with everything that is missing. */
export function readOpsConfig(env: Environment, stackFile: string): OpsConfig {
  return readConfig(environmentOf(env, stackFile, SETTINGS), SETTINGS);
}

/** The variables of these settings, as given or as the stack file says. */
export function environmentOf(
  env: Environment,
  stackFile: string,
  settings: Settings,
): Environment {
  const stack = stackOf(stackFile);
  const found = Object.values(settings).map(
    ({ name }) => [name, env[name] ?? ofStack(stack, name)] as const,
  );
  return Object.fromEntries(
    found.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

function ofStack(stack: Readonly<Record<string, unknown>>, variable: string): unknown {
  const said = stack[OF_STACK_FILE[variable] ?? ''];
  if (typeof said === 'number') return String(said);
  const isServer =
    variable === 'APP_REGISTRY_URL' &&
    typeof said === 'string' &&
    URL.parse(said)?.pathname === '/';
  return isServer ? `${said.replace(/\/$/, '')}${REGISTRY_PATH}` : said;
}

/** The services of a stack on this machine, with their HTTP addresses; undefined where there is no stack file. */
export function localServices(stackFile: string): readonly LocalService[] | undefined {
  const { pids, ports } = stackOf(stackFile);
  if (!isObject(pids) || !isObject(ports)) return undefined;
  return Object.keys(pids).flatMap((name) => {
    const port: unknown = Reflect.get(ports, name.replace(/-gateway$/, '').replaceAll('-', '_'));
    return typeof port === 'number' && HTTP_SERVICE.test(name)
      ? [{ name, url: `http://127.0.0.1:${port}` }]
      : [];
  });
}

/** The others of a stack are servers, which speak something else. */
const HTTP_SERVICE = /-gateway$|^projector-|^(?:chain-ingester|tron-watcher|treasury|devnet)$/;

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function stackOf(file: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof parsed === 'object' && parsed !== null
      ? Object.fromEntries(Object.entries(parsed))
      : {};
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
}
