/** A comparison server of a bench: a script of this folder in a process of its own. */
import { join } from 'node:path';
import { childFault, spawnChild } from '../../infra/local/process/child.ts';
import { plainEnvironment } from '../../infra/local/process/run-program.ts';
import { checkout } from '../../infra/local/stack/folder.ts';
import { takePort } from '../support/free-ports.ts';
import type { Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';

export interface SideServer {
  readonly name: string;
  readonly pid: number;
  /** without a path */
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** `node <script> <port> <args>`, once `answers` holds of its address. */
export async function startSideServer(
  stack: Stack,
  name: string,
  script: string,
  args: readonly string[],
  answers: (url: string) => Promise<boolean>,
): Promise<SideServer> {
  const { port, release } = await takePort();
  const command = {
    file: process.execPath,
    args: [
      '--disable-warning=TimeoutNegativeWarning',
      join(import.meta.dirname, script),
      String(port),
      ...args,
    ],
    // as the services: what is compared with them must not be slower for lack of it
    env: plainEnvironment({ NODE_ENV: 'production' }),
    cwd: checkout,
  };
  const child = await spawnChild(script.replace('.ts', ''), command, stack.folder);
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    await child.kill();
    release();
  };
  try {
    await until(async () => {
      if (child.exited !== undefined) throw new Error(childFault(child, 'ended'));
      return await answers(url);
    }, name);
  } catch (error) {
    await stop();
    throw error;
  }
  return { name, pid: child.pid, url, stop };
}
