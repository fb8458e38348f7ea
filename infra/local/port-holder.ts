import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { platform } from 'node:os';
import { codeOf } from './fault.ts';

const UNREADABLE = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);

/** What `read` gives, or `otherwise` when that process is gone or another user's. */
function readable<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch (error) {
    if (UNREADABLE.has(codeOf(error) ?? '')) return otherwise;
    throw error;
  }
}

/** The socket inodes that listen on a TCP port, from the tables of this network namespace. */
function listeningInodes(port: number): Set<string> {
  const inodes = new Set<string>();
  const wanted = port.toString(16).toUpperCase().padStart(4, '0');
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const lines = readable(() => readFileSync(table, 'utf8'), '').split('\n');
    for (const line of lines.slice(1)) {
      const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
      if (state === '0A' && inode !== undefined && local?.endsWith(`:${wanted}`) === true)
        inodes.add(inode);
    }
  }
  return inodes;
}

function hasSocket(pid: number, inodes: ReadonlySet<string>): boolean {
  const descriptors = readable(() => readdirSync(`/proc/${pid}/fd`), []);
  return descriptors.some((descriptor) => {
    const target = readable(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`), '');
    return target.startsWith('socket:[') && inodes.has(target.slice('socket:['.length, -1));
  });
}

function listenersByLsof(port: number): number[] {
  const answer = spawnSync('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-t'], {
    encoding: 'utf8',
  });
  return (answer.stdout ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);
}

/** The pids that listen on a TCP port, as far as this user may see them. */
export function holdersOf(port: number): number[] {
  if (platform() !== 'linux') return listenersByLsof(port);
  const inodes = listeningInodes(port);
  if (inodes.size === 0) return [];
  const pids = readdirSync('/proc').filter((entry) => /^[0-9]+$/.test(entry));
  return pids.map(Number).filter((pid) => hasSocket(pid, inodes));
}

/** Whether that process itself listens on the port. */
export function holdsPort(pid: number, port: number): boolean {
  if (platform() !== 'linux') return listenersByLsof(port).includes(pid);
  const inodes = listeningInodes(port);
  return inodes.size > 0 && hasSocket(pid, inodes);
}

/** The command line of a process; empty when it has gone. */
export function commandLineOf(pid: number): string {
  const text =
    platform() === 'linux'
      ? readable(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '').replaceAll('\0', ' ')
      : spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout;
  return text.trim();
}

/** Whether a server could listen on the port of 127.0.0.1 now. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error) =>
      codeOf(error) === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () =>
      server.close(() => resolve(true)),
    );
  });
}
