import { spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { StackFault } from './fault.ts';
import type { Folder } from './folder.ts';

/** A user other than root, for Postgres, which refuses to run as root. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
  readonly name: string;
}

/** The account that Postgres runs under: undefined (this user) unless this user is root. Its name must have an entry in /etc/passwd. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const entries = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const wanted of ['postgres', 'nobody']) {
    const entry = entries.find(([name]) => name === wanted);
    const [uid, gid] = [Number(entry?.[2]), Number(entry?.[3])];
    if (entry !== undefined && uid > 0 && gid >= 0) return { uid, gid, name: wanted };
  }
  throw new StackFault(
    'Postgres refuses to run as root and /etc/passwd has neither "postgres" nor "nobody": run as an ordinary user',
  );
}

function canUse(path: string, account: Account): boolean {
  const look = spawnSync('/bin/sh', ['-c', '[ -r "$1" ] && [ -x "$1" ]', 'sh', path], {
    uid: account.uid,
    gid: account.gid,
    cwd: '/',
  });
  return look.status === 0;
}

/** A folder that every user can reach, for a checkout that they cannot (one below /root, say). Only root may own it. */
function shelterOf(folder: Folder): string {
  return join(
    '/var/lib',
    `clt-stack-${createHash('sha256').update(folder.root).digest('hex').slice(0, 12)}`,
  );
}

function openShelter(folder: Folder): string {
  const shelter = shelterOf(folder);
  mkdirSync(shelter, { recursive: true, mode: 0o755 });
  const found = lstatSync(shelter);
  if (!found.isDirectory() || found.uid !== 0)
    throw new StackFault(`${shelter} belongs to someone else: remove it and start again`);
  return shelter;
}

/** Removes what lies outside the folder for this instance. */
export function removeShelter(folder: Folder): void {
  rmSync(shelterOf(folder), { recursive: true, force: true });
}

/** The programs at `programs`, or a copy of them, where `account` can run them. */
export function reachablePrograms(
  programs: string,
  folder: Folder,
  account: Account | undefined,
): string {
  if (account === undefined || canUse(programs, account)) return programs;
  const copy = join(
    openShelter(folder),
    createHash('sha256').update(programs).digest('hex').slice(0, 12),
  );
  if (!existsSync(copy)) {
    const half = `${copy}.${process.pid}`;
    cpSync(programs, half, { recursive: true, verbatimSymlinks: true });
    renameSync(half, copy);
  }
  return copy;
}

/** A data folder that belongs to `account` and that it can reach: `wanted` itself, or a link there to one that it can. */
export function reachableData(
  wanted: string,
  folder: Folder,
  account: Account | undefined,
): string {
  if (lstatSync(wanted, { throwIfNoEntry: false }) === undefined) {
    mkdirSync(wanted, { mode: 0o700 });
    if (account !== undefined) chownSync(wanted, account.uid, account.gid);
    if (account !== undefined && !canUse(wanted, account)) {
      rmSync(wanted, { recursive: true });
      const sheltered = join(openShelter(folder), 'data');
      rmSync(sheltered, { recursive: true, force: true });
      mkdirSync(sheltered, { mode: 0o700 });
      chownSync(sheltered, account.uid, account.gid);
      symlinkSync(sheltered, wanted);
    }
  }
  if (!existsSync(wanted))
    throw new StackFault(
      `the data that ${wanted} links to has gone: npm run down -- --wipe begins anew`,
    );
  const real = realpathSync(wanted);
  if (account !== undefined && !canUse(real, account)) {
    throw new StackFault(
      `user ${account.name} can no longer reach ${real}: make its parents passable (chmod o+x), or remove the data (npm run down -- --wipe)`,
    );
  }
  return real;
}
