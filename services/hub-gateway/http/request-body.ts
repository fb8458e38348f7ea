import type { IncomingMessage } from 'node:http';

/** The client disconnected in the middle of its body. */
class BodyAborted extends Error {
  override readonly name = 'BodyAborted';
  readonly status = 400;
}

/** The whole body as text; undefined beyond `bytesMax`. Rejects when the client disconnects. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => collect(request, [], bytesMax, resolve, reject));
}

/**
 * Reads a body as `readBody` does. A body that came with its headers is taken without stream
 * events, which cost more than the rest of a cached response. `done` is also called with undefined
 * when the client disconnects.
 */
export function takeBody(
  request: IncomingMessage,
  bytesMax: number,
  done: (body: string | undefined) => void,
): void {
  // by then everything that came with the headers is parsed
  process.nextTick(() => {
    const bytes: unknown = request.read();
    const chunks = Buffer.isBuffer(bytes) ? [bytes] : [];
    if (!request.complete || request.readableLength > 0)
      return collect(request, chunks, bytesMax, done, () => done(undefined));
    const [body] = chunks;
    if (body === undefined) return done('');
    return done(body.length > bytesMax ? undefined : body.toString());
  });
}

function collect(
  request: IncomingMessage,
  chunks: Buffer[],
  bytesMax: number,
  done: (body: string | undefined) => void,
  failed: (error: BodyAborted) => void,
): void {
  let bytes = chunks.reduce((sum, { length }) => sum + length, 0);
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else chunks.length = 0;
  });
  request.once('end', () => done(bytes > bytesMax ? undefined : Buffer.concat(chunks).toString()));
  request.once('error', (cause) => failed(new BodyAborted('the body was broken off', { cause })));
}
