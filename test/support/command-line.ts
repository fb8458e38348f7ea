import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const PATIENCE_MS = 90_000;

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
  const closed = once(child, 'close');
  const { pid } = child;
  if (pid === undefined) throw new Error('the command could not be started');
  return {
    pid,
    printed: () => output,
    async prints(text) {
      const deadline = performance.now() + PATIENCE_MS;
      while (output.match(text) === null) {
        const over = child.exitCode !== null || child.signalCode !== null;
        if (over || performance.now() > deadline)
          throw new Error(
            `${over ? 'ended' : 'went on'} without printing ${String(text)}:\n${output}`,
          );
        await pause(20);
      }
    },
    signal: (signal) => void child.kill(signal),
    async ended() {
      await closed;
      return child.signalCode ?? child.exitCode ?? -1;
    },
  };
}
