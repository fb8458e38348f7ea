/**
 * Logs of systems that a failed test file started stay where the messages say, until the next run;
 * those of the other files go when the file ends.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { RunnerTask } from 'vitest';
import type { Folder } from '../../infra/local/stack/folder.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Folders with logs of systems that the failed file started. */
    logs?: readonly string[];
  }
}

/** Folders of stopped systems of the file that runs, which have nothing left but logs. */
const stopped = new Set<string>();

/** Removes the folder of a stopped system; its `logs` only when the test file has passed. */
export function removeSystem({ root, logs, shelter }: Folder): void {
  const all = { recursive: true, force: true } as const;
  rmSync(shelter, all);
  if (process.env['VITEST'] === undefined || !existsSync(logs)) return rmSync(root, all);
  for (const entry of readdirSync(root)) {
    const path = join(root, entry);
    if (path !== logs) rmSync(path, all);
  }
  stopped.add(root);
}

export function hasFailed(task: RunnerTask): boolean {
  return task.result?.state === 'fail' || ('tasks' in task && task.tasks.some(hasFailed));
}

/** Removes the logs of all stopped systems, or keeps them and returns where they are. */
export function settleLogs(isKept: boolean): readonly string[] {
  const roots = [...stopped];
  stopped.clear();
  if (isKept) return roots.map((root) => join(root, 'logs'));
  for (const root of roots) rmSync(root, { recursive: true, force: true });
  return [];
}
