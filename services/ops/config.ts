/** Where the operator's commands look: settings as everywhere, and what is not set comes from the stack file of a stack on this machine. */
import { readFileSync } from 'node:fs';
import { httpUrl, list, postgresUrl, readConfig, type Config, type Environment } from '../runtime/config.ts';

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
  APP_NODE_URL: 'node_url',
};

/** Throws a `ConfigError` with everything that is missing. */
export function readOpsConfig(env: Environment, stackFile: string): OpsConfig {
  const stack = stackOf(stackFile);
  const found = Object.entries(OF_STACK_FILE).map(([variable, key]) => [variable, env[variable] ?? stack[key]] as const);
  return readConfig(Object.fromEntries(found.filter((entry): entry is [string, string] => typeof entry[1] === 'string')), SETTINGS);
}

function stackOf(file: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof parsed === 'object' && parsed !== null ? Object.fromEntries(Object.entries(parsed)) : {};
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    throw error;
  }
}
