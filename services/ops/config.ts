/**
 * Settings of the operator's commands: variables as everywhere, and what they do not give comes
 * from the stack file of a stack on this machine.
 */
import { existsSync, readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import {
  ConfigError,
  fileVariable,
  httpUrl,
  integer,
  isSet,
  POSTGRES_SETTINGS,
  postgres_stale_ms,
  postgresConnect,
  postgresUrl,
  readConfig,
  type Config,
  type Setting,
  type Settings,
} from '../runtime/process/config.ts';
import { messageOf, propertyOf } from '../runtime/process/errors.ts';
import { KAFKA_SETTINGS, REGISTRY_SETTINGS } from '../runtime/process/kafka-settings.ts';
import { TRONGRID_SETTINGS } from '../runtime/trongrid/settings.ts';
import { Misuse } from './usage.ts';

export const KAFKA = KAFKA_SETTINGS;
export const REGISTRY = REGISTRY_SETTINGS;
export const POSTGRES = POSTGRES_SETTINGS;
/** A busy Postgres is not away; nobody waits behind a person's command. */
const CONNECT_MS = 10_000;
export const POSTGRES_READER = {
  postgres_reader_url: postgresUrl('APP_POSTGRES_READER_URL'),
  postgres_connect_ms: postgresConnect(CONNECT_MS),
  postgres_stale_ms,
} as const;
export const NODE = { node_url: httpUrl('APP_NODE_URL') } as const;
export const USDT = { usdt_contract: TRONGRID_SETTINGS.usdt_contract } as const;

/** A threshold of `ops status`. */
function limit(name: string, fallback: number, max = 1_000_000_000): Setting<number> {
  return integer(`APP_STATUS_${name}`, { default: fallback, min: 0, max });
}

export const STATUS_LIMITS = {
  status_lag_records: limit('LAG_RECORDS', 1_000),
  status_lag_seconds: limit('LAG_SECONDS', 60),
  status_blocks_behind: limit('BLOCKS_BEHIND', 20),
  status_unasked_seconds: limit('UNASKED_SECONDS', 7_200),
  status_mint_seconds: limit('MINT_SECONDS', 900),
  status_dead_mint_seconds: limit('DEAD_MINT_SECONDS', 3_600),
  status_deposits_waiting: limit('DEPOSITS_WAITING', 0),
  status_cap_percent: limit('CAP_PERCENT', 90, 100),
  status_reserve_seconds: limit('RESERVE_SECONDS', 3_600),
  status_reading_seconds: limit('READING_SECONDS', 172_800),
  status_snapshot_seconds: limit('SNAPSHOT_SECONDS', 604_800),
  status_clock_seconds: limit('CLOCK_SECONDS', 10),
  status_certificate_days: limit('CERTIFICATE_DAYS', 14),
  status_disk_mb: limit('DISK_MB', 1_024),
} as const;

export type Limits = Config<typeof STATUS_LIMITS>;

/** The services, where no stack file lists them. */
export const STATUS_SERVICES: Setting<readonly string[]> = {
  name: 'APP_STATUS_SERVICES',
  expected: 'name=url of services, separated by commas, like treasury=http://treasury:17004',
  secret: false,
  fallback: [],
  read: (given) => {
    const listed = given.split(',').map((entry) => entry.trim().replace(/\/+$/, ''));
    return listed.every((entry) => /^[\w-]+=https?:\/\/[^\s@/?#]+$/.test(entry))
      ? listed
      : undefined;
  },
};

/** Throws a `ConfigError` with everything that is missing. */
export function readSettings<Of extends Settings>(
  settings: Of,
  stackFile: string,
  env = process.env,
): Config<Of> {
  const stack = readStackFile(stackFile);
  trustAuthority(stack);
  const given = Object.values(settings).flatMap(({ name }) => {
    const file = fileVariable(name);
    return [
      [file, env[file]] as const,
      [name, env[name] ?? (isSet(env, file) ? undefined : fromStack(stack, name))] as const,
    ];
  });
  const values = Object.fromEntries(given);
  try {
    return readConfig(values, settings);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const missing = Object.values(settings).flatMap(({ name, ...setting }) =>
      'fallback' in setting || isSet(values, name) || isSet(values, fileVariable(name)) ? [] : name,
    );
    // where all are given, one of them is wrong, and no stack helps
    if (missing.length === 0) throw error;
    const lacks = existsSync(stackFile) ? `does not give ${missing.join(', ')}` : 'does not exist';
    throw new ConfigError([
      `the stack file ${stackFile} ${lacks}: start the stack (npm run up), name its file (--stack) or its folder (APP_LOCAL_DIR), or set the variables`,
      ...error.problems,
    ]);
  }
}

/** A cluster on this machine has a certificate authority of its own. */
function trustAuthority(stack: object): void {
  const file: unknown = Reflect.get(stack, 'certificate_authority');
  if (typeof file !== 'string' || !existsSync(file)) return;
  setDefaultCACertificates([...getCACertificates(), readFileSync(file, 'utf8')]);
}

/** The stack file names `APP_NODE_URL` `node_url`. */
function fromStack(stack: object, variable: string): string | undefined {
  const value: unknown = Reflect.get(stack, variable.replace(/^APP_/, '').toLowerCase());
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value : undefined;
}

/** Empty where there is no such file. */
export function readStackFile(file: string): object {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch (error) {
    if (propertyOf(error, 'code') === 'ENOENT') return {};
    throw new Misuse(
      `${file} is no stack file: ${messageOf(error)}; npm run up writes one, stack.json in the folder .local or APP_LOCAL_DIR`,
      'no_stack_file',
    );
  }
}
