/** Bodies in pieces: each is made when the client has taken the one before, so that memory does not depend on their number or on how slowly somebody reads. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export interface Streaming {
  /** sets status and headers; called when the first piece is there */
  readonly writeHead: () => void;
  /** after how long a client that does not read is cut off */
  readonly idle_ms: number;
}

/**
 * Sends the pieces until they end or the client has left, and then ends their iterator. HEAD asks for none. Throws what the pieces throw: before the first one
 * nothing is sent yet; afterwards the answer must be broken off.
 */
export async function sendPieces(
  response: ServerResponse,
  pieces: AsyncIterable<string>,
  streaming: Streaming,
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  try {
    if (response.req.method === 'HEAD') sendHeadOnly(response, streaming);
    else await pump(response, iterator, streaming);
  } finally {
    await iterator.return?.();
  }
}

function sendHeadOnly(response: ServerResponse, { writeHead }: Streaming): void {
  if (response.destroyed) return;
  writeHead();
  response.end();
}

async function pump(
  response: ServerResponse,
  iterator: AsyncIterator<string>,
  { writeHead, idle_ms: idleMs }: Streaming,
): Promise<void> {
  response.on('timeout', () => breakOff(response));
  while (!response.destroyed) {
    const piece = await untimed(response.req.socket, idleMs, () => iterator.next());
    if (response.destroyed) return;
    if (!response.headersSent) writeHead();
    if (piece.done === true) return void response.end();
    if (piece.value !== '' && !response.write(piece.value)) await drained(response);
  }
}

/** So that the client cannot take half an answer for a whole one: a reset, since in HTTP/1.0 the end of the connection is the end of the answer. */
export function breakOff(response: ServerResponse): void {
  response.req.socket.resetAndDestroy();
  response.destroy();
}

/** Making a piece may take long, which is not the client's fault: its time begins when it has something to read. */
async function untimed<Result>(
  socket: Socket,
  idleMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  socket.setTimeout(0);
  try {
    return await work();
  } finally {
    socket.setTimeout(idleMs);
  }
}

/** When what is written has gone out, or nobody is there to take it. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
