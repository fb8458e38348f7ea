/** Tiles of the map as a file of the gateway: what it refuses at its start, and what it sends. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SETTINGS } from '../../../services/explorer-gateway/config.ts';
import { pmtiles } from '../../support/pmtiles.ts';
import { openExplorer, type ExplorerServer } from './explorer-server.ts';

const POSTGRES = 'postgres://clt_reader:clt_reader@127.0.0.1:1/clt';
const ARCHIVE = pmtiles();

let folder: string;
let file: string;
let explorer: ExplorerServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clt-tiles-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<head><title>CLT console</title></head>');
  file = put('city.pmtiles', ARCHIVE);
  explorer = await openExplorer({
    postgres_reader_url: POSTGRES,
    console: pathToFileURL(`${folder}/`),
    console_tiles_url: file,
  });
});
afterAll(async () => {
  await explorer.close();
  rmSync(folder, { recursive: true });
});

function put(name: string, bytes: Uint8Array): string {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
}

const read = (value: string): unknown => SETTINGS.console_tiles_url.read(value);

test('tiles are a template of pictures, an archive at an address, or the file of an archive', () => {
  for (const value of [
    'https://tiles.example/{z}/{x}/{y}.png',
    'https://tiles.example/city.pmtiles',
    file,
  ])
    expect(read(value)).toBe(value);
  for (const value of ['https://tiles.example/', '/data/city']) expect(read(value)).toBeUndefined();
});

test.each([SETTINGS.console_tiles_url, SETTINGS.console_tron_url])(
  'an address that pages are told has no user and no password',
  (setting) => {
    for (const user of ['me:secret@', 'me@', ':secret@'])
      for (const end of ['{z}/{x}/{y}.png', 'city.pmtiles'])
        expect(setting.read(`https://${user}host.example/${end}`)).toBeUndefined();
  },
);

test('an address of another kind than http is no address of tiles', () => {
  for (const value of ['javascript:{z}{x}{y}', 'data:,{z}{x}{y}', 'file:///{z}/{x}/{y}'])
    expect(read(value)).toBeUndefined();
  expect(() => read('javascript:1//.pmtiles')).toThrow('the file cannot be read (ENOENT)');
});

test.each([
  ['absent.pmtiles', undefined, 'the file cannot be read (ENOENT)'],
  ['empty.pmtiles', Buffer.alloc(0), 'the file is no PMTiles archive of version 3'],
  ['page.pmtiles', Buffer.from('<!doctype html>'), 'the file is no PMTiles archive of version 3'],
  ['old.pmtiles', Buffer.from('PMTiles\u0002'), 'the file is no PMTiles archive of version 3'],
  ['pictures.pmtiles', pmtiles([], 2), 'the archive has no vector tiles'],
])('the gateway does not start with %s', (name, bytes, why) => {
  const path = bytes === undefined ? join(folder, name) : put(name, bytes);
  expect(() => read(path)).toThrow(why);
});

function ask(range?: string, method = 'GET'): Promise<Response> {
  return fetch(`${explorer.url}/tiles.pmtiles`, { method, headers: range ? { range } : {} });
}

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

test('the pages ask this gateway for the file, and their policy names no other server', async () => {
  const settings = await fetch(`${explorer.url}/console.json`);
  expect(await settings.json()).toMatchObject({ tiles_url: '/tiles.pmtiles' });
  const { headers } = await fetch(`${explorer.url}/market`);
  expect(headers.get('content-security-policy')).toMatch(/connect-src 'self';/);
});

test('a part has its bytes, its place and a validator that all parts share', async () => {
  const [head, tail] = [await ask('bytes=0-126'), await ask('bytes=200-')];
  expect([head.status, head.headers.get('content-range')]).toEqual([
    206,
    `bytes 0-126/${ARCHIVE.length}`,
  ]);
  expect(head.headers.get('etag')).toMatch(/^"[0-9a-z]+-[0-9a-z]+"$/);
  expect(tail.headers.get('etag')).toBe(head.headers.get('etag'));
  expect(await bytesOf(head)).toEqual(ARCHIVE.subarray(0, 127));
  expect(await bytesOf(tail)).toEqual(ARCHIVE.subarray(200));
  const only = await ask('bytes=0-126', 'HEAD');
  expect([only.status, only.headers.get('content-length')]).toEqual([206, '127']);
});

test('a question for the whole file, or for none of it, is refused in words', async () => {
  const whole = await ask();
  expect([whole.status, await whole.json()]).toEqual([
    400,
    {
      code: 'invalid_request',
      message: 'the file is sent in parts alone: ask with the header Range: bytes=0-16383',
    },
  ]);
  const behind = await ask(`bytes=${ARCHIVE.length}-`);
  expect([behind.status, behind.headers.get('content-range')]).toEqual([
    416,
    `bytes */${ARCHIVE.length}`,
  ]);
});

test('no Range leads out of the file', async () => {
  const figure = fc.oneof(fc.nat(4_000), fc.constant(''), fc.bigInt({ min: 0n, max: 10n ** 30n }));
  const range = fc.oneof(
    fc.tuple(figure, figure).map(([from, to]) => `bytes=${from}-${to}`),
    fc.constantFrom('bytes=-5', 'bytes=0-1,5-6', 'lines=0-1', 'bytes=a-b', 'bytes=5-4'),
  );
  await fc.assert(
    fc.asyncProperty(range, async (asked) => {
      const response = await ask(asked);
      const body = await bytesOf(response);
      expect([206, 400, 416]).toContain(response.status);
      if (response.status !== 206) return;
      const [, from, to] =
        /^bytes (\d+)-(\d+)\//.exec(response.headers.get('content-range') ?? '') ?? [];
      expect(body).toEqual(ARCHIVE.subarray(Number(from), Number(to) + 1));
      expect(body.length).toBeGreaterThan(0);
    }),
  );
});

test('a file that is written anew in place has another validator, and its new end', async () => {
  const other = put('other.pmtiles', ARCHIVE);
  const changed = await openExplorer({
    postgres_reader_url: POSTGRES,
    console: pathToFileURL(`${folder}/`),
    console_tiles_url: other,
  });
  const ranged = (range: string): Promise<Response> =>
    fetch(`${changed.url}/tiles.pmtiles`, { headers: { range } });
  const before = await ranged('bytes=0-6');
  put('other.pmtiles', ARCHIVE.subarray(0, 200));
  const after = await ranged('bytes=100-');
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
  expect(after.headers.get('content-range')).toBe('bytes 100-199/200');
  expect(await bytesOf(after)).toEqual(ARCHIVE.subarray(100, 200));
  const behind = await ranged('bytes=200-');
  expect([behind.status, behind.headers.get('content-range')]).toEqual([416, 'bytes */200']);
  await changed.close();
});

const MIB = 1_024 * 1_024;
const CLIENTS = 40;

/** Bytes of buffers that something still holds. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().arrayBuffers;
}

test('clients that do not read hold pieces of the file, and not their parts', async () => {
  const large = put('large.pmtiles', ARCHIVE);
  truncateSync(large, 4 * MIB);
  const served = await openExplorer({
    postgres_reader_url: POSTGRES,
    console: pathToFileURL(`${folder}/`),
    console_tiles_url: large,
  });
  const before = heldBytes();
  const clients = Array.from({ length: CLIENTS }, () =>
    connect(Number(new URL(served.url).port), '127.0.0.1'),
  );
  await Promise.all(
    clients.map(async (client) => {
      client.write('GET /tiles.pmtiles HTTP/1.1\r\nhost: x\r\nrange: bytes=0-\r\n\r\n');
      await once(client, 'readable');
    }),
  );
  // a thread takes back the memory of a collection after it
  await expect.poll(() => heldBytes() - before).toBeLessThan(CLIENTS * MIB);
  for (const client of clients) client.destroy();
  expect(
    await bytesOf(await fetch(`${served.url}/tiles.pmtiles`, { headers: { range: 'bytes=0-' } })),
  ).toHaveLength(4 * MIB);
  await served.close();
});
