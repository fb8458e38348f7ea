/** Roles and databases of a Postgres server, wherever it runs. */
import { readFileSync } from 'node:fs';
import { Client, DatabaseError } from 'pg';
import { database, reader, superuser, writer } from './settings.ts';

const DUPLICATE_DATABASE = '42P04';

const roles = readFileSync(new URL('roles.sql', import.meta.url), 'utf8');
const grants = readFileSync(new URL('grants.sql', import.meta.url), 'utf8');

/** A connection string of a role to a database. */
export function postgresUrl(
  role: { readonly name: string; readonly password: string },
  host: string,
  name: string,
): string {
  return `postgres://${role.name}:${role.password}@${host}/${name}`;
}

/** A server on a busy machine may take long to answer. */
const CONNECT_MS = 30_000;
const PROBE_MS = 2_000;

async function withClient<T>(
  url: string,
  work: (client: Client) => Promise<T>,
  connectMs = CONNECT_MS,
): Promise<T> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectMs });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function createIfMissing(client: Client, name: string): Promise<void> {
  const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
  if (found.rowCount !== 0) return;
  try {
    await client.query(`CREATE DATABASE "${name}"`);
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== DUPLICATE_DATABASE) throw error;
  }
}

/** Creates a database, unless it exists, that the writer may fill and the reader may only read. */
export async function createDatabase(
  host: string,
  name: string,
): Promise<{ writer_url: string; reader_url: string }> {
  await withClient(postgresUrl(superuser, host, 'postgres'), (client) =>
    createIfMissing(client, name),
  );
  await withClient(postgresUrl(superuser, host, name), (client) => client.query(grants));
  return {
    writer_url: postgresUrl(writer, host, name),
    reader_url: postgresUrl(reader, host, name),
  };
}

/** Whether Postgres at host:port answers the superuser. */
export async function postgresAnswers(host: string): Promise<boolean> {
  await withClient(
    postgresUrl(superuser, host, 'postgres'),
    (client) => client.query('SELECT 1'),
    PROBE_MS,
  );
  return true;
}

/** Creates the roles and the database of the services unless they exist. */
export async function settlePostgres(host: string): Promise<void> {
  await withClient(postgresUrl(superuser, host, 'postgres'), (client) => client.query(roles));
  await createDatabase(host, database);
}
