/**
 * Pid files: which processes belong to a folder, so that a start after a killed supervisor finds
 * its orphans. A file holds the process' identity, not only its pid, so that no other program is
 * taken for it.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { lock } from 'proper-lockfile';
import { codeOf } from './fault.ts';
import { identify, isAlive, type ProcessIdentity } from './identity.ts';

const POLL_MS = 50;
/** Every process drains on SIGINT. On SIGTERM Postgres would wait for every client. */
export const STOP_SIGNAL = 'SIGINT';
/** A lock is held for milliseconds; one that a killed process left is stale after this time. */
const LOCK = {
  realpath: false,
  stale: 5_000,
  retries: { retries: 200, maxTimeout: 50, minTimeout: 20 },
};

/** Writes a process that has just been started into its pid file. */
export function writePidFile(file: string, pid: number): void {
  const identity = identify(pid);
  if (identity !== undefined) writeFileSync(file, JSON.stringify(identity));
}

/** The process in a pid file; undefined if it has ended or the file is missing or damaged. */
export function readPidFile(file: string): ProcessIdentity | undefined {
  try {
    const { pid, started }: Partial<ProcessIdentity> = Object(
      JSON.parse(readFileSync(file, 'utf8')),
    );
    const isComplete = Number.isSafeInteger(pid) && typeof started === 'string';
    const identity = { pid: Number(pid), started: String(started) };
    return isComplete && isAlive(identity) ? identity : undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Makes this process the holder of a pid file, or returns the living process that holds it. */
export async function acquirePidFile(file: string): Promise<ProcessIdentity | undefined> {
  mkdirSync(dirname(file), { recursive: true });
  const release = await lock(file, LOCK);
  try {
    const holder = readPidFile(file);
    if (holder === undefined) writePidFile(file, process.pid);
    return holder;
  } finally {
    await release();
  }
}

/** The living processes of a folder of pid files, by name. */
export function livingProcesses(folder: string): Map<string, ProcessIdentity> {
  const living = new Map<string, ProcessIdentity>();
  try {
    for (const entry of readdirSync(folder)) {
      const identity = readPidFile(join(folder, entry));
      if (identity !== undefined) living.set(basename(entry, '.json'), identity);
    }
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  return living;
}

/** Signals a process unless it has ended. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  try {
    if (isAlive(identity)) process.kill(identity.pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

/** Asks processes to end; kills those that have not ended within `timeout_ms`. */
export async function endProcesses(
  processes: readonly ProcessIdentity[],
  signal: NodeJS.Signals,
  timeout_ms: number,
): Promise<void> {
  for (const identity of processes) signalProcess(identity, signal);
  const deadline = performance.now() + timeout_ms;
  while (processes.some(isAlive)) {
    if (performance.now() > deadline)
      for (const identity of processes) signalProcess(identity, 'SIGKILL');
    await pause(POLL_MS);
  }
}
