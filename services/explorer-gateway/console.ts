/**
 * The console's page and files (`services/console`), as Vite has built them. Every page of the
 * console is the same document: its script shows what the address says.
 */
import { builtPage } from '../runtime/http/built-page.ts';
import type { GetRoute } from '../runtime/http/handler.ts';
import { tronUrlOf, type ConsoleConfig } from './config.ts';

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
  '/charts',
  '/reserve',
  '/reserve/:run',
  '/market',
  '/market/trips/:hash',
  '/deposits',
  '/deposits/:id',
] as const;

/** The services that the page asks besides this gateway, and the scripts of its map. */
function policyOf({
  console_hub_url: consoleHubUrl,
  console_deposits_url: consoleDepositsUrl,
  console_tiles_url: consoleTilesUrl,
}: ConsoleConfig): Readonly<Record<string, string>> {
  const others = [
    consoleHubUrl,
    consoleHubUrl?.replace('http', 'ws'),
    consoleDepositsUrl,
    consoleTilesUrl,
  ]
    .filter((url) => url !== undefined)
    .map((url) => new URL(url).origin);
  return {
    'connect-src': ["'self'", ...new Set(others)].join(' '),
    'worker-src': "'self'",
  };
}

/** Where the console finds what the explorer does not have; null: it is not set up. */
function settingsBody(config: ConsoleConfig): string {
  return JSON.stringify({
    chain_id: config.chain_id ?? null,
    hub_url: config.console_hub_url ?? null,
    deposits_url: config.console_deposits_url ?? null,
    tiles_url: config.console_tiles_url ?? null,
    tron_url: tronUrlOf(config) ?? null,
  });
}

export interface Console {
  /** of the built files */
  readonly folder: URL;
  readonly config: ConsoleConfig;
}

/** Undefined: it is not built here. */
export function consoleRoutes({ folder, config }: Console): readonly GetRoute[] | undefined {
  const pages = builtPage(new URL('index.html', folder), PAGES, policyOf(config));
  if (pages === undefined) return undefined;
  const settings: GetRoute = {
    method: 'get',
    path: '/console.json',
    handle: () => ({
      status: 200,
      body: settingsBody(config),
      headers: { 'cache-control': 'no-cache' },
    }),
  };
  return [...pages, settings];
}
