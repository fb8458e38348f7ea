/** The folder of fetched programs, which all checkouts of this machine share. */
import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { seconds, type Report } from '../cli/report.ts';
import { StackFault } from '../process/run-program.ts';
import { acquirePidFile } from '../process/pid-lock.ts';

const HALF = 'half-';
const POLL_MS = 250;

/** The path of the cache: APP_CACHE_DIR, else `clt-stack` in the user's cache folder. */
export function cacheFolder({ APP_CACHE_DIR, XDG_CACHE_HOME }: NodeJS.ProcessEnv): string {
  if (APP_CACHE_DIR) return resolve(APP_CACHE_DIR);
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'clt-stack');
}

/** The lines of checksums.sha256, written by `sha256sum`, for the files of one folder. */
function pinnedLines(folder: string): string[] {
  const lines = readFileSync(new URL('checksums.sha256', import.meta.url), 'utf8').split('\n');
  return lines.filter((line) => line.slice(66).startsWith(`${folder}/`));
}

/** The name of a folder in the cache, which changes with its list of checksums. */
export function pinnedName(folder: string, suffix = ''): string {
  const lines = pinnedLines(folder).map((line) => `${line}\n`);
  return `${folder}${suffix}-${hash('sha256', lines.join('')).slice(0, 8)}`;
}

/** Throws a StackFault unless `path` has exactly the files of `folder` in checksums.sha256. */
export function assertPinned(path: string, folder: string): void {
  const found = readdirSync(path).map(
    (name) => `${hash('sha256', readFileSync(join(path, name)))}  ${folder}/${name}`,
  );
  const pinned = pinnedLines(folder);
  const missing = pinned.filter((line) => !found.includes(line));
  const unexpected = found.filter((line) => !pinned.includes(line));
  if (missing.length + unexpected.length === 0) return;
  const lines = [
    `the download of ${folder} is damaged or was replaced; try again. Files by SHA-256:`,
    ...missing.map((line) => `  missing     ${line}`),
    ...unexpected.map((line) => `  unexpected  ${line}`),
  ];
  throw new StackFault(lines.join('\n'));
}

/**
 * The path of `folder` in the cache. `fill` fills a new folder, which gets its name when it is
 * complete. One fetch at a time on this machine, since Maven does not allow two.
 */
export async function fetchOnce(
  cache: string,
  folder: string,
  report: Report,
  signal: AbortSignal,
  fill: (target: string) => Promise<void>,
): Promise<string> {
  const path = join(cache, folder);
  if (existsSync(path)) return path;
  const pid_file = join(cache, 'fetching.json');
  for (;;) {
    const holder = await acquirePidFile(pid_file);
    if (holder === undefined) break;
    report.now(`waiting for process ${holder.pid}, which is fetching`);
    await pause(POLL_MS, undefined, { signal });
  }
  try {
    if (existsSync(path)) return path;
    for (const name of readdirSync(cache))
      if (name.startsWith(HALF)) rmSync(join(cache, name), { recursive: true, force: true });
    const begun = performance.now();
    report.now(`fetching ${folder}`);
    const half = mkdtempSync(join(cache, HALF));
    try {
      await fill(half);
      signal.throwIfAborted();
      renameSync(half, path);
    } finally {
      rmSync(half, { recursive: true, force: true });
    }
    report.line(`  fetched  ${folder.padEnd(44)} ${seconds(performance.now() - begun)}`);
    return path;
  } finally {
    rmSync(pid_file);
  }
}
