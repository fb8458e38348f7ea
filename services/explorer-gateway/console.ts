/**
 * The console's page and files (`services/console`), as Vite has built them. Every page of the
 * console is the same document: its script shows what the address says.
 */
import { builtPage } from '../runtime/http/built-page.ts';
import type { GetRoute } from '../runtime/http/handler.ts';

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
] as const;

/** Undefined: it is not built here. */
export function consoleRoutes(folder: URL): readonly GetRoute[] | undefined {
  return builtPage(new URL('index.html', folder), PAGES);
}
