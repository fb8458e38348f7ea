/** The operator's command line against a stack of the tests, as a process that can be killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { plainEnvironment } from '../../infra/local/child.ts';
import type { Addresses } from '../../infra/local/addresses.ts';

const MAIN = join(import.meta.dirname, '../../services/ops/main.ts');

export interface OpsRun {
  /** everything it has printed so far */
  printed(): string;
  kill(): void;
  /** its exit code, null when it was killed */
  ended(): Promise<number | null>;
}

export function spawnOps(at: Addresses, args: readonly string[], settings: Readonly<Record<string, string>> = {}): OpsRun {
  const env = {
    ...plainEnvironment(),
    APP_KAFKA_BROKERS: at.kafka_brokers,
    APP_REGISTRY_URL: at.registry_url,
    APP_POSTGRES_URL: at.postgres_url,
    APP_POSTGRES_READER_URL: at.postgres_reader_url,
    APP_NODE_URL: at.node_url,
    ...settings,
  };
  const child = spawn(process.execPath, ['--disable-warning=TimeoutNegativeWarning', MAIN, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (output += text));
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
