/**
 * Logs of systems that a failed test file started stay where the messages say, until the next run;
 * those of the other files go when the file ends. Outside of Vitest a process is one run, and its
 * exit code says whether it failed.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunnerTask } from 'vitest';
import { readPidFile, writePidFile } from '../../infra/local/process/pid-files.ts';
import type { Folder } from '../../infra/local/stack/folder.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** Folders with logs of systems that the failed file started. */
    logs?: readonly string[];
  }
}

/** Folders of stopped systems of the file that runs, which have nothing left but logs. */
const stopped = new Set<string>();
const ALL = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 } as const;

/** Whether an entry of a system's folder is part of what it has logged, or says whose it is. */
function isKept(name: string): boolean {
  return name === 'logs' || name.endsWith('.log') || name === 'running.json';
}

/** Removes the folder of a stopped system; its logs only when the test file has passed. */
export function removeSystem({ root, logs, shelter, supervisor_file }: Folder): void {
  rmSync(shelter, ALL);
  if (!existsSync(logs)) return rmSync(root, ALL);
  // they belong to the run, which outlives its workers
  const { VITEST, VITEST_POOL_ID: worker } = process.env;
  writePidFile(supervisor_file, worker === undefined ? process.pid : process.ppid);
  for (const entry of readdirSync(root)) if (!isKept(entry)) rmSync(join(root, entry), ALL);
  if (VITEST === undefined && stopped.size === 0)
    process.once('exit', (code) => {
      for (const path of settleLogs(code !== 0)) process.stderr.write(`logs: ${path}\n`);
    });
  stopped.add(root);
}

export function hasFailed(task: RunnerTask): boolean {
  return task.result?.state === 'fail' || ('tasks' in task && task.tasks.some(hasFailed));
}

/** Removes the logs of all stopped systems, or keeps them and returns where they are. */
export function settleLogs(areKept: boolean): readonly string[] {
  const roots = [...stopped];
  stopped.clear();
  if (areKept) return roots.map((root) => join(root, 'logs'));
  for (const root of roots) rmSync(root, ALL);
  return [];
}

/** Removes kept logs of runs that have ended. */
export function removeKeptLogs(): void {
  for (const entry of readdirSync(tmpdir())) {
    if (!entry.startsWith('clt-test-')) continue;
    const root = join(tmpdir(), entry);
    // no other folder of a test has nothing but logs
    if (!existsSync(join(root, 'logs')) || !readdirSync(root).every(isKept)) continue;
    if (readPidFile(join(root, 'running.json')) === undefined) rmSync(root, ALL);
  }
}
