/** Standard output as a place to write much to: never more in hand than one piece, and the end of who reads it is the end of the work, not a failure. */
import { spawn } from 'node:child_process';
import { fstatSync, write } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { propertyOf } from '../../runtime/errors.ts';

const STANDARD_OUTPUT = 1;
const FULL_MS = 5;

const writeTo: (fd: number, bytes: Buffer, offset: number) => Promise<number> = (fd, bytes, offset) =>
  new Promise((resolve, reject) => {
    write(fd, bytes, offset, bytes.length - offset, null, (error, written) => (error === null ? resolve(written) : reject(error)));
  });

/** Writes all of it, waiting for as long as the reader takes. False when nobody reads any more. */
export async function writeOut(text: string, fd = STANDARD_OUTPUT): Promise<boolean> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += await writeTo(fd, bytes, at);
    } catch (error) {
      const code = propertyOf(error, 'code');
      if (code === 'EPIPE') return false;
      if (code !== 'EAGAIN') throw error;
      await after(FULL_MS);
    }
  }
  return true;
}

/**
 * Calls `onGone` once nobody reads a pipe any more, so that `| head` ends also when there is nothing more to write. Node has no word for that; GNU tail, given the
 * same pipe, ends with its reader, and with this process. Where there is none, the next write tells.
 */
export function watchReader(signal: AbortSignal, onGone: () => void, fd = STANDARD_OUTPUT): void {
  if (process.platform !== 'linux' || signal.aborted || !fstatSync(fd).isFIFO()) return;
  const watcher = spawn('tail', ['-f', `--pid=${process.pid}`, '/dev/null'], { stdio: ['ignore', fd, 'ignore'] });
  signal.addEventListener('abort', () => watcher.kill('SIGKILL'), { once: true });
  watcher.once('error', () => undefined).once('exit', onGone);
  watcher.unref();
}
