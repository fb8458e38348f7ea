import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { until } from './until.ts';

/** A run of `infra/local/main.ts` as a person would start it. */
export interface CommandRun {
  readonly pid: number;
  /** Everything it has printed so far. */
  printed(): string;
  /** Resolves when it has printed this; rejects when it ends before. */
  prints(text: string | RegExp): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Resolves to how it ended: its exit code, or the signal that ended it. */
  ended(): Promise<number | NodeJS.Signals>;
}

/**
 * Starts the stack's command line with these arguments and settings in addition to the environment.
 */
export function runMain(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
): CommandRun {
  const main = join(import.meta.dirname, '../../infra/local/main.ts');
  const env = { ...process.env, ...settings };
  const child = spawn(process.execPath, [main, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  let isOver = false;
  child.once('close', () => (isOver = true));
  const { pid } = child;
  if (pid === undefined) throw new Error('the command could not be started');
  return {
    pid,
    printed: () => output,
    async prints(text) {
      const what = `"${args.join(' ')}" to print ${String(text)}`;
      await until(
        () => output,
        what,
        () => isOver || output.match(text) !== null,
      );
      if (output.match(text) === null)
        throw new Error(`waited for ${what}, but it ended:\n${output}`);
    },
    signal: (signal) => void child.kill(signal),
    async ended() {
      await until(
        () => output.slice(-2_000),
        `"${args.join(' ')}" to end`,
        () => isOver,
      );
      return child.signalCode ?? child.exitCode ?? -1;
    },
  };
}
