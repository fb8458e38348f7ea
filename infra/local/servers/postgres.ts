import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { postgresAnswers, settlePostgres } from '../../postgres/databases.ts';
import { initdbArguments, postgresArguments, superuser } from '../../postgres/settings.ts';
import type { Programs } from '../fetch/programs.ts';
import { plainEnvironment, type Command } from '../process/child.ts';
import { StackFault } from '../process/fault.ts';
import { runOrFail } from '../process/run-program.ts';
import type { ServerSpec } from '../process/server.ts';
import type { Folder } from '../stack/folder.ts';

interface Account {
  readonly uid: number;
  readonly gid: number;
}

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

/**
 * The arguments of util-linux' setpriv that run a program as an account. The account keeps root's
 * right to pass any folder: a checkout and its data may be below /root. Without the secure bit
 * access(2) would ignore that right.
 */
function setprivArguments({ uid, gid }: Account): string[] {
  const rights = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override'];
  const account = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
  return [...account, '--securebits=+no_setuid_fixup', ...rights];
}

/** Arguments for this machine: data, port, and two fifths of the memory for the buffer cache. */
function localArguments(data: string, port: number): string[] {
  // 0: unknown; a container's limit is below the machine's memory
  const limit = process.constrainedMemory() || Number.POSITIVE_INFINITY;
  const mebibytes = Math.min(totalmem(), limit) / 2 ** 20;
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `shared_buffers=${Math.floor(mebibytes * 0.4)}MB`,
    `effective_cache_size=${Math.floor(mebibytes * 0.6)}MB`,
  ];
  return ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
}

export function postgresServer(folder: Folder, programs: Programs, port: number): ServerSpec {
  const host = `127.0.0.1:${port}`;
  const account = serverAccount();
  const home = join(folder.data, 'postgres');
  const command = (name: string, args: readonly string[]): Command => {
    const program = join(programs.postgres, 'bin', name);
    const own = { env: plainEnvironment(), cwd: home };
    if (account === undefined) return { file: program, args, ...own };
    return { file: 'setpriv', args: [...setprivArguments(account), program, ...args], ...own };
  };
  return {
    name: 'postgres',
    ports: [port],
    // After a kill during a load it replays gigabytes of its log; a stop writes its memory to disk.
    ready_ms: 300_000,
    stop_ms: 120_000,
    async prepare(signal) {
      const data = join(home, 'cluster');
      if (!existsSync(home)) {
        mkdirSync(home, { mode: 0o700 });
        if (account !== undefined) chownSync(home, account.uid, account.gid);
      }
      if (!existsSync(data)) {
        // The cluster gets its name when it is complete, so a killed initdb leaves no half of one.
        const half = join(home, `half-${process.pid}`);
        const password = join(home, 'password');
        writeFileSync(password, superuser.password);
        const options = [`--username=${superuser.name}`, `--pwfile=${password}`];
        const { file, args, ...own } = command('initdb', [
          '-D',
          half,
          ...options,
          ...initdbArguments,
        ]);
        await runOrFail(file, args, { ...own, signal });
        renameSync(half, data);
        rmSync(password);
      }
      // this folder's Postgres has ended; another program may have the pid in its lock file
      rmSync(join(data, 'postmaster.pid'), { force: true });
      return command('postgres', [...postgresArguments(), ...localArguments(data, port)]);
    },
    isReady: () => postgresAnswers(host),
    settle: () => settlePostgres(host),
  };
}
