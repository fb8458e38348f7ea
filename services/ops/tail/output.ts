/** Standard output as a place to write much to: never more in hand than one piece, and the end of who reads it is the end of the work, not a failure. */
import { spawn } from 'node:child_process';
import { fstatSync, write } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { propertyOf } from '../../runtime/process/errors.ts';

const STANDARD_OUTPUT = 1;
const FULL_MS = 5;

const writeTo: (fd: number, bytes: Buffer, offset: number) => Promise<number> = (
  fd,
  bytes,
  offset,
) =>
  new Promise((resolve, reject) => {
    write(fd, bytes, offset, bytes.length - offset, null, (error, written) =>
      error === null ? resolve(written) : reject(error),
    );
  });

/** Of one character of text, at the most. */
const UTF8_BYTES = 3;
/** Where pieces become bytes, one after the other: in bytes of its own each would be garbage, hundreds of megabytes in seconds. */
const place = Buffer.allocUnsafeSlow(1024 * 1024);
let isTaken = false;

/** Writes all of it, waiting for as long as the reader takes. False when nobody reads any more. */
export async function writeOut(text: string, fd = STANDARD_OUTPUT): Promise<boolean> {
  if (isTaken || text.length * UTF8_BYTES > place.length) return writeBytes(Buffer.from(text), fd);
  isTaken = true;
  try {
    return await writeBytes(place.subarray(0, place.write(text)), fd);
  } finally {
    isTaken = false;
  }
}

async function writeBytes(bytes: Buffer, fd: number): Promise<boolean> {
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
  const watcher = spawn('tail', ['-f', `--pid=${process.pid}`, '/dev/null'], {
    stdio: ['ignore', fd, 'ignore'],
  });
  signal.addEventListener('abort', () => watcher.kill('SIGKILL'), { once: true });
  watcher.once('error', () => undefined).once('exit', onGone);
  watcher.unref();
}
