/** A file system of its own for a folder, which a test fills. */
import { spawnSync } from 'node:child_process';
import { rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** False where this user may not mount one. The caller unmounts it. */
export function mountSmallDisk(folder: string, bytes: number): boolean {
  const options = `size=${Math.ceil(bytes)},mode=755`;
  return spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status === 0;
}

/** Writes until nothing more fits. Returns the function that makes room again. */
export function fillDisk(folder: string): () => void {
  const ballast = join(folder, 'ballast');
  const { bavail, bsize } = statfsSync(folder);
  for (const bytes of [bavail * bsize, 65_536, 4_096])
    for (let full = false; !full;)
      try {
        writeFileSync(ballast, Buffer.alloc(bytes), { flag: 'a' });
      } catch {
        full = true;
      }
  return () => rmSync(ballast);
}
