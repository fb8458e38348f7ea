import type { IncomingMessage } from 'node:http';

/** The client went away in the middle of its body. */
class BrokenOff extends Error {
  override readonly name = 'BrokenOff';
  readonly status = 400;
}

/** The whole body as text; undefined when it has more than `bytesMax`, of which no more is then kept. Rejects when the client goes away. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
      else chunks.length = 0;
    });
    request.once('end', () => {
      const [first] = chunks;
      if (bytes > bytesMax) resolve(undefined);
      else resolve(chunks.length === 1 && first !== undefined ? first.toString() : Buffer.concat(chunks).toString());
    });
    request.once('error', (cause) => reject(new BrokenOff('the body was broken off', { cause })));
  });
}
