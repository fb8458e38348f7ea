import type { IncomingMessage } from 'node:http';

/** The client went away in the middle of its body. */
class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
  readonly status = 400;
}

/** The whole body as text; undefined when it has more than `bytesMax`, of which no more is then kept. Rejects when the client goes away. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => collect(request, [], bytesMax, resolve, reject));
}

/**
 * As `readBody`, for a body that most often came with its headers: it is taken at once, without the events of a stream, which cost more than all else that is done for a kept answer. `done` is called with undefined also
 * when the client goes away.
 */
export function takeBody(
  request: IncomingMessage,
  bytesMax: number,
  done: (body: string | undefined) => void,
): void {
  // when all that came with the headers is there
  process.nextTick(() => {
    const bytes: unknown = request.read();
    const chunks = Buffer.isBuffer(bytes) ? [bytes] : [];
    const [first] = chunks;
    if (request.complete && request.readableLength === 0)
      done(first === undefined ? '' : first.length > bytesMax ? undefined : first.toString());
    else collect(request, chunks, bytesMax, done, () => done(undefined));
  });
}

function collect(
  request: IncomingMessage,
  chunks: Buffer[],
  bytesMax: number,
  done: (body: string | undefined) => void,
  failed: (error: BrokenOff) => void,
): void {
  let bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  });
  request.once('end', () => {
    const [first] = chunks;
    if (bytes > bytesMax) done(undefined);
    else
      done(
        chunks.length === 1 && first !== undefined
          ? first.toString()
          : Buffer.concat(chunks).toString(),
      );
  });
  request.once('error', (cause) => failed(new BrokenOff('the body was broken off', { cause })));
}
