/** The console in Chromium on a stack whose processes the test may kill. */
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { serviceEnvironment } from '../../../infra/services/services.ts';
import { defaultSettings } from '../../../infra/services/settings.ts';
import { readExplorerGatewayConfig } from '../../../services/explorer-gateway/config.ts';
import { serve } from '../../../services/explorer-gateway/service.ts';
import { Closing } from '../../../services/runtime/process/main.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { silentLog } from '../../support/kafka.ts';
import { builtPages } from '../../support/pages.ts';
import { specOf, type Stack } from '../../support/stack.ts';
import { openPage, type Opened } from './console-world.ts';

/** The browser's own lines about requests that nobody answers. */
const NETWORK = /^(?:Failed to load resource|WebSocket connection to)/;

export interface SystemConsole extends Opened {
  /** what the page complained of, but for requests that nobody answered */
  readonly faults: () => readonly string[];
  /** what the line below the bar says */
  readonly health: () => Promise<string>;
  readonly close: () => Promise<void>;
}

/** An explorer gateway in this process serves it, with a build of its own. */
export async function openSystemConsole(
  { addresses, ports }: Stack,
  browser: Browser,
): Promise<SystemConsole> {
  const folder = await builtPages('vite');
  const place = { http_host: '127.0.0.1', ports, data: '' };
  const config = readExplorerGatewayConfig({
    ...serviceEnvironment(specOf('explorer-gateway'), defaultSettings, addresses, place),
    APP_HTTP_PORT: '0',
    APP_OPS_PORT: '0',
  });
  const closing = new Closing();
  const stop = new AbortController();
  const metrics = new Metrics('test');
  const url = await serve(
    { config, log: silentLog(), metrics, signal: stop.signal, closing },
    pathToFileURL(`${folder}/`),
  );
  const opened = await openPage({ browser, explorer: { url } });
  return {
    ...opened,
    faults: () => opened.problems.filter((problem) => !NETWORK.test(problem)),
    health: async () => (await opened.page.locator('.health').allInnerTexts()).join(' '),
    close: async () => {
      await browser.close();
      stop.abort();
      await closing.close(
        () => undefined,
        (name, error) => {
          throw new Error(`${name} could not be closed`, { cause: error });
        },
      );
    },
  };
}
