/** The reference configuration in a real nginx, in front of an explorer and a hub. */
import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from 'vitest';
import { fillExplorer, seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { HubWorld } from '../../../services/hub-gateway/hub-world.ts';
import { RawSocket } from '../../../services/hub-gateway/raw-socket.ts';
import { freshDatabase } from '../../../support/database.ts';
import { openNginx, type Nginx } from '../../../support/nginx.ts';

const BURST = 100;
const FINAL = 100;

const blocks = seededBlocks({ seed: 12, blocks: 150, transactions_max: 9, first_height: 1 });

let nginx: Nginx | undefined;
let missing = '';
let explorer: ExplorerServer;
let writer: Client;
let world: HubWorld;

beforeAll(async () => {
  world = await HubWorld.open(inject('stack'));
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  await writer.query(`UPDATE explorer.head SET finalized_height = ${FINAL}`);
  explorer = await openExplorer({
    postgres_reader_url: urls.reader_url,
    rate_per_second: 0.001,
    rate_burst: BURST,
    trust_proxy_hops: 1,
  });
  const opened = await openNginx({ explorer: explorer.url, hub: world.url });
  if ('missing' in opened) {
    ({ missing } = opened);
    process.stderr.write(`tests of nginx are skipped: ${missing}\n`);
  } else nginx = opened;
});
afterAll(async () => {
  await nginx?.stop();
  await writer.end();
  await explorer.close();
  await world.close();
});
beforeEach(({ skip }) => skip(nginx === undefined, missing));

interface Received {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** The bytes as sent, which `fetch` would decode. */
async function ask(path: string, options: RequestOptions = {}): Promise<Received> {
  const asked = request(`${nginx?.explorer_url}${path}`, options).end();
  const [message] = await once(asked, 'response');
  return { status: message.statusCode, headers: message.headers, bytes: await buffer(message) };
}

test('a final answer is asked for once', async () => {
  const before = explorer.statements;
  const path = `/api/v1/blocks/${FINAL}`;
  const first = await ask(path);
  const all = [first, ...(await Promise.all(Array.from({ length: 50 }, () => ask(path))))];
  const direct = await explorer.get(path);
  for (const { status, headers, bytes } of [...all, await ask(path)]) {
    expect([status, bytes.toString(), headers.etag, headers['cache-control']]).toEqual([
      200,
      direct.text,
      direct.headers.get('etag'),
      'public, max-age=31536000, immutable',
    ]);
  }
  expect((await ask(path)).headers['x-cache']).toBe('HIT');
  expect(explorer.statements - before).toBe(2);
  const named = await ask(path, {
    headers: { 'if-none-match': direct.headers.get('etag') ?? '' },
  });
  expect([named.status, named.bytes.length]).toEqual([304, 0]);
});

/** An nginx before gateways that never answer their first request. */
async function beforeSlow(
  connections?: number,
): Promise<Nginx & { readonly hasFirst: () => boolean }> {
  let isFirst = true;
  const slow = createServer((_request, response) => {
    if (!isFirst) response.end('{}');
    isFirst = false;
  }).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  const address = slow.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  const url = `http://127.0.0.1:${address.port}`;
  const limit = connections === undefined ? {} : { connections };
  const opened = await openNginx({ explorer: url, hub: url, ...limit });
  if ('missing' in opened) throw new Error(opened.missing);
  onTestFinished(async () => {
    await opened.stop();
    slow.closeAllConnections();
    slow.close();
  });
  return { ...opened, hasFirst: () => !isFirst };
}

test('a client does not wait for the answer to another that asks for the same', async () => {
  const opened = await beforeSlow();
  const url = `${opened.explorer_url}/api/v1/blocks`;
  const leaving = new AbortController();
  const first = fetch(url, { signal: leaving.signal });
  await expect.poll(opened.hasFirst).toBe(true);
  expect((await fetch(url)).status).toBe(200);
  leaving.abort();
  await expect(first).rejects.toThrow('aborted');
});

test('a client has so many requests at once, over IPv6 all of its network together', async () => {
  const opened = await beforeSlow(1);
  const get = (
    client: string,
    base = opened.explorer_url,
    signal?: AbortSignal,
  ): Promise<Response> =>
    fetch(`${base}${base === opened.hub_url ? '/graphql' : '/api/v1/blocks'}`, {
      headers: { 'x-test-client': client },
      ...(signal && { signal }),
    });
  const leaving = new AbortController();
  const first = get('2001:db8:1:2::1', opened.explorer_url, leaving.signal);
  await expect.poll(opened.hasFirst).toBe(true);
  const refused = await get('2001:db8:1:2:3:4:5:6');
  expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'rate_limited' }]);
  const refusedByHub = await get('2001:db8:1:2:3::', opened.hub_url);
  expect([refusedByHub.status, await refusedByHub.json()]).toMatchObject([
    429,
    { errors: [{ extensions: { code: 'RATE_LIMITED' } }] },
  ]);
  for (const other of ['2001:db8:1:3::1', '2001:db8::1', '192.0.2.1'])
    expect([other, (await get(other)).status]).toEqual([other, 200]);
  leaving.abort();
  await expect(first).rejects.toThrow('aborted');
});

test('an answer of the head is replaced after seconds', async () => {
  const path = '/api/v1/blocks?limit=1';
  const { bytes } = await ask(path);
  await writer.query('UPDATE explorer.head SET height = height - 1');
  const answer = async (): Promise<string> => (await ask(path)).bytes.toString();
  await expect.poll(answer).not.toBe(bytes.toString());
  await writer.query('UPDATE explorer.head SET height = height + 1');
  await expect.poll(answer).toBe(bytes.toString());
});

