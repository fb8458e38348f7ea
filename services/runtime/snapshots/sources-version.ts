/**
 * A version of the code in these folders, and of the engine whose format `node:v8` writes: another
 * one after any change, so that none can be forgotten.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** 16 hex digits. Takes a few milliseconds. */
export function sourcesVersion(folders: readonly URL[]): string {
  const hash = createHash('sha256').update(process.versions.v8);
  for (const folder of folders) {
    const path = fileURLToPath(folder);
    const files = readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.(?:ts|avsc)$/.test(name),
    );
    for (const name of files.toSorted())
      hash.update(name).update(
        createHash('sha256')
          .update(readFileSync(`${path}/${name}`))
          .digest(),
      );
  }
  return hash.digest('hex').slice(0, 16);
}
