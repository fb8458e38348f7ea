/** Apart from the pid files, since an image of the services lacks the package of the lock. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { lock } from 'proper-lockfile';
import { readPidFile, writePidFile, type ProcessIdentity } from './pid-files.ts';

/** A lock is held for milliseconds; one that a killed process left is stale after this time. */
const LOCK = {
  realpath: false,
  stale: 5_000,
  retries: { retries: 200, maxTimeout: 50, minTimeout: 20 },
};

/** Makes this process the holder of a pid file, or returns the living process that holds it. */
export async function acquirePidFile(file: string): Promise<ProcessIdentity | undefined> {
  mkdirSync(dirname(file), { recursive: true });
  const release = await lock(file, LOCK);
  try {
    const holder = readPidFile(file);
    if (holder === undefined) writePidFile(file, process.pid);
    return holder;
  } finally {
    await release();
  }
}
