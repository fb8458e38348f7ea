/** The operator's command line against a stack of the tests, as a process that can be killed. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { plainEnvironment } from '../../infra/local/process/run-program.ts';
import type { Addresses } from '../../infra/services/services.ts';
import { HANG_MS } from '../support/limits.ts';

const MAIN = join(import.meta.dirname, '../../services/ops/main.ts');

export interface OpsRun {
  /** everything it has printed so far */
  printed(): string;
  kill(): void;
  /** its exit code, null when it was killed */
  ended(): Promise<number | null>;
}

/** The settings of a command on this stack. */
export function opsSettings(at: Addresses): Readonly<Record<string, string>> {
  return {
    APP_KAFKA_BROKERS: at.kafka_brokers,
    APP_REGISTRY_URL: at.registry_url,
    APP_POSTGRES_URL: at.postgres_url,
    APP_POSTGRES_READER_URL: at.postgres_reader_url,
    APP_NODE_URL: at.node_url,
  };
}

export const NO_STEP = 'before its first step';

/** The step that a rebuild without `--json` printed last. */
export function rebuildStep(printed: string): string {
  const steps = printed.matchAll(/: (loading|indexing|catching up|switching)\b/g);
  return [...steps].at(-1)?.[1] ?? NO_STEP;
}

/** Its standard output and errors are pipes. */
export function opsProcess(
  at: Addresses,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): ChildProcessByStdio<null, Readable, Readable> {
  const env = {
    ...plainEnvironment(),
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    ...opsSettings(at),
    ...settings,
  };
  return spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', MAIN, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: HANG_MS,
    killSignal: 'SIGKILL',
  });
}

export function spawnOps(
  at: Addresses,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): OpsRun {
  const child = opsProcess(at, args, settings);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (output += part));
  const closed = once(child, 'close');
  return {
    printed: () => output,
    kill: () => void child.kill('SIGKILL'),
    async ended() {
      await closed;
      return child.exitCode;
    },
  };
}

export interface OpsEnded {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One command to its end, without a stack file. */
export async function runOps(
  at: Addresses,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<OpsEnded> {
  const child = opsProcess(at, [...args, '--stack', '/nowhere/stack.json'], settings);
  const ended = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  return { code: child.exitCode, stdout, stderr };
}
