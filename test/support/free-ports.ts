import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { acquirePidFile } from '../../infra/local/process/pid-lock.ts';
import { isFree } from '../../infra/local/stack/ports.ts';

const FIRST = 20_000;
const LAST = 31_999;

function fileOf(port: number): string {
  return join(tmpdir(), `clt-test-ports-${userInfo().uid}`, `${port}.json`);
}

/** Takes these ports as `takePort` does; undefined: one of them is in use. */
export async function takePorts(ports: readonly number[]): Promise<(() => void) | undefined> {
  const taken: string[] = [];
  const release = (): void => {
    for (const file of taken) rmSync(file, { force: true });
  };
  for (const port of ports) {
    const isTaken = (await acquirePidFile(fileOf(port))) === undefined;
    if (isTaken) taken.push(fileOf(port));
    if (isTaken && (await isFree(port))) continue;
    release();
    return undefined;
  }
  return release;
}

/** A free port that no other test run takes until `release`, even while its server is down. */
export async function takePort(): Promise<{ readonly port: number; readonly release: () => void }> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const file = fileOf(port);
    if ((await acquirePidFile(file)) !== undefined) continue;
    const release = (): void => rmSync(file, { force: true });
    if (await isFree(port)) return { port, release };
    release();
  }
}
