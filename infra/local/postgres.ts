import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import {
  database,
  initdbArguments,
  postgresArguments,
  postgres_version,
  reader,
  superuser,
  writer,
} from '../postgres/settings.ts';
import { reachableData, reachablePrograms, serverAccount } from './account.ts';
import { plainEnvironment, runToEnd, type Command } from './child.ts';
import { codeOf } from './fault.ts';
import type { Folder } from './folder.ts';
import { logTail } from './log-tail.ts';
import { commandLineOf } from './port-holder.ts';
import type { Programs } from './programs.ts';
import type { ServerSpec } from './server.ts';

const DUPLICATE_DATABASE = '42P04';

const roles = readFileSync(new URL('../postgres/roles.sql', import.meta.url), 'utf8');
const grants = readFileSync(new URL('../postgres/grants.sql', import.meta.url), 'utf8');

/** A connection string of a role to a database. */
export function postgresUrl(
  role: { readonly name: string; readonly password: string },
  host: string,
  name: string,
): string {
  return `postgres://${role.name}:${role.password}@${host}/${name}`;
}

/** A server that answers has accepted; a busy machine may take a while over the rest. */
const CONNECT_MS = 30_000;
const ANSWER_MS = 2_000;

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
    if (codeOf(error) !== DUPLICATE_DATABASE) throw error;
  }
}

/** Creates a database that the writer may fill and the reader may read; one that is there already is left as it is. */
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

/** Whether a Postgres at host:port answers its superuser. */
export async function postgresAnswers(host: string): Promise<boolean> {
  await withClient(
    postgresUrl(superuser, host, 'postgres'),
    (client) => client.query('SELECT 1'),
    ANSWER_MS,
  );
  return true;
}

/** Creates the roles and the database of the services, as far as they are missing. */
export async function settlePostgres(host: string): Promise<void> {
  await withClient(postgresUrl(superuser, host, 'postgres'), (client) => client.query(roles));
  await createDatabase(host, database);
}

/** Removes a lock file whose pid now belongs to another program: Postgres itself would take that for a running server and give up. */
function removeForeignLock(data: string): void {
  const lock = join(data, 'postmaster.pid');
  if (!existsSync(lock)) return;
  const pid = Number(readFileSync(lock, 'utf8').split('\n')[0]);
  const command = commandLineOf(pid);
  if (command !== '' && !command.includes('postgres')) rmSync(lock);
}

/** The arguments that say where the local server lives. */
function postgresPlace(data: string, port: number): string[] {
  return [
    '-D',
    data,
    '-p',
    String(port),
    '-c',
    'listen_addresses=127.0.0.1',
    '-c',
    'unix_socket_directories=',
  ];
}

/** Two fifths of this machine's memory, taken as they are needed: what the system itself keeps of files may be gone when it is asked for again. */
function postgresMemory(): string[] {
  // 0: unknown; of a container that has a limit, less than the machine's
  const mebibytes =
    Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY) / 2 ** 20;
  return [
    '-c',
    `shared_buffers=${Math.floor(mebibytes * 0.4)}MB`,
    '-c',
    `effective_cache_size=${Math.floor(mebibytes * 0.6)}MB`,
  ];
}

export function postgresServer(folder: Folder, programs: Programs, port: number): ServerSpec {
  const host = `127.0.0.1:${port}`;
  const account = serverAccount();
  const command = (name: string, home: string, cwd: string, args: readonly string[]): Command => ({
    file: join(home, 'bin', name),
    args,
    env: plainEnvironment(),
    cwd,
    account: account === undefined ? undefined : { uid: account.uid, gid: account.gid },
  });
  return {
    name: 'postgres',
    version: postgres_version,
    ports: [port],
    // A "fast" shutdown: open transactions are rolled back, the data is written out.
    stop_signal: 'SIGINT',
    async prepare(signal) {
      const home = reachablePrograms(programs.postgres, folder, account);
      const place = reachableData(join(folder.data, 'postgres'), folder, account);
      const data = join(place, 'cluster');
      if (!existsSync(data)) {
        // A cluster half made is never taken for one: it gets its name when it is whole.
        const half = join(place, 'half');
        rmSync(half, { recursive: true, force: true });
        const password = join(place, 'password');
        writeFileSync(password, superuser.password);
        const args = [
          '-D',
          half,
          `--username=${superuser.name}`,
          `--pwfile=${password}`,
          ...initdbArguments,
        ];
        await runToEnd('postgres-initdb', command('initdb', home, place, args), folder, signal);
        renameSync(half, data);
        rmSync(password);
      }
      removeForeignLock(data);
      return command('postgres', home, data, [
        ...postgresPlace(data, port),
        ...postgresArguments(),
        ...postgresMemory(),
      ]);
    },
    answers: () => postgresAnswers(host),
    settle: () => settlePostgres(host),
    // The workers of a killed server live on for a moment, and the next one refuses to start beside them.
    isPassing: (child) =>
      logTail(child.log_file, 5).some(
        (line) => line.includes('shared memory block') && line.includes('still in use'),
      ),
  };
}
