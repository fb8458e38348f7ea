import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A password of this folder, made once; only this user may read it. */
export function passwordIn(folder: string, name: string): string {
  const file = join(folder, name);
  if (!existsSync(file)) make(folder, file);
  return readFileSync(file, 'utf8');
}

/**
 * The password before the one of today, as long as the folder has it in `NAME.before`. Servers that
 * can take two passwords take both meanwhile.
 */
export function passwordBefore(folder: string, name: string): string | undefined {
  const file = join(folder, `${name}.before`);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

/** In one step, and the first of two processes wins: both read the same. */
function make(folder: string, file: string): void {
  mkdirSync(folder, { recursive: true });
  const half = join(folder, `.${randomBytes(8).toString('hex')}`);
  writeFileSync(half, randomBytes(24).toString('hex'), { mode: 0o600 });
  try {
    linkSync(half, file);
  } catch (error) {
    if (!existsSync(file)) throw error;
  } finally {
    rmSync(half);
  }
}
