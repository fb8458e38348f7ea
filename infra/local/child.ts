import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StackFault } from './fault.ts';
import type { Folder } from './folder.ts';
import { logTail } from './log-tail.ts';
import { identify } from './process-identity.ts';

/** What to run. `env` is the whole environment: nothing is inherited. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Another user to run as; only root can. */
  readonly account?: { readonly uid: number; readonly gid: number } | undefined;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What a child needs from the system to run at all. */
export function plainEnvironment(
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const kept = ['PATH', 'HOME'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), TZ: 'UTC', LC_ALL: 'C', ...extra };
}

/** How a process ended, in words. */
export function describeExit(exit: Exit): string {
  return exit.signal === null
    ? `exited with code ${exit.code ?? '?'}`
    : `was ended by ${exit.signal}`;
}

/** A process of the stack: its own session (a Ctrl-C at the terminal must not reach it), its output in a log file, its identity on disk. */
export class Child {
  readonly name: string;
  readonly pid: number;
  readonly log_file: string;
  readonly exit: Promise<Exit>;
  #exited: Exit | undefined;
  readonly #process: ChildProcess;

  constructor(
    name: string,
    pid: number,
    log_file: string,
    process: ChildProcess,
    exit: Promise<Exit>,
  ) {
    this.name = name;
    this.pid = pid;
    this.log_file = log_file;
    this.#process = process;
    this.exit = exit.then((how) => (this.#exited = how));
  }

  /** How it ended, or undefined while it runs. */
  get exited(): Exit | undefined {
    return this.#exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Asks it to end, and ends it when it has not within `patience_ms`. */
  async stop(signal: NodeJS.Signals, patience_ms: number): Promise<Exit> {
    if (this.#exited !== undefined) return this.#exited;
    this.signal(signal);
    const timer = setTimeout(() => this.signal('SIGKILL'), patience_ms);
    try {
      return await this.exit;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A fault that shows how it ended and its last log lines. */
  faultOf(what: string): StackFault {
    const lines = logTail(this.log_file).map((line) => `  | ${line}`);
    return new StackFault(
      [`${this.name} ${what}; the end of ${this.log_file}:`, ...lines].join('\n'),
    );
  }
}

/** Starts a process. Rejects with a StackFault when it cannot be started at all. */
export async function spawnChild(name: string, command: Command, folder: Folder): Promise<Child> {
  const log_file = join(folder.logs, `${name}.log`);
  const record = join(folder.pids, `${name}.json`);
  const log = openSync(log_file, 'a');
  const started = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: { ...command.env },
    stdio: ['ignore', log, log],
    detached: true,
    ...command.account,
  });
  closeSync(log);
  const { pid } = started;
  const identity = pid === undefined ? undefined : identify(pid);
  if (identity !== undefined) writeFileSync(record, JSON.stringify({ ...identity, name }));
  const exit = new Promise<Exit>((resolve) => {
    started.once('exit', (code, signal) => {
      rmSync(record, { force: true });
      resolve({ code, signal });
    });
  });
  try {
    await once(started, 'spawn');
  } catch (error) {
    throw new StackFault(
      `${name} could not be started: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    );
  }
  if (pid === undefined) throw new StackFault(`${name} was started without a pid`);
  return new Child(name, pid, log_file, started, exit);
}

/** Runs a command to its end. Rejects with a StackFault and its last log lines when it fails, and ends it when `signal` aborts. */
export async function runToEnd(
  name: string,
  command: Command,
  folder: Folder,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const child = await spawnChild(name, command, folder);
  const end = (): void => child.signal('SIGKILL');
  signal.addEventListener('abort', end, { once: true });
  try {
    const exit = await child.exit;
    signal.throwIfAborted();
    if (exit.code !== 0) throw child.faultOf(describeExit(exit));
  } finally {
    signal.removeEventListener('abort', end);
  }
}
