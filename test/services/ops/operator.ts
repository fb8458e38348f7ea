/** The operator's command line, as a person or a script starts it, and in this process. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { vi } from 'vitest';
import { runOps } from '../../../services/ops/cli.ts';

const MAIN = join(import.meta.dirname, '../../../services/ops/main.ts');
const OUTPUT_MAX = 64 * 1024 * 1024;
const FLAGS = ['--disable-warning=TimeoutNegativeWarning'];

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** An environment without this process' settings. */
const { PATH, NODE_COMPILE_CACHE } = process.env;
const env = { PATH, NODE_COMPILE_CACHE };

/** Resolves when it has ended. */
export function ops(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...FLAGS, MAIN, ...args],
      { env, maxBuffer: OUTPUT_MAX },
      (error, stdout, stderr) => {
        resolve({
          code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1,
          stdout,
          stderr,
        });
      },
    );
  });
}

/** In a shell, followed by `rest`. */
export function opsInShell(args: readonly string[], rest: string): Promise<Ended> {
  const quoted = [process.execPath, ...FLAGS, MAIN, ...args].map((word) => `'${word}'`).join(' ');
  return new Promise((resolve) => {
    execFile('/bin/sh', ['-c', `${quoted} ${rest}`], { env }, (error, stdout, stderr) => {
      resolve({
        code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1,
        stdout,
        stderr,
      });
    });
  });
}

/**
 * In this process, which spares its start; one command at a time. Words in a text are separated by
 * spaces.
 */
export async function opsHere(
  words: string | readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const given = typeof words === 'string' ? words.split(' ').filter((word) => word !== '') : words;
  let [stdout, stderr] = ['', ''];
  // Vitest may set it, and a process of its own has no such setting
  vi.stubEnv('FORCE_COLOR', undefined);
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => (stdout += String(text)) !== ''),
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => (stderr += String(text)) !== ''),
    vi.spyOn(console, 'log').mockImplementation((text) => void (stdout += `${String(text)}\n`)),
  ];
  try {
    const code = await runOps(given);
    return { code, stdout, stderr };
  } finally {
    vi.unstubAllEnvs();
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs it with a person on a terminal, who answers its question so. */
export async function answering<Result>(
  answer: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const { isTTY } = process.stderr;
  const own = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true });
  process.stderr.isTTY = true;
  stdin.write(`${answer}\n`);
  try {
    return await run();
  } finally {
    process.stderr.isTTY = isTTY;
    Object.defineProperty(process, 'stdin', own);
  }
}

export interface Running {
  readonly process: ChildProcess;
  /** everything printed so far */
  printed(): string;
  /** the exit code */
  readonly ended: Promise<number | null>;
}

/** Runs until the caller ends it. */
export function startOps(...args: string[]): Running {
  const child = spawn(process.execPath, [...FLAGS, MAIN, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve));
  return { process: child, printed: () => printed, ended };
}
