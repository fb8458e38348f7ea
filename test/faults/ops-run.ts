/** The operator's command line against a stack of the tests, as a process that can be killed. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { plainEnvironment } from '../../infra/local/process/child.ts';
import type { Addresses } from '../../infra/services/services.ts';

const MAIN = join(import.meta.dirname, '../../services/ops/main.ts');

export interface OpsRun {
  /** everything it has printed so far */
  printed(): string;
  kill(): void;
  /** its exit code, null when it was killed */
  ended(): Promise<number | null>;
}

/** Its standard output and errors are pipes. */
export function opsProcess(
  at: Addresses,
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): ChildProcessByStdio<null, Readable, Readable> {
  const env = {
    ...plainEnvironment(),
    APP_KAFKA_BROKERS: at.kafka_brokers,
    APP_REGISTRY_URL: at.registry_url,
    APP_POSTGRES_URL: at.postgres_url,
    APP_POSTGRES_READER_URL: at.postgres_reader_url,
    APP_NODE_URL: at.node_url,
    ...settings,
  };
  return spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', MAIN, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
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
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
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
