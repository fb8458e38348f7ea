import { randomInt } from 'node:crypto';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { claim } from '../../infra/local/claim.ts';
import { isFree } from '../../infra/local/port-holder.ts';

const FIRST = 20_000;
const LAST = 31_999;

/** A port that nobody listens on and that no other test run takes until `release`, also while its server is down. */
export async function takePort(): Promise<{ readonly port: number; readonly release: () => void }> {
  for (;;) {
    const port = randomInt(FIRST, LAST + 1);
    const taken = claim(join(tmpdir(), `clt-test-ports-${userInfo().uid}`, `${port}.json`));
    if (!taken.held) continue;
    if (await isFree(port)) return { port, release: taken.release };
    taken.release();
  }
}
