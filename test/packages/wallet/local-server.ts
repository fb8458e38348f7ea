/** An HTTP server on a free port that answers as a function says. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

export interface Question {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly body: string;
}

/** An answer of undefined closes the connection. */
export async function openLocalServer(
  answer: (question: Question) => Answer | undefined,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { url: path = '', headers } = request;
      const answered = answer({ path, authorization: headers.authorization, body });
      if (answered === undefined) return response.destroy();
      response.statusCode = answered.status ?? 200;
      response.setHeader('content-type', answered.type ?? 'application/json');
      return response.end(answered.body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
