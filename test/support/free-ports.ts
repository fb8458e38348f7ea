import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { acquirePidFile } from '../../infra/local/process/pid-lock.ts';
import { isFree } from '../../infra/local/stack/ports.ts';

const FIRST = 20_000;
const LAST = 31_999;

/** A free port that no other test run takes until `release`, even while its server is down. */
export async function takePort(): Promise<{ readonly port: number; readonly release: () => void }> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const file = join(tmpdir(), `clt-test-ports-${userInfo().uid}`, `${port}.json`);
    if ((await acquirePidFile(file)) !== undefined) continue;
    const release = (): void => rmSync(file, { force: true });
    if (await isFree(port)) return { port, release };
    release();
  }
}
