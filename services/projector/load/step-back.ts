/**
 * For work that nobody waits for: it takes what time others leave. Linux shares processors among sessions first, where these are not in containers, and among the
 * threads of a session by their nice values; so both are lowered. Where that is not possible (another machine, a container, another system, no permission)
 * everything stays as it is.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as after } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { propertyOf } from '../../runtime/process/errors.ts';

const LOWEST = constants.priority.PRIORITY_LOW;
/** The kernel lets who is not root change one session's share in a tenth of a second. */
const AGAIN_MS = 100;
const TRIES = 10;

/** Node's own threads would collect garbage and compile on a second processor. */
const ONE_PROCESSOR = '--single-threaded';

/**
 * Has this process give way for as long as it lives, with all its threads, and take one processor. For that its program is begun anew in its place, once: to be
 * called before anything is loaded or done.
 */
export async function stepBack(): Promise<void> {
  await lower(process.pid);
  if (process.execArgv.includes(ONE_PROCESSOR)) return;
  attempt(() =>
    process.execve?.(process.execPath, [
      process.execPath,
      ONE_PROCESSOR,
      ...process.execArgv,
      ...process.argv.slice(1),
    ]),
  );
}

/** One of Postgres' processes, as it tells of itself. */
export interface Backend {
  readonly pid: number;
  /** of its client, such as `127.0.0.1(40152)`; null where that is no address */
  readonly place: string | null;
}

/** Has the server's process behind this session give way for as long as the session lasts, if it runs on this machine. Throws errors of pg. */
export async function stepBackAtServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<Backend>(
    "SELECT pg_backend_pid() AS pid, host(inet_client_addr()) || '(' || inet_client_port() || ')' AS place",
  );
  for (const backend of rows) await haveGiveWay(backend);
}

/** Has it give way if the process of that number is, here, the one that serves that client: Postgres has the client's place in its title. */
export async function haveGiveWay({ pid, place }: Backend): Promise<void> {
  const title = textOf(`/proc/${pid}/cmdline`)?.replaceAll('\0', ' ') ?? '';
  if (place !== null && title.startsWith('postgres: ') && title.split(' ').includes(place))
    await lower(pid);
}

async function lower(pid: number): Promise<void> {
  // Linux has a nice value a thread: those that are begun later take that of the thread that begins them
  for (const thread of threadsOf(pid)) attempt(() => setPriority(thread, LOWEST));
  // a session that others are in, as a terminal's, is not this process' to change
  if (sessionOf(pid) !== pid) return;
  for (let tries = 0; tries < TRIES; tries++) {
    const failed = attempt(() => writeFileSync(`/proc/${pid}/autogroup`, String(LOWEST)));
    if (propertyOf(failed, 'code') !== 'EAGAIN') return;
    await after(AGAIN_MS);
  }
}

function threadsOf(pid: number): readonly number[] {
  const threads: string[] = [];
  attempt(() => threads.push(...readdirSync(`/proc/${pid}/task`)));
  return threads.length === 0 ? [pid] : threads.map(Number);
}

function sessionOf(pid: number): number | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  // the name in brackets may hold spaces; behind it come state, parent, group, session
  return stat === undefined
    ? undefined
    : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]);
}

function textOf(path: string): string | undefined {
  let text: string | undefined;
  attempt(() => (text = readFileSync(path, 'utf8')));
  return text;
}

/** The error, when it failed: what cannot be changed stays as it is. */
function attempt(change: () => unknown): unknown {
  try {
    change();
    return undefined;
  } catch (error) {
    return error;
  }
}
