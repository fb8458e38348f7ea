/** An interface's description, for programs and for people: made once, the same for everyone. */
import { createHash } from 'node:crypto';
import type { OpenApi } from '../../../schemas/openapi.ts';
import type { Route } from './handler.ts';
import { docsPage } from './docs-page.ts';
import { DOCS_STYLE } from './docs-style.ts';

const CACHED = { 'cache-control': 'public, max-age=300' } as const;

/** The page may load nothing at all: its one style is known by its hash, and there is no script. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(DOCS_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** `/openapi.json` and its page, `/docs`. */
export function documentRoutes(api: OpenApi): readonly Route[] {
  const document = JSON.stringify(api);
  const page = docsPage(api);
  return [
    {
      method: 'get',
      path: '/openapi.json',
      handle: () => ({ status: 200, body: document, headers: CACHED }),
    },
    {
      method: 'get',
      path: '/docs',
      handle: () => ({
        status: 200,
        body: page,
        content_type: 'text/html; charset=utf-8',
        headers: { ...CACHED, 'content-security-policy': POLICY, 'referrer-policy': 'no-referrer' },
      }),
    },
  ];
}
