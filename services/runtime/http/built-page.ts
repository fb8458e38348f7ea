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

type Document = HttpResponse & { readonly body: Buffer };

export interface BuiltPage {
  /** scripts, styles and the like */
  readonly files: readonly GetRoute[];
  /**
   * The document, with these elements in place of its title. With another status than 200 it stands
   * for an error.
   */
  document(head?: string, status?: number): Document;
}

/** `policy`: directives that are added or replaced. Undefined: it is not built here. */
export function builtPage(
  document: URL,
  policy: Readonly<Record<string, string>> = {},
): BuiltPage | undefined {
  if (!existsSync(document)) return undefined;
  const html = readFileSync(document, 'utf8');
  const [title = ''] = /<title>.*<\/title>/.exec(html) ?? [];
  const at = html.indexOf(title);
  const headers = {
    // with a validator: a new build shows at the next load
    'cache-control': 'no-cache',
    'content-security-policy': Object.entries({ ...POLICY, ...policy })
      .map((directive) => directive.join(' '))
      .join('; '),
    'referrer-policy': 'no-referrer',
  };
  const assets = new URL('assets/', document);
  return {
    files: readdirSync(assets).map((name) => fileRoute(name, readFileSync(new URL(name, assets)))),
    document: (head = title, status = 200) => ({
      status,
      body: Buffer.from(html.slice(0, at) + head + html.slice(at + title.length)),
      content_type: 'text/html; charset=utf-8',
      headers: status === 200 ? headers : { ...headers, 'cache-control': 'no-store' },
    }),
  };
}

function fileRoute(name: string, body: Buffer): GetRoute {
  const path = `/assets/${name}`;
  const head = {
    status: 200,
    content_type: TYPES[extname(name)] ?? 'application/octet-stream',
    // the name has a hash of the content
    headers: { 'cache-control': 'public, max-age=31536000, immutable' },
  };
  const answer = new Answer(head, body, path);
  return { method: 'get', path, handle: () => answer };
}

/** The files of a page, and its document at these addresses, each made once for all requests. */
export function pageRoutes(
  page: BuiltPage,
  paths: readonly string[],
  elements?: string,
): readonly GetRoute[] {
  const { body, ...head } = page.document(elements);
  return [
    ...page.files,
    ...paths.map((path): GetRoute => {
      const answer = new Answer(head, body, path);
      return { method: 'get', path, handle: () => answer };
    }),
  ];
}
