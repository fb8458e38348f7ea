import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXPLORER_API } from '../../../schemas/explorer-api/document.ts';
import { explorerRoutes } from '../../../services/explorer-gateway/routes/routes.ts';
import { openExplorer, type ExplorerServer } from './explorer-server.ts';

let explorer: ExplorerServer;
beforeAll(async () => {
  explorer = await openExplorer({
    postgres_reader_url: 'postgres://clt_reader:clt_reader@127.0.0.1:1/clt',
  });
});
afterAll(() => explorer.close());

test('the document is served, and every program may keep it for a while', async () => {
  const { status, text, headers } = await explorer.get('/openapi.json');
  expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
    200,
    'application/json; charset=utf-8',
    'public, max-age=300',
  ]);
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(EXPLORER_API)));
});

test('the document names exactly the paths that are served', () => {
  const routes = explorerRoutes({
    reader: { rows: () => Promise.resolve([]) },
    head: () => Promise.resolve(undefined),
    ends: () => Promise.resolve(undefined),
    reserve: undefined,
    exports_max: 4,
    cache: undefined,
  });
  const served = routes.map(({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'));
  const documented = Object.keys(EXPLORER_API.paths);
  expect(documented.toSorted()).toEqual([...served, '/health', '/ready', '/metrics'].toSorted());
});

test('every path of the document answers as the document says, also where the index is away', async () => {
  for (const [path, { get }] of Object.entries(EXPLORER_API.paths)) {
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) =>
      String(get.parameters.find((each) => each.name === name)?.example),
    );
    const needed = get.parameters.filter(
      ({ in: where, required }) => where === 'query' && required,
    );
    const query = needed.map(({ name, example }) => `${name}=${example}`).join('&');
    const { status } = await explorer.get(`${filled}?${query}`);
    expect([path, [200, 503].includes(status)]).toEqual([path, true]);
    expect([path, (await explorer.ask('POST', filled)).status]).toEqual([path, 405]);
  }
});

test('the page for people names every path, parameter and field of the document', async () => {
  const { status, text, headers } = await explorer.get('/docs');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  for (const [path, { get }] of Object.entries(EXPLORER_API.paths)) {
    expect(text).toContain(`<code>${path}</code>`);
    expect(text).toContain(`id="${get.operationId}"`);
    for (const { name } of get.parameters) expect(text).toContain(`<code>${name}</code>`);
  }
  for (const field of [
    'items[].reward_recipient',
    'paging.has_more',
    'last_run.custody_reported',
    'projections[].lag_records',
    'tx_index',
    'items[].counterparty',
    'items[].peer_id',
    'is_contract',
    'block_hash',
  ]) {
    expect(text).toContain(`<code>${field}</code>`);
  }
  const ids = [...text.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id);
  const targets = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(targets.filter((target) => !ids.includes(target))).toEqual([]);
});

test('the page loads nothing and runs nothing, and its policy allows nothing else', async () => {
  const { text, headers } = await explorer.get('/docs');
  expect(text).not.toMatch(/<script|<link|<img|<iframe|\bsrc=|@import|url\(|\bon\w+=|style="/i);
  expect(
    [...text.matchAll(/href="([^"]*)"/g)].filter(([, href]) => !/^[#/][^/]/.test(href ?? '')),
  ).toEqual([]);
  const style = /<style>([^]*)<\/style>/.exec(text)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(headers.get('content-security-policy')).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('the page is well-formed: what is opened is closed, and text stays text', async () => {
  const { text } = await explorer.get('/docs');
  const open: string[] = [];
  for (const [, slash = '', name = ''] of text.matchAll(/<(\/?)(\w+)[^>]*>/g)) {
    if (name === 'meta') continue;
    if (slash === '') open.push(name);
    else expect(open.pop()).toBe(name);
  }
  expect(open).toEqual([]);
  expect(text).toContain('Prometheus&#39; text format.');
});
