/**
 * A limit on what processes and those that they start keep in memory, the kernel's cache of their
 * files included: a control group of Linux, of either version.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { propertyOf } from '../../services/runtime/process/errors.ts';
import { childrenOf } from './process-figures.ts';

const ROOT = '/sys/fs/cgroup';

export class MemoryLimit {
  readonly #folder: string;

  /** Throws where this user may not make control groups. */
  constructor(bytes: number) {
    const first = join(ROOT, 'memory');
    const isFirst = existsSync(first);
    this.#folder = join(isFirst ? first : ROOT, `clt-bench-${process.pid}`);
    try {
      if (!isFirst) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+memory');
      mkdirSync(this.#folder, { recursive: true });
      const limit = isFirst ? 'memory.limit_in_bytes' : 'memory.max';
      writeFileSync(join(this.#folder, limit), String(Math.floor(bytes)));
    } catch (cause) {
      throw new Error(
        'the memory of Postgres cannot be limited: run this bench as root on Linux with control groups',
        { cause },
      );
    }
  }

  /** From now on what this process and its children read and take counts. */
  add(pid: number): void {
    const list = join(this.#folder, 'cgroup.procs');
    // what it starts from here on belongs to the group
    writeFileSync(list, String(pid));
    for (const child of childrenOf(pid)) {
      try {
        writeFileSync(list, String(child));
      } catch (error) {
        // it has ended meanwhile
        if (propertyOf(error, 'code') !== 'ESRCH') throw error;
      }
    }
  }

  /** After its processes have ended. */
  remove(): void {
    rmdirSync(this.#folder);
  }
}

/** Empties the kernel's cache of files, so that what is read next counts for its reader. */
export function dropFileCache(): void {
  writeFileSync('/proc/sys/vm/drop_caches', '1');
}
