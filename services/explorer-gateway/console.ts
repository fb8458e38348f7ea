/**
 * The console's page and files (`services/console`), as Vite has built them. Every page of the
 * console is the same document: its script shows what the address says.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { GetRoute, HttpResponse } from '../runtime/http/handler.ts';

/** Where `vite build` puts it. */
export const CONSOLE = new URL('../console/dist/', import.meta.url);

/** The addresses of its pages: `services/console/src/routes.tsx`. */
const PAGES = [
  '/',
  '/blocks/:id',
  '/transactions',
  '/transactions/:hash',
  '/accounts/:address',
  '/validators',
  '/reserve',
] as const;

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The page loads its own files and asks this gateway, and nothing else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Undefined: it is not built here. */
export function consoleRoutes(folder: URL): readonly GetRoute[] | undefined {
  const document = new URL('index.html', folder);
  if (!existsSync(document)) return undefined;
  const page = get({
    status: 200,
    body: readFileSync(document),
    content_type: 'text/html; charset=utf-8',
    headers: {
      // with a validator: a new build shows at the next load
      'cache-control': 'no-cache',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
    },
  });
  const assets = new URL('assets/', folder);
  return [
    ...PAGES.map(page),
    ...readdirSync(assets).map((name) =>
      get({
        status: 200,
        body: readFileSync(new URL(name, assets)),
        content_type: TYPES[extname(name)] ?? 'application/octet-stream',
        // the name has a hash of the content
        headers: { 'cache-control': 'public, max-age=31536000, immutable' },
      })(`/assets/${name}`),
    ),
  ];
}

function get(response: HttpResponse): (path: string) => GetRoute {
  return (path) => ({ method: 'get', path, handle: () => response });
}
