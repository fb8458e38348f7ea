/**
 * A version of the code in folders and files, and of the engine whose format `node:v8` writes:
 * another one after any change, so that none can be forgotten.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** 16 hex digits. Takes a few milliseconds. */
export function sourcesVersion(places: readonly URL[]): string {
  const hash = createHash('sha256').update(process.versions.v8);
  for (const path of places.map((place) => fileURLToPath(place))) {
    const files = statSync(path).isDirectory() ? sourcesIn(path) : [''];
    for (const name of files.toSorted()) {
      const content = createHash('sha256')
        .update(readFileSync(`${path}${name}`))
        .digest();
      hash.update(name).update(content);
    }
  }
  return hash.digest('hex').slice(0, 16);
}

function sourcesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((name) =>
    /\.(?:ts|avsc)$/.test(name) ? [`/${name}`] : [],
  );
}
