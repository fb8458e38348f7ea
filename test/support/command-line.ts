import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { until } from './until.ts';

/** Resolves when a process has printed this; rejects when it ends before. */
export async function prints(
  child: ChildProcess,
  printed: () => string,
  text: string | RegExp,
  name = 'the process',
): Promise<void> {
  const what = `${name} to print ${String(text)}`;
  const hasPrinted = (): boolean => printed().match(text) !== null;
  const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null;
  await until(printed, what, () => isOver() || hasPrinted());
  // what it printed last may still be on its way
  if (!hasPrinted()) await until(printed, what, () => hasClosed(child));
  if (!hasPrinted()) throw new Error(`waited for ${what}, but it ended:\n${printed()}`);
}

function hasClosed({ stdout, stderr }: ChildProcess): boolean {
  return (stdout?.destroyed ?? true) && (stderr?.destroyed ?? true);
}

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

const HERE = join(import.meta.dirname, '../..');

/**
 * Starts the stack's command line with these arguments and settings in addition to the environment;
 * that of `checkout`.
 */
export function runMain(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  checkout = HERE,
): CommandRun {
  const main = join(checkout, 'infra/local/main.ts');
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
    prints: (text) => prints(child, () => output, text, `"${args.join(' ')}"`),
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