test('each coding is cached by itself, in the way that the client prefers', async () => {
  const path = '/api/v1/transactions?limit=100';
  const { text } = await explorer.get(path);
  for (const [accepted, coding] of [
    ['', undefined],
    ['deflate', undefined],
    ['gzip', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['zstd, gzip', 'zstd'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['br; q=0.000, zstd;q=0,gzip;q=0', undefined],
  ] as const) {
    const { headers, bytes } = await ask(path, { headers: { 'accept-encoding': accepted } });
    expect([accepted, headers['content-encoding'], headers.vary]).toEqual([
      accepted,
      coding,
      'accept-encoding',
    ]);
    const decompress = { br: brotliDecompressSync, gzip: gunzipSync, zstd: zstdDecompressSync };
    const body = coding === undefined ? bytes : decompress[coding](bytes);
    expect([accepted, body.toString()]).toEqual([accepted, text]);
  }
});

test('errors are not cached', async () => {
  const before = explorer.statements;
  for (const _ of [1, 2]) {
    const { status, headers } = await ask('/api/v1/blocks/999999');
    expect([status, headers['cache-control']]).toEqual([404, 'no-store']);
  }
  expect(explorer.statements - before).toBe(2);
});

test('an export goes through whole, compressed by nginx', async () => {
  const path = '/api/v1/export/transactions.csv?to_height=100';
  const direct = await explorer.get(path);
  const { headers, bytes } = await ask(path, { headers: { 'accept-encoding': 'gzip' } });
  expect(headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(bytes).toString()).toBe(direct.text);
});

test('only the interface is public, under its own host name', async () => {
  for (const path of [
    '/elsewhere',
    '/health',
    '/ready',
    '/status',
    '/metrics',
    '/graphql',
    '/docsx',
  ]) {
    const { status, bytes } = await ask(path);
    expect([path, status, JSON.parse(bytes.toString()).code]).toEqual([path, 404, 'not_found']);
  }
  for (const path of ['/', '/docs', '/docs/swagger-ui.css', '/openapi.json'])
    expect([path, (await ask(path)).status]).toEqual([path, 200]);
  const elsewhere = await ask('/api/v1/blocks', { headers: { host: 'other.example.org' } });
  expect(elsewhere.status).toBe(421);
  const twice = ['host', '127.0.0.1', 'host', 'other.example.org'];
  expect((await ask('/api/v1/blocks', { headers: twice })).status).toBe(400);
});

/** An answer that is not cached, for a client that claims another address. */
function askFrom(localAddress: string, at: number): Promise<Received> {
  return ask(`/api/v1/stats?n=${localAddress}-${at}`, {
    localAddress,
    headers: { 'x-forwarded-for': `10.0.0.${at}` },
  });
}

test('the limits are for the clients of nginx, whatever address they claim', async () => {
  const statuses = new Set<number | undefined>();
  for (let at = 0; at <= BURST; at++) statuses.add((await askFrom('127.0.0.2', at)).status);
  expect([...statuses]).toEqual([200, 429]);
  expect((await askFrom('127.0.0.3', 0)).status).toBe(200);
});

test('queries and sockets of the hub go through', async () => {
  const response = await fetch(`${nginx?.hub_url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"{ listRideRequests { txHash } }"}',
  });
  expect([response.status, await response.json()]).toEqual([
    200,
    { data: { listRideRequests: [] } },
  ]);
  const socket = await RawSocket.begun(`${nginx?.hub_url.replace('http', 'ws')}/graphql/ws`);
  socket.subscribe('1', 'subscription { rideRequestsUpdated { txHash } }');
  const { payload } = await socket.next(({ id, type }) => id === '1' && type === 'next');
  expect(payload).toEqual({ data: { rideRequestsUpdated: [] } });
  await socket.close();
  expect((await fetch(`${nginx?.hub_url}/metrics`)).status).toBe(404);
});

test('a query of the hub by GET is cached for each coding and type, and one with a token is not', async () => {
  const query = '{ __schema { types { name description fields { name } } } }';
  const search = new URLSearchParams({ query }).toString();
  const path = `/graphql?${search}`;
  const get = (headers: IncomingHttpHeaders): Promise<Received> => {
    const host = new URL(nginx?.hub_url ?? '').host;
    return ask(path, {
      headers: { host, accept: 'application/json', ...headers },
    });
  };
  const direct = await world.ask(query);
  for (const accept of ['application/json', 'application/graphql-response+json']) {
    const { headers, bytes } = await get({ accept, 'accept-encoding': 'gzip, br' });
    expect(brotliDecompressSync(bytes).toString()).toBe(direct.text);
    expect([headers['content-type'], headers['x-cache']]).toEqual([
      expect.stringContaining(accept),
      'MISS',
    ]);
  }
  const hits = async (): Promise<unknown> => (await get({})).headers['x-cache'];
  await expect.poll(hits).toBe('HIT');
  const { headers } = await get({});
  const named = await get({ 'if-none-match': headers.etag });
  expect([named.status, named.bytes.length]).toEqual([304, 0]);
  const own = await get({ authorization: 'Bearer x' });
  expect([own.headers['x-cache'], own.headers['cache-control']]).toEqual(['BYPASS', 'no-store']);
});
