/** Standard output for much text. The end of its reader ends the work, and is no failure. */
import { spawn } from 'node:child_process';
import { fstatSync, write } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { promisify } from 'node:util';
import { propertyOf } from '../../runtime/process/errors.ts';

const STANDARD_OUTPUT = 1;
/** Before another try to write to a full pipe. */
const FULL_MS = 5;
const UTF8_BYTES_MAX = 3;

const writeSome = promisify(write);
/** Pieces of text are encoded here: a buffer each would be hundreds of megabytes of garbage. */
const encoded = Buffer.allocUnsafeSlow(1024 * 1024);

/** Writes all of the text or bytes, one call at a time. False when nobody reads any more. */
export async function writeOut(piece: string | Uint8Array, fd = STANDARD_OUTPUT): Promise<boolean> {
  const bytes = typeof piece === 'string' ? encode(piece) : piece;
  for (let at = 0; at < bytes.length;) {
    try {
      at += (await writeSome(fd, bytes, at, bytes.length - at, null)).bytesWritten;
    } catch (error) {
      const code = propertyOf(error, 'code');
      if (code === 'EPIPE') return false;
      if (code !== 'EAGAIN') throw error;
      await after(FULL_MS);
    }
  }
  return true;
}

function encode(text: string): Uint8Array {
  const fits = text.length * UTF8_BYTES_MAX <= encoded.length;
  return fits ? encoded.subarray(0, encoded.write(text)) : Buffer.from(text);
}

/**
 * Calls `onGone` once nobody reads the pipe any more, so that `| head` ends also when there is
 * nothing more to write. Node cannot tell, but GNU tail, given the same pipe, ends with its reader
 * and with this process. Without GNU tail the next write notices.
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
