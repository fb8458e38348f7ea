/** Sessions of the roles that may only read, which mean to do harm. */
import assert from 'node:assert/strict';
import { Client } from 'pg';
import { afterAll, beforeAll, inject, onTestFinished } from 'vitest';
import { analyst, reader } from '../../../../infra/postgres/settings.ts';
import type { Addresses } from '../../../../infra/services/services.ts';
import { propertyOf } from '../../../../services/runtime/process/errors.ts';
import type { DatabaseUrls } from '../../../support/database.ts';
import { startStack, type Stack } from '../../../support/stack.ts';

/** A Postgres of its own: others would feel that all connections of a role are taken. */
export function useOwnPostgres(): () => Addresses {
  let own: Stack | undefined;
  beforeAll(async () => {
    const { kafka_brokers, registry_url, redis_url } = inject('stack');
    own = await startStack({ others: { kafka_brokers, registry_url, redis_url } });
  });
  afterAll(() => own?.stop());
  return () => {
    assert(own);
    return own.addresses;
  };
}

export const ROLES = [reader, analyst] as const;
export type Role = (typeof ROLES)[number];

export function urlOf({ writer_url }: DatabaseUrls, { name, password }: Role): string {
  return writer_url.replace('clt_writer:clt_writer', `${name}:${password}`);
}

/** A session that has put away every limit that it may. */
export async function openHostile(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'hostile' });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end().catch(() => undefined));
  for (const name of [
    'statement_timeout',
    'lock_timeout',
    'transaction_timeout',
    'idle_in_transaction_session_timeout',
    'idle_session_timeout',
    'default_transaction_read_only',
  ])
    await client.query(`SET ${name} = 0`);
  return client;
}

/** SQLSTATE: too_many_connections. */
export const TOO_MANY = '53300';

/** The SQLSTATE of a refusal; undefined: there is none. */
export function codeOf(done: Promise<unknown>): Promise<unknown> {
  return done.then(
    () => undefined,
    (error: unknown) => propertyOf(error, 'code'),
  );
}

export async function stateOf(client: Client, sql: string): Promise<unknown> {
  const code = await codeOf(client.query(sql));
  // a COMMIT that fails is answered twice, after which the client takes no queries
  if (code !== undefined) await client.query('ROLLBACK').catch(() => undefined);
  return code;
}
