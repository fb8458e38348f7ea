import { existsSync, statfsSync } from 'node:fs';
import type { Folder } from './folder.ts';

const CHECK_MS = 5_000;
const MEBIBYTE = 2 ** 20;
const LOW_BYTES = 1_024 * MEBIBYTE;
/** Kafka and Postgres need more than a page to write at once. */
const FULL_BYTES = 32 * MEBIBYTE;

type Room = 'enough' | 'low' | 'full';

/** Says in words how much room is free at `path`, in bytes. */
export function roomText(room: Room, path: string, free: number): string {
  const megabytes = `${Math.floor(free / MEBIBYTE)} MB free at ${path}`;
  switch (room) {
    case 'enough':
      return `room again: ${megabytes}`;
    case 'low':
      return `low on disk: ${megabytes}; when it is full the servers stop: make room`;
    case 'full':
      return `disk full: ${megabytes}: make room; everything goes on by itself`;
  }
}

/**
 * Watches the disks of a stack, which a full one stops: servers end, and are started again until
 * there is room. Calls `say` with each change, and whether there is enough room now.
 */
export function watchRoom(
  { root, shelter }: Pick<Folder, 'root' | 'shelter'>,
  say: (text: string, isEnough: boolean) => void,
  freeBytes = freeAt,
): { check(): void; close(): void } {
  let before: Room = 'enough';
  const check = (): void => {
    const [least] = [root, shelter]
      .filter((path) => existsSync(path))
      .map((path) => ({ path, free: freeBytes(path) }))
      .toSorted((a, b) => a.free - b.free);
    if (least === undefined) return;
    const { path, free } = least;
    const room = free < FULL_BYTES ? 'full' : free < LOW_BYTES ? 'low' : 'enough';
    if (room === before) return;
    before = room;
    say(roomText(room, path, free), room !== 'full');
  };
  check();
  const checking = setInterval(check, CHECK_MS);
  return { check, close: () => clearInterval(checking) };
}

function freeAt(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}
