/**
 * The console's page and files (`services/console`), as Vite has built them. Every page of the
 * console is the same document, but for its title and description: its script shows what the
 * address says.
 */
import { builtPage, pageRoutes, type BuiltPage } from '../runtime/http/built-page.ts';
import type { Answered, GetRoute, HttpRequest } from '../runtime/http/handler.ts';
import type { HttpResponse } from '../runtime/http/response.ts';
import { Held } from '../runtime/limits/held.ts';
import { rateLimited } from '../runtime/limits/rate.ts';
import type { Reader } from '../runtime/postgres/pool.ts';
import { isAddress, tronUrlOf, type ConsoleConfig } from './config.ts';
import { EXPLORER_ERRORS } from './errors.ts';
import { Painter, WAITING_MAX } from './painter.ts';
import { pictureOf } from './picture.ts';
import { headOf, knownPreview, PLAIN, PREVIEWED, previewOf, type Preview } from './preview.ts';
import { TILES_PATH, tilesRoute } from './tiles.ts';

/** Where `vite build` puts it. */
export const CONSOLE = new URL('../console/dist/', import.meta.url);

/** The addresses of its pages besides `PREVIEWED`: `services/console/src/routes.tsx`. */
const PAGES = [
  '/',
  '/transactions',
  '/validators',
  '/charts',
  '/reserve',
  '/market',
  '/deposits',
  '/deposits/:id',
] as const;

/** Where wallets look for a block, a transaction or an account (EIP-3091), and the page of it. */
const MOVED = {
  '/block/:id': '/blocks/',
  '/tx/:id': '/transactions/',
  '/address/:id': '/accounts/',
} as const;

/** The services that the page asks besides this gateway, and the scripts of its map. */
function policyOf(config: ConsoleConfig): Readonly<Record<string, string>> {
  const { console_hub_url: consoleHubUrl, console_deposits_url: consoleDepositsUrl } = config;
  const others = [
    consoleHubUrl,
    consoleHubUrl?.replace('http', 'ws'),
    consoleDepositsUrl,
    tilesFileOf(config) === undefined ? config.console_tiles_url : undefined,
  ]
    .filter((url) => url !== undefined)
    .map((url) => new URL(url).origin);
  return {
    'connect-src': ["'self'", ...new Set(others)].join(' '),
    'worker-src': "'self'",
  };
}

/** The path of the file with the map's tiles, where this gateway serves one. */
function tilesFileOf(config: ConsoleConfig): string | undefined {
  const { console_tiles_url: consoleTilesUrl } = config;
  return consoleTilesUrl === undefined || isAddress(consoleTilesUrl) ? undefined : consoleTilesUrl;
}

/** Where the console finds what the explorer does not have; null: it is not set up. */
function settingsBody(config: ConsoleConfig): string {
  return JSON.stringify({
    chain_id: config.chain_id ?? null,
    hub_url: config.console_hub_url ?? null,
    deposits_url: config.console_deposits_url ?? null,
    tiles_url: tilesFileOf(config) === undefined ? (config.console_tiles_url ?? null) : TILES_PATH,
    tron_url: tronUrlOf(config) ?? null,
  });
}

export interface ConsoleOptions {
  /** of the built files */
  readonly folder: URL;
  readonly config: ConsoleConfig;
  /** of what previews say */
  readonly reader: Reader;
}

export interface Console {
  readonly routes: readonly GetRoute[];
  /** The page that says so, for a person at an address without a route. */
  readonly nothingHere: (request: HttpRequest) => HttpResponse | undefined;
}

