import { spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { postgresAnswers, settlePostgres, type Access } from '../../postgres/databases.ts';
import {
  initdbArguments,
  postgresArguments,
  postgres_version,
  superuser,
} from '../../postgres/settings.ts';
import type { Programs } from '../fetch/programs.ts';
import type { Command } from '../process/child.ts';
import { plainEnvironment, runOrFail, StackFault } from '../process/run-program.ts';
import type { ServerSpec } from '../process/server.ts';
import type { Folder } from '../stack/folder.ts';

type Account = Required<Pick<Command, 'uid' | 'gid'>>;

/** The account that Postgres runs as; undefined: this user. Postgres refuses to run as root. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const entries = new Map(lines.map((line) => [line.split(':')[0], line.split(':')]));
  const [, , uid, gid] = entries.get('postgres') ?? entries.get('nobody') ?? [];
  if (uid === undefined || platform() !== 'linux')
    throw new StackFault('Postgres refuses to run as root: run npm start as an ordinary user');
  return { uid: Number(uid), gid: Number(gid) };
}

/** Whether an account can enter a folder: one above it may be closed to others, as /root is. */
function canEnter(path: string, account: Account): boolean {
  const options = { ...account, cwd: '/' };
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', path], options).status === 0;
}

/** The data folder, created if missing: a link into the shelter if the account cannot enter it. */
function openHome({ data, shelter }: Folder, name: string, account: Account | undefined): string {
  const home = join(data, name);
  if (lstatSync(home, { throwIfNoEntry: false }) === undefined) {
    const isOpen = account === undefined || canEnter(data, account);
    const target = isOpen ? home : join(shelter, name);
    rmSync(target, { recursive: true, force: true });
    if (!isOpen) mkdirSync(shelter, { recursive: true });
    mkdirSync(target, { mode: 0o700 });
    if (account !== undefined) chownSync(target, account.uid, account.gid);
    if (!isOpen) symlinkSync(target, home);
  }
  const real = existsSync(home) ? realpathSync(home) : undefined;
  if (real === undefined || (account !== undefined && !canEnter(real, account)))
    throw new StackFault(
      `Postgres cannot enter its data folder ${home}: a link's target is gone, or a folder above ` +
        'is closed to other users (chmod o+x opens it); npm run down -- --wipe removes the data',
    );
  return real;
}

/** The folder of the programs, or a copy in the shelter where the account cannot enter it. */
function openPrograms(path: string, { shelter }: Folder, account: Account | undefined): string {
  if (account === undefined || canEnter(path, account)) return path;
  const copy = join(shelter, `postgres-${postgres_version}`);
  if (!existsSync(copy)) {
    cpSync(path, `${copy}.half`, { recursive: true, verbatimSymlinks: true });
    renameSync(`${copy}.half`, copy);
  }
  return copy;
}

/** Removes a lock file whose pid is no Postgres of this folder: another program may have it now. */
function removeStaleLock(data: string): void {
  const lock = join(data, 'postmaster.pid');
  const pid = existsSync(lock) ? parseInt(readFileSync(lock, 'utf8')) : 0;
  const { stdout } = spawnSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)]);
  if (!String(stdout).includes(data)) rmSync(lock, { force: true });
}

/** Sizes that suit a share of this machine's memory. */
export function memorySettings(share: number): Record<string, string> {
  // 0: unknown; a container's limit is below the machine's memory
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  const mebibytes = (Math.min(totalmem(), limit) / 2 ** 20) * share;
  return {
    shared_buffers: `${Math.floor(mebibytes)}MB`,
    effective_cache_size: `${Math.floor(mebibytes * 1.5)}MB`,
  };
}

/** How a server differs from the only one of a plain stack. */
export interface PostgresPlace {
  readonly settings: Readonly<Record<string, string>>;
  readonly access?: Access;
  /** Written beside the data, for the server's account alone; settings call it `{home}`. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * Fills `half` with the data of another server where this one has none or has outdated ones.
   * False: there is nothing to copy.
   */
  readonly copyFrom?: (data: string, half: string, signal: AbortSignal) => Promise<boolean>;
}

/** `placeOf`: as of now, since passwords and certificates change. */
export function postgresServer(
  folder: Folder,
  programs: Programs,
  name: string,
  port: number,
  placeOf: () => PostgresPlace,
): ServerSpec {
  const host = `127.0.0.1:${port}`;
  const account = serverAccount();
  const own = (path: string): void => {
    if (account !== undefined) chownSync(path, account.uid, account.gid);
  };
  return {
    name,
    ports: [port],
    // After a kill during a load it replays gigabytes of its log; a stop writes its memory to disk.
    ready_ms: 300_000,
    stop_ms: 120_000,
    // The workers of a killed Postgres end a moment later.
    passing_exit: /shared memory block .* is still in use/,
    async prepare(signal) {
      const place = placeOf();
      const { access, files = {}, copyFrom } = place;
      const home = openHome(folder, name, account);
      const data = join(home, 'cluster');
      const programs_folder = openPrograms(programs.postgres, folder, account);
      const command = (program: string, args: readonly string[]): Command => ({
        file: join(programs_folder, 'bin', program),
        args,
        // a replica would look there for a certificate of its own
        env: plainEnvironment({ HOME: home }),
        cwd: home,
        ...account,
      });
      for (const [file, text] of Object.entries(files)) {
        const path = join(home, file);
        writeFileSync(path, text, { mode: 0o600 });
        own(path);
      }
      // The cluster gets its name when it is complete, so a killed copy leaves no half of one.
      const half = join(home, 'half');
      rmSync(half, { recursive: true, force: true });
      if ((await copyFrom?.(data, half, signal)) === true) {
        if (account !== undefined) chownAll(half, account);
        rmSync(data, { recursive: true, force: true });
        renameSync(half, data);
      } else if (!existsSync(data)) {
        const password = join(home, 'password');
        writeFileSync(password, (access?.superuser ?? superuser).password, { mode: 0o600 });
        own(password);
        const options = [`--username=${superuser.name}`, `--pwfile=${password}`];
        const initdb = command('initdb', ['-D', half, ...options, ...initdbArguments]);
        await runOrFail(initdb.file, initdb.args, { ...initdb, signal });
        renameSync(half, data);
        rmSync(password);
      }
      removeStaleLock(data);
      const settings = {
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
        ...place.settings,
      };
      return command('postgres', [
        ...postgresArguments(),
        '-D',
        data,
        '-p',
        String(port),
        ...Object.entries(settings).flatMap(([setting, value]) => [
          '-c',
          `${setting}=${value.replaceAll('{home}', home)}`,
        ]),
      ]);
    },
    isReady: () => postgresAnswers(host, placeOf().access),
    settle: () => settlePostgres(host, placeOf().access),
  };
}

/** Gives a folder and everything below it to an account. */
function chownAll(folder: string, { uid, gid }: Account): void {
  chownSync(folder, uid, gid);
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    chownSync(join(folder, path), uid, gid);
}
