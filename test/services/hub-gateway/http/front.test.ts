import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keptAnswers, knownBody } from '../../../../services/hub-gateway/http/front.ts';

const KEPT = '{"query":"{ kept }"}';
const OTHER = '{"query":"{ other }"}';
let server: Server;
let socket: Socket;
let received = '';
/** what came to the application, with the body that it was given */
let applied: (string | undefined)[] = [];

beforeEach(async () => {
  [received, applied] = ['', []];
  const cache = {
    find: (key: string) => (key.endsWith(KEPT) ? { status: 200, body: '"kept"' } : undefined),
  };
  const front = keptAnswers({ cache, rate: undefined, trust_proxy_hops: 0, now: () => 0 });
  let count = 0;
  server = createServer((request, response) => {
    const context = {
      id: String(count++),
      socket: request.socket,
      started: 0,
      route: '',
      streams: false,
    };
    front(request, response, context, () => {
      applied.push(knownBody(request));
      response.end('"made"');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  socket = connect(portOf(server), '127.0.0.1');
  socket.setNoDelay(true).on('data', (part: Buffer) => (received += part.toString()));
  await once(socket, 'connect');
});
afterEach(async () => {
  socket.destroy();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function portOf(listening: Server): number {
  const address = listening.address();
  if (address === null || typeof address === 'string') throw new Error('it does not listen');
  return address.port;
}

function head(length: number, more = ''): string {
  return `POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${more}\r\n`;
}

function bodies(): string[] {
  return [...received.matchAll(/"(?:kept|made)"/g)].map(([body]) => body);
}

test('a kept answer is given before anything else, whether the body comes with its headers, after them, or in pieces', async () => {
  socket.write(head(KEPT.length) + KEPT);
  await expect.poll(bodies).toEqual(['"kept"']);
  socket.write(head(KEPT.length));
  await new Promise(setImmediate);
  socket.write(KEPT);
  await expect.poll(bodies).toEqual(['"kept"', '"kept"']);
  socket.write(head(KEPT.length) + KEPT.slice(0, 5));
  await new Promise(setImmediate);
  for (const character of KEPT.slice(5)) socket.write(character);
  await expect.poll(bodies).toEqual(['"kept"', '"kept"', '"kept"']);
  expect(applied).toEqual([]);
  expect(received).toMatch(
    /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*content-length: 6\r\n(?:.*\r\n)*x-request-id: 0\r\n/,
  );
});

test('requests behind one another on one connection are each answered with their own', async () => {
  socket.write(
    head(KEPT.length) + KEPT + head(OTHER.length) + OTHER + head(0) + head(KEPT.length) + KEPT,
  );
  await expect.poll(bodies).toEqual(['"kept"', '"made"', '"made"', '"kept"']);
  expect(applied).toEqual([OTHER, '']);
});

test('what may be anything but a plain query goes on to the application unread', async () => {
  socket.write(head(KEPT.length, 'authorization: Bearer x\r\n') + KEPT);
  await expect.poll(bodies).toEqual(['"made"']);
  socket.write(head(KEPT.length).replace('/graphql', '/graphql?a') + KEPT);
  await expect.poll(bodies).toEqual(['"made"', '"made"']);
  expect(applied).toEqual([undefined, undefined]);
});

test('a client that goes away in the middle of its body leaves nothing behind', async () => {
  socket.write(head(KEPT.length) + KEPT.slice(0, 5));
  await new Promise(setImmediate);
  const gone = once(server, 'connection');
  socket.destroy();
  const next = connect(portOf(server), '127.0.0.1');
  await gone;
  next.on('data', (part: Buffer) => (received += part.toString()));
  next.write(head(KEPT.length) + KEPT);
  await expect.poll(bodies).toEqual(['"kept"']);
  next.destroy();
  expect(applied).toEqual([]);
});
