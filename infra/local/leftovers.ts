import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Folder } from './folder.ts';
import { isAlive, parseIdentity, type ProcessIdentity } from './process-identity.ts';
import { POSTGRES_LIMITS, serverNames } from './servers.ts';

const POLL_MS = 50;
const SERVICES_MS = 15_000;

interface Leftover {
  readonly name: string;
  readonly file: string;
  readonly identity: ProcessIdentity;
}

/** The recorded processes of this folder that still live. A pid that now belongs to another process is not one of them. */
export function leftoversIn(folder: Folder): Leftover[] {
  if (!existsSync(folder.pids)) return [];
  return readdirSync(folder.pids).flatMap((entry) => {
    const file = join(folder.pids, entry);
    const identity = parseIdentity(readFileSync(file, 'utf8'));
    return identity !== undefined && isAlive(identity)
      ? [{ name: entry.replace(/\.json$/, ''), file, identity }]
      : [];
  });
}

/** A server, or what prepares its data (`kafka-format`). */
function isServer({ name }: Leftover): boolean {
  return serverNames.some((server) => name.startsWith(server));
}

async function endAll(leftovers: readonly Leftover[], patience_ms: number): Promise<void> {
  const signalAll = (signal: (leftover: Leftover) => NodeJS.Signals): void => {
    for (const leftover of leftovers)
      if (isAlive(leftover.identity)) process.kill(leftover.identity.pid, signal(leftover));
  };
  const deadline = performance.now() + patience_ms;
  signalAll(({ name }) => (name === 'postgres' ? 'SIGINT' : 'SIGTERM'));
  let forced = false;
  while (leftovers.some(({ identity }) => isAlive(identity))) {
    if (!forced && performance.now() > deadline) {
      signalAll(() => 'SIGKILL');
      forced = true;
    }
    await pause(POLL_MS);
  }
}

/** Ends what a killed run of this folder left behind, services before servers, and gives their names. */
export async function stopLeftovers(folder: Folder, patience_ms?: number): Promise<string[]> {
  const leftovers = leftoversIn(folder);
  await endAll(
    leftovers.filter((leftover) => !isServer(leftover)),
    patience_ms ?? SERVICES_MS,
  );
  await endAll(leftovers.filter(isServer), patience_ms ?? POSTGRES_LIMITS.stop_ms);
  for (const { file } of leftovers) rmSync(file, { force: true });
  return leftovers.map(({ name }) => name);
}
