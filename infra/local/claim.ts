import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf, StackFault } from './fault.ts';
import { identify, isAlive, parseIdentity, type ProcessIdentity } from './process-identity.ts';

/** A file that one living process holds; the claim of a process that has gone is void. */
export type Claim =
  | { readonly held: true; release: () => void }
  | { readonly held: false; readonly holder: ProcessIdentity };

function holderOf(file: string): ProcessIdentity | 'void' | 'free' {
  try {
    const identity = parseIdentity(readFileSync(file, 'utf8'));
    return identity !== undefined && isAlive(identity) ? identity : 'void';
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'free';
    throw error;
  }
}

/** Sets a void claim aside; when another process renewed it in between, puts that one back. */
function removeVoid(file: string): void {
  const aside = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    renameSync(file, aside);
    if (holderOf(aside) !== 'void') linkSync(aside, file);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** Claims `file` for this process: held, or the living process that holds it (which may be this one). */
export function claim(file: string): Claim {
  const self = identify(process.pid);
  if (self === undefined)
    throw new StackFault('cannot read when this very process began: are /proc or ps missing?');
  mkdirSync(dirname(file), { recursive: true });
  const mine = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(mine, JSON.stringify(self));
  try {
    for (;;) {
      try {
        linkSync(mine, file);
        return { held: true, release: () => rmSync(file, { force: true }) };
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error;
      }
      const holder = holderOf(file);
      if (typeof holder === 'object') return { held: false, holder };
      if (holder === 'void') removeVoid(file);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}
