/** Roles and databases of a Postgres server, wherever it runs. */
import { readFileSync } from 'node:fs';
import { Client, DatabaseError } from 'pg';
import { analyst, database, reader, superuser, writer } from './settings.ts';

const DUPLICATE_DATABASE = '42P04';
const WRONG_PASSWORD = '28P01';

const roles = readFileSync(new URL('roles.sql', import.meta.url), 'utf8');
const functions = readFileSync(new URL('functions.sql', import.meta.url), 'utf8');
const grants = readFileSync(new URL('grants.sql', import.meta.url), 'utf8');

interface Role {
  readonly name: string;
  readonly password: string;
  /** of the superuser: the password that the server may still have */
  readonly before?: string | undefined;
}

/** The roles with their passwords, and the parameters of a connection string, such as TLS. */
export interface Access {
  readonly superuser: Role;
  readonly writer: Role;
  readonly reader: Role;
  readonly analyst: Role;
  /** of replicas; undefined: they are no concern of ours */
  readonly replicator?: Role;
  readonly parameters: string;
}

const development: Access = { superuser, writer, reader, analyst, parameters: '' };

/** A connection string of a role to a database. */
export function postgresUrl(role: Role, host: string, name: string, parameters = ''): string {
  return `postgres://${role.name}:${role.password}@${host}/${name}${parameters}`;
}

/** A server on a busy machine may take long to answer. */
const CONNECT_MS = 30_000;
const PROBE_MS = 2_000;

/** Connects, and closes the connection after `work`. */
export async function withClient<T>(
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

/** Creates a database, unless it exists, that the writer may fill and the others may only read. */
export async function createDatabase(
  host: string,
  name: string,
  access = development,
): Promise<{ writer_url: string; reader_url: string; analyst_url: string }> {
  const { parameters } = access;
  await withClient(postgresUrl(access.superuser, host, 'postgres', parameters), (client) =>
    createIfMissing(client, name),
  );
  await withClient(postgresUrl(access.superuser, host, name, parameters), (client) =>
    client.query(`${grants};${functions}`),
  );
  return {
    writer_url: postgresUrl(access.writer, host, name, parameters),
    reader_url: postgresUrl(access.reader, host, name, parameters),
    analyst_url: postgresUrl(access.analyst, host, name, parameters),
  };
}

/** As the superuser, who may still have the password before. */
async function asSuperuser<T>(
  host: string,
  { superuser: { name, password, before }, parameters }: Access,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const by = (each: string): Promise<T> =>
    withClient(postgresUrl({ name, password: each }, host, 'postgres', parameters), work);
  if (before === undefined) return await by(password);
  return await by(before).catch((error: unknown) => {
    if (!(error instanceof DatabaseError) || error.code !== WRONG_PASSWORD) throw error;
    return by(password);
  });
}

/** Whether Postgres at host:port answers the superuser. */
export async function postgresAnswers(host: string, access = development): Promise<boolean> {
  await withClient(
    postgresUrl(access.superuser, host, 'postgres', access.parameters),
    (client) => client.query('SELECT 1'),
    PROBE_MS,
  );
  return true;
}

/**
 * Gives the roles their passwords, rights and limits, and creates them and the database of the
 * services unless they exist, on a server that may be written to: a replica gets all from there.
 * Runs at each start, so that the rules of this version hold on the data of an earlier one.
 */
export async function settlePostgres(host: string, access = development): Promise<void> {
  const urlOf = (name: string): string =>
    postgresUrl(access.superuser, host, name, access.parameters);
  const { superuser: own, replicator } = access;
  const isPrimary = await asSuperuser(host, access, async (client) => {
    const { rows } = await client.query<{ replica: boolean }>('SELECT pg_is_in_recovery() replica');
    if (rows[0]?.replica === true) return false;
    await client.query(roles);
    const { rows: existing } = await client.query<{ rolname: string }>(
      'SELECT rolname FROM pg_roles',
    );
    for (const { name, password } of [
      access.writer,
      access.reader,
      access.analyst,
      ...(own.before === undefined ? [] : [own]),
      ...(replicator === undefined ? [] : [replicator]),
    ])
      if (existing.some(({ rolname }) => rolname === name))
        await client.query(`ALTER ROLE ${name} PASSWORD ${client.escapeLiteral(password)}`);
    return true;
  });
  if (!isPrimary) return;
  // a reader may connect to the first, and new databases are copies of the second
  for (const name of ['postgres', 'template1'])
    await withClient(urlOf(name), (client) => client.query(functions));
  await createDatabase(host, database, access);
}
