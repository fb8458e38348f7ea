/**
 * The page at `/` of every service; an OpenAPI document as `/openapi.json`, and shown by Swagger UI
 * at `/docs`, without a CDN.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Answer } from './answer.ts';
import type { GetRoute } from './handler.ts';
import { htmlPage, PAGE_HEADERS } from './html-page.ts';

const { resolve } = createRequire(import.meta.url);

const CACHED = { 'cache-control': 'public, max-age=300' } as const;

/** Without a validator, which would be a server of Swagger's. */
const SCRIPT = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  validatorUrl: null,
});
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
`;

function swaggerPage(title: string): string {
  return htmlPage({
    title,
    head: '<link rel="stylesheet" href="/docs/swagger-ui.css"><link rel="icon" href="/docs/favicon-32x32.png">',
    main: '<div id="swagger-ui"></div>',
    end: '<script src="/docs/swagger-ui-bundle.js"></script><script src="/docs/start.js"></script>',
  });
}

export interface Landing {
  readonly title: string;
  readonly summary: string;
  /** what there is, by path */
  readonly links: Readonly<Record<string, string>>;
}

const PROBES = { '/health': 'whether it runs', '/ready': 'whether it can answer' } as const;

/** Names the service and where to go on: a page, or JSON for those that accept JSON. */
export function landingRoute({ title, summary, links: own }: Landing): GetRoute {
  const links = { ...own, ...PROBES };
  const items = Object.entries(links).map(
    ([path, what]) => `<li><a href="${path}">${path}</a> ${what}</li>\n`,
  );
  const html = htmlPage({
    title,
    main: `<h1>${title}</h1>\n<p>${summary}.</p>\n<ul>\n${items.join('')}</ul>`,
  });
  const headers = { ...PAGE_HEADERS, vary: 'accept' };
  const type = 'text/html; charset=utf-8';
  const shown = new Answer({ status: 200, content_type: type, headers }, html, '/');
  const data = new Answer({ status: 200, headers }, JSON.stringify({ title, summary, links }), '/');
  return {
    method: 'get',
    path: '/',
    handle: (request) =>
      request.headers.accept?.includes('application/json') === true ? data : shown,
  };
}

/** The link to the console, in a deployment that names it. */
export function consoleLink(url: string | undefined): Landing['links'] {
  return url === undefined ? {} : { [url]: 'the console, to look at all of it' };
}

/**
 * `api`: the document. `home`: routes of the page at `/`; default: one that names it, and `more`.
 */
export function documentRoutes(
  api: { readonly info: Pick<Landing, 'title' | 'summary'> },
  home?: readonly GetRoute[],
  more: Landing['links'] = {},
): readonly GetRoute[] {
  const links = {
    '/docs': 'the interface, to read and to try',
    '/openapi.json': 'the same as OpenAPI',
    ...more,
  };
  return [
    ...(home ?? [landingRoute({ ...api.info, links })]),
    text('/openapi.json', 'application/json; charset=utf-8', JSON.stringify(api)),
    text('/docs', 'text/html; charset=utf-8', swaggerPage(api.info.title), PAGE_HEADERS),
    text('/docs/start.js', 'text/javascript; charset=utf-8', SCRIPT),
    asset('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    asset('swagger-ui.css', 'text/css; charset=utf-8'),
    asset('favicon-32x32.png', 'image/png'),
  ];
}

export function text(
  path: string,
  type: string,
  body: string,
  headers: Readonly<Record<string, string>> = CACHED,
): GetRoute {
  const answer = new Answer({ status: 200, content_type: type, headers }, body, path);
  return { method: 'get', path, handle: () => answer };
}

/** Made at the first request, once: the bundle has 1.7 MB. */
function asset(name: string, type: string): GetRoute {
  const file = resolve(`swagger-ui-dist/${name}`);
  const path = `/docs/${name}`;
  let made: Answer | undefined;
  const head = { status: 200, content_type: type, headers: CACHED };
  return {
    method: 'get',
    path,
    handle: () => (made ??= new Answer(head, readFileSync(file), path)),
  };
}
