import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout that this file belongs to. */
export const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** Where one instance of the stack keeps everything of its own. */
export interface Folder {
  readonly root: string;
  /** Survives restarts; `--wipe` removes it. */
  readonly data: string;
  readonly logs: string;
  /** One file a running process: its identity, so that a later start finds what a killed one left behind. */
  readonly pids: string;
  /** What Java unpacks for itself. */
  readonly scratch: string;
  readonly stack_file: string;
  readonly claim_file: string;
}

/** The paths below `root`; nothing is created. */
export function folderAt(root: string): Folder {
  const top = resolve(root);
  return {
    root: top,
    data: join(top, 'data'),
    logs: join(top, 'logs'),
    pids: join(top, 'pids'),
    scratch: join(top, 'scratch'),
    stack_file: join(top, 'stack.json'),
    claim_file: join(top, 'running.json'),
  };
}

/** The folder of this checkout's instance: `.local`, or APP_LOCAL_DIR. */
export function folderOf(env: NodeJS.ProcessEnv): Folder {
  return folderAt(env['APP_LOCAL_DIR'] ?? join(checkout, '.local'));
}

/** Creates the folder and sets the logs of the run before aside in `logs.before`. */
export function openFolder(folder: Folder): void {
  const before = `${folder.logs}.before`;
  if (existsSync(folder.logs)) {
    rmSync(before, { recursive: true, force: true });
    renameSync(folder.logs, before);
  }
  rmSync(folder.scratch, { recursive: true, force: true });
  for (const path of [folder.root, folder.data, folder.logs, folder.pids, folder.scratch])
    mkdirSync(path, { recursive: true });
}
