import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Folder } from '../stack/folder.ts';
import { STOP_SIGNAL, writePidFile } from './pid-files.ts';
import { lastLines, StackFault } from './run-program.ts';

/** A program to run. `env` is its whole environment: nothing is inherited. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** The account it runs as, without supplementary groups: this user unless given. */
  readonly uid?: number;
  readonly gid?: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process of the stack; its output goes to a log file. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  readonly log_file: string;
  /** Resolves when it has ended. */
  readonly exit: Promise<Exit>;
  /** How it ended; undefined while it runs. */
  exited: Exit | undefined;
  /** Sends a signal. Resolves when it has ended; at once for SIGSTOP and SIGCONT. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Asks it to end, once, and kills it when it has not ended within `timeout_ms`. */
  stop(timeout_ms: number): Promise<void>;
}

export function describeExit({ code, signal }: Exit): string {
  return signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
}

/** A message about a process, with the last lines of its log. */
export function childFault({ name, log_file }: Child, what: string): string {
  return `${name} ${what}; the end of ${log_file}:${lastLines(readFileSync(log_file, 'utf8'))}`;
}

/** The file with the output of a part, of all its processes since the stack was started. */
export function logFileOf({ logs }: Folder, name: string): string {
  return join(logs, `${name}.log`);
}

/**
 * Starts a process and writes its pid file. It has a session of its own, since a Ctrl-C at the
 * terminal must not reach it. Rejects with a StackFault when it cannot be started.
 */
export async function spawnChild(name: string, command: Command, folder: Folder): Promise<Child> {
  const { file, args, ...options } = command;
  const log_file = logFileOf(folder, name);
  const pid_file = join(folder.pids, `${name}.json`);
  const log = openSync(log_file, 'a');
  const stdio = ['ignore' as const, log, log];
  const started = spawn(file, args, { ...options, stdio, detached: true });
  closeSync(log);
  const { pid } = started;
  if (pid === undefined) {
    const [error]: unknown[] = await once(started, 'error');
    throw new StackFault(`${name} could not be started: ${String(error)}`, { cause: error });
  }
  try {
    writePidFile(pid_file, pid);
  } catch (error) {
    // without its file nobody would find it after a kill of this process
    started.kill('SIGKILL');
    throw error;
  }
  const { promise: exit, resolve } = Promise.withResolvers<Exit>();
  let stopped: Promise<void> | undefined;
  const stop = async (timeout_ms: number): Promise<void> => {
    started.kill(STOP_SIGNAL);
    const timer = setTimeout(() => started.kill('SIGKILL'), timeout_ms);
    await exit;
    clearTimeout(timer);
  };
  const child: Child = {
    name,
    pid,
    log_file,
    exit,
    exited: undefined,
    async kill(signal = 'SIGKILL') {
      started.kill(signal);
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await exit;
    },
    stop: (timeout_ms) => (stopped ??= stop(timeout_ms)),
  };
  started.once('exit', (code, signal) => {
    child.exited = { code, signal };
    rmSync(pid_file, { force: true });
    resolve(child.exited);
  });
  return child;
}
