import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import type { Addresses } from '../../infra/services/services.ts';
import { createDatabase, postgresUrl } from '../../infra/postgres/databases.ts';
import { superuser } from '../../infra/postgres/settings.ts';

type Where = Pick<Addresses, 'postgres_url'>;

export interface DatabaseUrls {
  readonly writer_url: string;
  readonly reader_url: string;
  readonly analyst_url: string;
}

/** An empty database for one test, with the grants of the roles. */
export async function freshDatabase(addresses: Where): Promise<DatabaseUrls> {
  return await createDatabase(hostOf(addresses), ownName());
}

/** A copy of another database, which must have no connections. */
export async function copiedDatabase(
  addresses: Where,
  original: DatabaseUrls,
): Promise<DatabaseUrls> {
  const host = hostOf(addresses);
  const name = ownName();
  const template = new URL(original.writer_url).pathname.slice(1);
  await rowsOf(
    postgresUrl(superuser, host, 'postgres'),
    `CREATE DATABASE "${name}" TEMPLATE "${template}"`,
  );
  return await createDatabase(host, name);
}

/** The rows of one statement, on a connection of its own. */
export async function rowsOf(
  connectionString: string,
  sql: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString });
  // a connection that breaks also fails the statement
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

function hostOf({ postgres_url: url }: Where): string {
  return new URL(url).host;
}

function ownName(): string {
  return `t_${randomBytes(6).toString('hex')}`;
}
