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
  isSet,
  POSTGRES_SETTINGS,
  postgres_stale_ms,
  postgresConnect,
  postgresUrl,
  readConfig,
  type Config,
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
      [file, env[file]],
      [name, env[name] ?? (isSet(env, file) ? undefined : fromStack(stack, name))],
    ];
  });
  try {
    return readConfig(Object.fromEntries(given), settings);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const lacks = existsSync(stackFile) ? 'does not give all of them' : 'does not exist';
    throw new ConfigError([
      ...error.problems,
      `the stack file ${stackFile} ${lacks}: start the stack (npm run up), name its file (--stack) or its folder (APP_LOCAL_DIR), or set the variables`,
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
