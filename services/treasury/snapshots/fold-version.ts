/**
 * The version of everything that a snapshot depends on: the sources of the folds, of the events
 * that they fold and of the treasury, and the engine whose format the bytes are in. No change of
 * the code can be forgotten.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDERS = ['../../../projections', '../../../schemas', '../../treasury'];

/** Hex digits. Takes a few milliseconds. */
export function foldVersion(): string {
  const hash = createHash('sha256').update(process.versions.v8);
  for (const folder of FOLDERS) {
    const path = fileURLToPath(new URL(folder, import.meta.url));
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