/** Undefined: it is not built here. */
export function openConsole({ folder, config, reader }: ConsoleOptions): Console | undefined {
  const page = builtPage(new URL('index.html', folder), policyOf(config));
  if (page === undefined) return undefined;
  const settings: GetRoute = {
    method: 'get',
    path: '/console.json',
    handle: () => ({
      status: 200,
      body: settingsBody(config),
      headers: { 'cache-control': 'no-cache' },
    }),
  };
  const tilesFile = tilesFileOf(config);
  const plain = headOf(PLAIN, pictureUrl(config));
  const nothing = page.document(plain, 404);
  return {
    routes: [
      ...pageRoutes(page, PAGES, plain),
      ...PREVIEWED.map((path) => previewedRoute(page, reader, config, path)),
      ...pictureRoutes(reader),
      ...Object.entries(MOVED).map(([path, to]) => movedRoute(path, to)),
      settings,
      ...(tilesFile === undefined ? [] : [tilesRoute(tilesFile)]),
    ],
    nothingHere: (request) => (isOfPerson(request) ? nothing : undefined),
  };
}

/** The whole address of a picture, as readers of previews need it; undefined: nobody knows ours. */
function pictureUrl({ console_url: consoleUrl }: ConsoleConfig, page = ''): string | undefined {
  return consoleUrl === undefined ? undefined : consoleUrl + PICTURES + page;
}

function previewedRoute(
  page: BuiltPage,
  reader: Reader,
  config: ConsoleConfig,
  path: string,
): GetRoute {
  return {
    method: 'get',
    path,
    handle: async ({ params: { name } }) => {
      const preview = await previewOf(reader, path, String(name));
      const address = path.replace(':name', encodeURIComponent(String(name)));
      const picture = pictureUrl(config, preview === PLAIN ? '' : address);
      return page.document(headOf(preview, picture));
    },
  };
}

/** The picture of a page is at the page's own address below this one. */
const PICTURES = '/preview';
/** For pictures that can change with the program alone, and for all others. */
const CACHED = { final: 'public, max-age=86400', open: 'public, max-age=60' };

/** Half of those that wait at once, so that one client does not keep all others from theirs. */
const OF_A_CLIENT_MAX = WAITING_MAX / 2;
/** In so long those that wait are drawn. */
const DRAWN_MS = 1_000;

function pictureRoutes(reader: Reader): readonly GetRoute[] {
  const painter = new Painter();
  const held = new Held(OF_A_CLIENT_MAX);
  const paint = async (preview: Preview, client: string): Promise<Buffer | undefined> => {
    const release = held.take(client);
    try {
      return release && (await painter.paint(pictureOf(preview, Date.now())));
    } finally {
      release?.();
    }
  };
  const draw = async (preview: Preview, { exchange }: HttpRequest): Promise<Answered> => {
    const body = await paint(preview, exchange.client);
    if (body === undefined)
      return rateLimited(DRAWN_MS, EXPLORER_ERRORS, 'too many pictures are drawn');
    const isFinal = preview === PLAIN || preview.state?.is_final === true;
    const control = CACHED[isFinal ? 'final' : 'open'];
    return {
      status: 200,
      body,
      content_type: 'image/png',
      headers: { 'cache-control': control },
    };
  };
  return [
    { method: 'get', path: PICTURES, handle: (request) => draw(PLAIN, request) },
    ...PREVIEWED.map((path): GetRoute => ({
      method: 'get',
      path: PICTURES + path,
      handle: async (request) => {
        const preview = await knownPreview(reader, path, String(request.params['name']));
        return preview === undefined
          ? { refused: 'not_found', message: 'nothing has this name: look at the link again' }
          : draw(preview, request);
      },
    })),
  ];
}

function movedRoute(path: string, to: string): GetRoute {
  return {
    method: 'get',
    path,
    handle: ({ params: { id } }) => ({
      status: 301,
      body: '',
      headers: { location: to + encodeURIComponent(String(id)) },
    }),
  };
}

/** A browser that opens an address; a program that asks the interface names no HTML. */
function isOfPerson({ method, path, headers }: HttpRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  return isRead && !path.startsWith('/api/') && headers.accept?.includes('text/html') === true;
}
