import { spawn } from 'node:child_process';
import { StackFault } from './fault.ts';

/** How a short command ended, with all that it printed. `missing` when there is no such program. */
export type Outcome =
  | { readonly missing: true }
  | { readonly missing: false; readonly code: number | null; readonly output: string };

interface Options {
  readonly signal: AbortSignal;
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly cwd?: string | undefined;
  /** Called with each piece of output. */
  readonly watch?: ((text: string) => void) | undefined;
}

/** Runs a program to its end and keeps its output. Aborting ends it together with what it started. */
export async function run(
  file: string,
  args: readonly string[],
  options: Options,
): Promise<Outcome> {
  options.signal.throwIfAborted();
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: options.env ?? process.env,
    cwd: options.cwd,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      options.watch?.(text);
    });
  }
  const end = (): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
      process.kill(-child.pid, 'SIGKILL');
  };
  options.signal.addEventListener('abort', end, { once: true });
  try {
    const outcome = await new Promise<Outcome>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? resolve({ missing: true }) : reject(error),
      );
      child.once('close', (code) => resolve({ missing: false, code, output }));
    });
    options.signal.throwIfAborted();
    return outcome;
  } finally {
    options.signal.removeEventListener('abort', end);
  }
}

/** The same, but anything other than exit code 0 is a StackFault that shows the end of the output. */
export async function runOrFail(
  what: string,
  file: string,
  args: readonly string[],
  options: Options,
): Promise<string> {
  const outcome = await run(file, args, options);
  if (outcome.missing) throw new StackFault(`${what}: there is no program ${file}`);
  if (outcome.code !== 0) {
    const lines = outcome.output.split(/[\r\n]+/).filter((line) => line.trim() !== '');
    throw new StackFault(
      [
        `${what} failed (${file} exited with code ${outcome.code ?? '?'}):`,
        ...lines.slice(-12).map((line) => `  | ${line}`),
      ].join('\n'),
    );
  }
  return outcome.output;
}
