import { execFile } from 'node:child_process';
import { inspect } from 'node:util';

/** A fault of the stack with a message for a person: what happened, and what to do about it. */
export class StackFault extends Error {
  override readonly name: string = 'StackFault';
}

/** A command that cannot run: bad usage, bad settings, a stack that is already running. */
export class Refusal extends StackFault {}

/** The `code` of a system error (`ENOENT`, ...), or undefined. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return error.code;
  return undefined;
}

/** No room on the disk, or none left of this user's. */
export function isOutOfRoom(error: unknown): error is Error {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '');
}

const NO_RIGHTS = new Set(['EACCES', 'EPERM', 'EROFS']);

/** An error as a person reads it: with its stack only where it is a bug. */
export function errorText(error: unknown): string {
  if (error instanceof StackFault) return error.message;
  if (isOutOfRoom(error)) return `${error.message}: make room on that disk`;
  if (error instanceof Error && NO_RIGHTS.has(codeOf(error) ?? ''))
    return `${error.message}: do it as the user who started the stack, give this user the right, or name another folder in APP_LOCAL_DIR`;
  return inspect(error);
}

/** Why a program on this machine gave no answer, in words where the error is of the network. */
export function unansweredText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'it does not answer in time: frozen or overloaded';
  if (codeOf(error.cause) === 'ECONNREFUSED') return 'nothing listens on its port';
  return error.message;
}

/** The environment that every program needs. */
export function plainEnvironment(
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME, TZ: 'UTC', LC_ALL: 'C', ...extra };
}

const TAIL_LINES = 12;
const TAIL_COLUMNS = 300;

export interface Outcome {
  /** `missing`: there is no such program */
  readonly end: 'done' | 'failed' | 'missing';
  /** Everything it printed. */
  readonly output: string;
}

interface Options {
  readonly signal: AbortSignal;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly onOutput?: (text: string) => void;
}

/** Runs a program to its end. An abort kills it. */
export async function runProgram(
  file: string,
  args: readonly string[],
  { onOutput, ...options }: Options,
): Promise<Outcome> {
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const limits = { killSignal: 'SIGKILL', maxBuffer: 2 ** 26 } as const;
  const child = execFile(file, args, { ...options, ...limits }, (error, stdout, stderr) => {
    const failure = codeOf(error) === 'ENOENT' ? 'missing' : 'failed';
    resolve({ end: error === null ? 'done' : failure, output: stdout + stderr });
  });
  child.stdout?.on('data', (text: string) => onOutput?.(text));
  const outcome = await promise;
  options.signal.throwIfAborted();
  return outcome;
}

/** Runs a program that has to succeed and returns its output. Throws a StackFault otherwise. */
export async function runOrFail(
  file: string,
  args: readonly string[],
  options: Options,
): Promise<string> {
  const { end, output } = await runProgram(file, args, options);
  if (end === 'done') return output;
  throw new StackFault(
    `${file} failed:${lastLines(end === 'missing' ? 'there is no such program' : output)}`,
  );
}

/** The end of a program's output, each line after a line break. */
export function lastLines(output: string): string {
  const lines = output.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  const last = lines.slice(-TAIL_LINES);
  return last.map((line) => `\n  | ${line.slice(0, TAIL_COLUMNS)}`).join('');
}
