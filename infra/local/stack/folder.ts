import { hash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { codeOf } from '../process/run-program.ts';

/** The checkout that this file belongs to. */
export const checkout = fileURLToPath(new URL('../../..', import.meta.url));

/** The paths of one stack; all but the shelter are below `root`. */
export interface Folder {
  readonly root: string;
  /** Survives restarts; `down --wipe` removes it. */
  readonly data: string;
  readonly logs: string;
  /** One pid file for each running process. */
  readonly pids: string;
  /** Requests of persons to the supervisor, and its answers. */
  readonly requests: string;
  /** Temporary files of the Java servers. */
  readonly scratch: string;
  /** For root's Postgres, which runs as another user, where that user cannot enter `root`. */
  readonly shelter: string;
  readonly stack_file: string;
  /** The pid file of the supervisor. */
  readonly supervisor_file: string;
}

/** The paths below `root`; creates nothing. */
export function folderAt(root: string): Folder {
  const top = resolve(root);
  return {
    root: top,
    data: join(top, 'data'),
    logs: join(top, 'logs'),
    pids: join(top, 'pids'),
    requests: join(top, 'requests'),
    scratch: join(top, 'scratch'),
    shelter: join('/var/lib', `clt-stack-${hash('sha256', top).slice(0, 12)}`),
    stack_file: join(top, 'stack.json'),
    supervisor_file: join(top, 'running.json'),
  };
}

/** The folder of this checkout's stack: `.local`, or APP_LOCAL_DIR; below it that of a cluster. */
export function folderOf(env: NodeJS.ProcessEnv, cluster: boolean): Folder {
  const root = env['APP_LOCAL_DIR'] ?? join(checkout, '.local');
  return folderAt(cluster ? join(root, 'cluster') : root);
}

/** Creates the folder, and moves the logs of the last run to `logs.before`. */
export function openFolder(folder: Folder): void {
  if (existsSync(folder.logs)) moveFolder(folder.logs, `${folder.logs}.before`);
  removeFolder(folder.scratch);
  for (const path of [folder.root, folder.data, folder.logs, folder.pids, folder.scratch])
    mkdirSync(path, { recursive: true });
}

function moveFolder(from: string, to: string): void {
  removeFolder(to);
  try {
    renameSync(from, to);
  } catch (error) {
    if (!STAYS.has(codeOf(error) ?? '')) throw error;
    cpSync(from, to, { recursive: true });
    removeFolder(from);
  }
}

/** A folder stays that is a disk of its own, has one below it, or is a link. */
const STAYS = new Set(['EBUSY', 'ENOTEMPTY', 'ENOTDIR']);

/** Removes all files of a folder, if there is one, and itself unless it is a disk or a link. */
export function removeFolder(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) removeFolder(inside);
    else unlinkSync(inside);
  }
  try {
    rmdirSync(path);
  } catch (error) {
    if (!STAYS.has(codeOf(error) ?? '')) throw error;
  }
}
