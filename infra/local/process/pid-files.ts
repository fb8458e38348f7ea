/**
 * Pid files: which processes belong to a folder, so that a start after a killed supervisor finds
 * its orphans. A file holds the process' identity, not only its pid, so that no other program is
 * taken for it.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { codeOf } from './run-program.ts';

const POLL_MS = 50;
/** Every process drains on SIGINT. On SIGTERM Postgres would wait for every client. */
export const STOP_SIGNAL = 'SIGINT';
/** Names one process for ever: the system reuses a pid, but not together with its start time. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque text that is only compared. */
  readonly started: string;
}

/** State letter (Z: zombie) and start time of a process; no state when it has ended. */
function readState(pid: number): readonly [state: string | undefined, started: string] {
  if (platform() !== 'linux') {
    const columns = ['-o', 'stat=,lstart=', '-p', String(pid)];
    const line = spawnSync('ps', columns, { encoding: 'utf8' }).stdout.trim();
    return [line[0], line.slice(line.indexOf(' ')).trim()];
  }
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // man 5 proc_pid_stat: the fields after the name in parentheses; starttime is number 22
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [fields[0], `${boot}:${fields[19]}`];
  } catch {
    return [undefined, ''];
  }
}

/** The identity of a living process, or undefined; a zombie is not alive. */
export function identify(pid: number): ProcessIdentity | undefined {
  const [state, started] = readState(pid);
  return state === undefined || 'ZX'.includes(state) ? undefined : { pid, started };
}

/** Whether that very process lives; false for another program that was given its pid. */
export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identify(pid)?.started === started;
}

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
