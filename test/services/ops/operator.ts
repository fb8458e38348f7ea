/** The operator's command line as a person or a script would start it. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

const MAIN = join(import.meta.dirname, '../../../services/ops/main.ts');
const OUTPUT_MAX = 64 * 1024 * 1024;
const FLAGS = ['--disable-warning=TimeoutNegativeWarning'];

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** What it can be told otherwise than in words: nothing of this process' own settings. */
const env = { PATH: process.env['PATH'] };

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

/** In a shell, with what stands behind it there. */
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

export interface Running {
  readonly process: ChildProcess;
  /** everything printed so far */
  printed(): string;
  /** how it ended */
  readonly ended: Promise<number | null>;
}

/** Goes on by itself: the caller ends it. */
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
