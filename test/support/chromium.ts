/** The Chromium of this machine, for tests in a browser. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { chromium, type Browser } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';
const INSTALL_MS = 240_000;
const START_MS = 30_000;

/** Time for `openChromium` at most. */
export const OPEN_CHROMIUM_MS = INSTALL_MS + START_MS;

/**
 * Opens Chromium. Where there is none, root installs the package of Debian or Ubuntu, as in a
 * container; otherwise the result says why there is none.
 */
export async function openChromium(): Promise<Browser | { readonly missing: string }> {
  if (find() === undefined) await install();
  const executablePath = find();
  if (executablePath === undefined)
    return { missing: 'there is no Chromium on this machine: install the package chromium' };
  try {
    return await chromium.launch({ executablePath, timeout: START_MS });
  } catch (error) {
    const [reason = ''] = String(error).split('\n', 1);
    return { missing: `${executablePath} does not start: ${reason}` };
  }
}

function find(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  const programs = folders.flatMap((folder) => NAMES.map((name) => path.join(folder, name)));
  return [...programs, MAC].find((program) => existsSync(program));
}

async function install(): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const options = {
    timeout: INSTALL_MS,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  };
  const command = 'apt-get update && apt-get install --yes --no-install-recommends chromium';
  // without apt, a network or the package the test says that it is skipped
  await promisify(execFile)('sh', ['-c', command], options).catch(() => undefined);
}
