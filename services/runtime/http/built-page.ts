/** A page and its files as Vite has built them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { Answer } from './answer.ts';
import type { GetRoute } from './handler.ts';
import type { HttpResponse } from './response.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The page loads its own files and asks its own server, and nothing else. */
const POLICY: Readonly<Record<string, string>> = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
};

/**
 * `pages`: the addresses that show the document; `policy`: directives that are added or replaced.
 * Undefined: it is not built here.
 */
export function builtPage(
  document: URL,
  pages: readonly string[],
  policy: Readonly<Record<string, string>> = {},
): readonly GetRoute[] | undefined {
  if (!existsSync(document)) return undefined;
  const page = get({
    body: readFileSync(document),
    content_type: 'text/html; charset=utf-8',
    headers: {
      // with a validator: a new build shows at the next load
      'cache-control': 'no-cache',
      'content-security-policy': Object.entries({ ...POLICY, ...policy })
        .map((directive) => directive.join(' '))
        .join('; '),
      'referrer-policy': 'no-referrer',
    },
  });
  const assets = new URL('assets/', document);
  return [
    ...pages.map(page),
    ...readdirSync(assets).map((name) =>
      get({
        body: readFileSync(new URL(name, assets)),
        content_type: TYPES[extname(name)] ?? 'application/octet-stream',
        // the name has a hash of the content
        headers: { 'cache-control': 'public, max-age=31536000, immutable' },
      })(`/assets/${name}`),
    ),
  ];
}

type Made = Pick<HttpResponse, 'content_type' | 'headers'> & { readonly body: Buffer };

function get({ body, ...head }: Made): (path: string) => GetRoute {
  return (path) => {
    const answer = new Answer({ status: 200, ...head }, body, path);
    return { method: 'get', path, handle: () => answer };
  };
}
