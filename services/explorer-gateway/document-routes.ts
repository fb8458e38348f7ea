/** The interface's description, for programs and for people: made once, the same for everyone. */
import { createHash } from 'node:crypto';
import { EXPLORER_API } from '../../schemas/explorer-api/document.ts';
import type { Route } from '../runtime/answers.ts';
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

export function documentRoutes(): readonly Route[] {
  const document = JSON.stringify(EXPLORER_API);
  const page = docsPage(EXPLORER_API);
  return [
    { method: 'get', path: '/openapi.json', handle: () => ({ status: 200, body: document, headers: CACHED }) },
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
