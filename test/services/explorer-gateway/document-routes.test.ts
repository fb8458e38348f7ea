import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TOPICS } from '../../../schemas/topics.ts';
import { EXPLORER_API } from '../../../schemas/explorer-api/document.ts';
import { explorerRoutes } from '../../../services/explorer-gateway/routes/routes.ts';
import { gettable } from '../../support/openapi.ts';
import { openExplorer, type ExplorerServer } from './explorer-server.ts';

let explorer: ExplorerServer;
beforeAll(async () => {
  explorer = await openExplorer({
    postgres_reader_url: 'postgres://clt_reader:clt_reader@127.0.0.1:1/clt',
  });
});
afterAll(() => explorer.close());

test('the document is served and may be cached for five minutes', async () => {
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
  });
  const served = routes
    .filter(({ path }) => path !== '/' && !path.startsWith('/docs/'))
    .map(({ path }) => path.replaceAll(/:(\w+)/g, '{$1}'));
  const documented = Object.keys(EXPLORER_API.paths);
  expect(documented.toSorted()).toEqual([...served, '/health', '/ready'].toSorted());
});

test('every path responds as documented, also while the index is away', async () => {
  for (const { path, query } of gettable(EXPLORER_API)) {
    const { status } = await explorer.get(`${path}?${query}`);
    expect([path, [200, 404, 503].includes(status)]).toEqual([path, true]);
    expect([path, (await explorer.ask('POST', path)).status]).toEqual([path, 405]);
  }
});

test('the page shows the document with Swagger UI, every file of which comes from this server', async () => {
  const { status, text, headers } = await explorer.get('/docs');
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const files = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path]) => path ?? '');
  expect(files).toEqual([
    '/docs/swagger-ui.css',
    '/docs/favicon-32x32.png',
    '/',
    '/docs/swagger-ui-bundle.js',
    '/docs/start.js',
  ]);
  for (const path of files) {
    // not through `explorer.get`: these files are no part of the interface
    const file = await fetch(explorer.url + path);
    expect([path, file.status, (await file.text()).length > 100]).toEqual([path, 200, true]);
    expect(file.headers.get('cache-control')).toBe('public, max-age=300');
  }
  const start = await fetch(`${explorer.url}/docs/start.js`);
  expect(await start.text()).toContain("url: '/openapi.json'");
});

test('the policy of the page allows its own files and requests to this server, nothing else', async () => {
  const { text, headers } = await explorer.get('/docs');
  expect(text).not.toMatch(/<iframe|<script>|\bon\w+=|style="|https?:/i);
  const [, style = ''] = text.split(/<\/?style>/);
  const hash = createHash('sha256').update(style).digest('base64');
  expect(headers.get('content-security-policy')).toBe(
    `default-src 'none'; script-src 'self'; style-src 'self' 'sha256-${hash}'; img-src 'self' data:; ` +
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('the topics are a document and a page, with every event and every field', async () => {
  const document = JSON.parse(await (await fetch(`${explorer.url}/docs/asyncapi.json`)).text());
  expect(document).toMatchObject({ asyncapi: '3.0.0', channels: { 'chain.blocks': {} } });
  const page = await fetch(`${explorer.url}/docs/topics`);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  const text = await page.text();
  expect(text).not.toMatch(/<script|style="|undefined|\[object|`/);
  expect(text).toContain('<a href="/">');
  expect(text).toContain('<li>An event with a <code>sequence</code> counts only at that offset.');
  for (const { name, events } of TOPICS) {
    expect(text).toContain(`<h2 id="${name}">${name}</h2>`);
    for (const { type, avsc } of events) {
      const schema: { fields: { name: string }[] } = JSON.parse(readFileSync(avsc, 'utf8'));
      const [, part = ''] = text.split(`<h3 id="${type}">`);
      for (const field of schema.fields) expect(part).toContain(`<td>${field.name}</td>`);
    }
  }
  expect(text).toContain('<td>transactions</td><td>list of Transaction</td>');
  expect(text).toContain('<td>referrer</td><td>null or Address</td>');
});
