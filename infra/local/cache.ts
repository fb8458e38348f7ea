import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { claim, type Claim } from './claim.ts';
import { StackFault } from './fault.ts';
import { seconds, type Report } from './report.ts';

/** What every checkout of this machine shares: fetched once, checked once. */
export interface Cache {
  readonly root: string;
}

/** APP_CACHE_DIR, else `clt-stack` in the user's cache folder. */
export function cacheOf(env: NodeJS.ProcessEnv): Cache {
  const own = env['APP_CACHE_DIR'];
  if (own !== undefined && own !== '') return { root: resolve(own) };
  const shared = env['XDG_CACHE_HOME'];
  return {
    root: join(
      shared !== undefined && shared !== '' ? shared : join(homedir(), '.cache'),
      'clt-stack',
    ),
  };
}

/** What `sha256sum` prints for the files of each folder. Those of another version are taken from files that Maven fetched under its own checksums. */
const pinned: ReadonlyMap<string, string> = new Map(
  readFileSync(new URL('checksums.sha256', import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => [line.slice(66), line.slice(0, 64)]),
);

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** The cache's folder for `folder`: another list of checksums is another folder. */
export function pinnedName(folder: string, suffix = ''): string {
  const lines = [...pinned]
    .filter(([name]) => name.startsWith(`${folder}/`))
    .map(([name, sum]) => `${sum}  ${name}\n`);
  const digest = createHash('sha256').update(lines.join('')).digest('hex').slice(0, 8);
  return `${folder}${suffix}-${digest}`;
}

/** Checks that a folder holds exactly the files that checksums.sha256 lists for `folder`. Throws a StackFault that names the first difference. */
export async function assertPinned(path: string, folder: string): Promise<void> {
  const wanted = [...pinned.keys()]
    .filter((name) => name.startsWith(`${folder}/`))
    .map((name) => name.slice(folder.length + 1));
  const found = readdirSync(path).filter((name) => statSync(join(path, name)).isFile());
  const missing = wanted.filter((name) => !found.includes(name));
  const unknown = found.filter((name) => !wanted.includes(name));
  if (missing.length > 0 || unknown.length > 0) {
    throw new StackFault(
      `what was fetched for ${folder} is not what is pinned: missing [${missing.join(', ')}], not listed [${unknown.join(', ')}]`,
    );
  }
  for (const name of wanted) {
    const actual = await sha256(join(path, name));
    const expected = pinned.get(`${folder}/${name}`);
    if (actual !== expected) {
      throw new StackFault(
        `the checksum of ${folder}/${name} is ${actual}, not ${expected ?? '?'}: the download is damaged or was replaced; try again`,
      );
    }
  }
}

/** One fetch at a time on this machine: the package clients' own folders do not take two. */
async function fetchClaim(
  cache: Cache,
  report: Report,
  signal: AbortSignal,
): Promise<Extract<Claim, { held: true }>> {
  for (;;) {
    const taken = claim(join(cache.root, 'fetching.json'));
    if (taken.held) return taken;
    report.now(`waiting for process ${taken.holder.pid}, which is fetching`);
    await pause(250, undefined, { signal });
  }
}

/** Removes what killed fetches left behind; only the holder of the claim may. */
function removeHalves(cache: Cache): void {
  for (const name of readdirSync(cache.root)) {
    if (name.startsWith('half-')) rmSync(join(cache.root, name), { recursive: true, force: true });
  }
}

/** The path of `folder` in the cache; when it is not there yet, `fill` fills an empty folder, which then takes its place in one step. `verb`: what is reported. */
export async function fetchOnce(
  cache: Cache,
  folder: string,
  what: string,
  report: Report,
  signal: AbortSignal,
  fill: (target: string) => Promise<void>,
  verb: readonly [doing: string, done: string] = ['fetching', 'fetched'],
): Promise<string> {
  const path = join(cache.root, folder);
  if (existsSync(path)) return path;
  mkdirSync(cache.root, { recursive: true });
  const holding = await fetchClaim(cache, report, signal);
  try {
    if (existsSync(path)) return path;
    removeHalves(cache);
    const begun = performance.now();
    report.now(`${verb[0]} ${what}`);
    const half = mkdtempSync(join(cache.root, 'half-'));
    try {
      await fill(half);
      signal.throwIfAborted();
      renameSync(half, path);
    } finally {
      rmSync(half, { recursive: true, force: true });
    }
    report.line(`  ${verb[1].padEnd(8)} ${what.padEnd(44)} ${seconds(performance.now() - begun)}`);
    return path;
  } finally {
    holding.release();
  }
}
