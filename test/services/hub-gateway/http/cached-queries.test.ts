import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  bodyReadBefore,
  cachedQueries,
  type Body,
} from '../../../../services/hub-gateway/http/cached-queries.ts';

const CACHED = '{"query":"{ cached }"}';
const LONG = '{"query":"{ long }"}';
const OTHER = '{"query":"{ other }"}';
let server: Server;
let socket: Socket;
let received = '';
/** the bodies that the application was given; undefined: unread */
let applied: (Body | undefined)[] = [];

beforeEach(async () => {
  [received, applied] = ['', []];
  const cache = {
    find: (key: string) => {
      if (key.endsWith(CACHED)) return { status: 200, body: '"cached"' };
      return key.endsWith(LONG) ? { status: 200, body: 'x'.repeat(1_000_000) } : undefined;
    },
  };
  const front = cachedQueries({ cache, rate: undefined, trust_proxy_hops: 0, now: () => 0 });
  let count = 0;
  server = createServer((request, response) => {
    const context = { id: String(count++), response, started: 0, route: '', streams: false };
    front(request, response, context, () => {
      applied.push(bodyReadBefore(request));
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
  if (address === null || typeof address === 'string')
    throw new Error('the server does not listen');
  return address.port;
}

function head(length: number, more = ''): string {
  return `POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${more}\r\n`;
}

function bodies(): string[] {
  return [...received.matchAll(/"(?:cached|made)"/g)].map(([body]) => body);
}

test('a cached response does not reach the application, whether the body comes with its headers, after them or in pieces', async () => {
  socket.write(head(CACHED.length) + CACHED);
  await expect.poll(bodies).toEqual(['"cached"']);
  socket.write(head(CACHED.length));
  await new Promise(setImmediate);
  socket.write(CACHED);
  await expect.poll(bodies).toEqual(['"cached"', '"cached"']);
  socket.write(head(CACHED.length) + CACHED.slice(0, 5));
  await new Promise(setImmediate);
  for (const character of CACHED.slice(5)) socket.write(character);
  await expect.poll(bodies).toEqual(['"cached"', '"cached"', '"cached"']);
  expect(applied).toEqual([]);
  expect(received).toMatch(
    /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*content-length: 8\r\n(?:.*\r\n)*x-request-id: 0\r\n/,
  );
});

test('pipelined requests get their own responses in order', async () => {
  socket.write(
    head(CACHED.length) +
      CACHED +
      head(OTHER.length) +
      OTHER +
      head(0) +
      head(CACHED.length) +
      CACHED,
  );
  await expect.poll(bodies).toEqual(['"cached"', '"made"', '"made"', '"cached"']);
  expect(applied).toEqual([OTHER, '']);
});

test('a long cached response is left to the application, which sends it in pieces', async () => {
  socket.write(head(LONG.length) + LONG);
  await expect.poll(bodies).toEqual(['"made"']);
  expect(applied).toEqual([LONG]);
});

test('a request with a token or another address goes to the application with its body unread', async () => {
  socket.write(head(CACHED.length, 'authorization: Bearer x\r\n') + CACHED);
  await expect.poll(bodies).toEqual(['"made"']);
  socket.write(head(CACHED.length).replace('/graphql', '/graphql?a') + CACHED);
  await expect.poll(bodies).toEqual(['"made"', '"made"']);
  expect(applied).toEqual([undefined, undefined]);
});

test('a client that disconnects in the middle of its body does not reach the application', async () => {
  socket.write(head(CACHED.length) + CACHED.slice(0, 5));
  await new Promise(setImmediate);
  const gone = once(server, 'connection');
  socket.destroy();
  const next = connect(portOf(server), '127.0.0.1');
  await gone;
  next.on('data', (part: Buffer) => (received += part.toString()));
  next.write(head(CACHED.length) + CACHED);
  await expect.poll(bodies).toEqual(['"cached"']);
  next.destroy();
  expect(applied).toEqual([]);
});
