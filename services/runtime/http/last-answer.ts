/** Answers after which a connection is closed, of requests that Express never gets. */
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { JSON_TYPE, type HttpResponse } from './response.ts';

export type LastAnswer = HttpResponse & { readonly body: string };

type Headers = Readonly<Record<string, string>>;

/** `always`: headers of every answer of the service. */
export function headersOf(
  { body, content_type: contentType = JSON_TYPE, headers }: LastAnswer,
  always: Headers = {},
): Headers {
  return {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...always,
    'content-type': contentType,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...headers,
  };
}

/** Answers on a connection whose request Node has not made a response for, and closes it. */
export function endWith(socket: Duplex, answer: LastAnswer, always?: Headers): void {
  if (!socket.writable) return void socket.destroy();
  const head = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
    ...Object.entries(headersOf(answer, always)).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${answer.body}`, () => socket.destroy());
}
