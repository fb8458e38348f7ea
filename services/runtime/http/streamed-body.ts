/**
 * Bodies in pieces. A piece is made when the client has taken the one before, so memory depends
 * neither on the number of pieces nor on the pace of the client.
 */
import type { ServerResponse } from 'node:http';

export interface Streaming {
  /** sends status and headers; called once the first piece is made */
  readonly writeHead: () => void;
  /** a client that does not read for so long is disconnected */
  readonly idle_ms: number;
}

/**
 * Sends the pieces until they end or the client has left, then ends their iterator. HEAD reads
 * none. Throws the pieces' error: before the first piece nothing is sent, later the response must
 * be broken off.
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<string>,
  { writeHead, idle_ms: idleMs }: Streaming,
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  const { method, socket } = response.req;
  try {
    if (method === 'HEAD') {
      if (response.destroyed) return;
      writeHead();
      return void response.end();
    }
    response.on('timeout', () => breakOff(response));
    while (!response.destroyed) {
      // the client is not to blame for the time that a piece takes to be made
      socket.setTimeout(0);
      const piece = await iterator.next().finally(() => socket.setTimeout(idleMs));
      if (response.destroyed) return;
      if (!response.headersSent) writeHead();
      if (piece.done === true) return void response.end();
      if (piece.value !== '' && !response.write(piece.value)) await drained(response);
    }
  } finally {
    await iterator.return?.();
  }
}

/**
 * Resets the connection, so that the client cannot take half a response for a whole one: in
 * HTTP/1.0 the end of the connection is the end of the body.
 */
export function breakOff(response: ServerResponse): void {
  response.req.socket.resetAndDestroy();
  response.destroy();
}

/** Resolves when the written text has gone out, or the client has left. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
