/**
 * The console in Chromium on an explorer, a hub and deposits, the last two behind proxies that can
 * take them away. The read models advance when the test says so.
 */
import { pathToFileURL } from 'node:url';
import { Client, type Pool } from 'pg';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Addresses } from '../../../infra/services/services.ts';
import { deposits as depositsProjection } from '../../../projections/deposits/deposits.ts';
import { watch } from '../../../projections/watch/watch.ts';
import { NETWORK_LIMITS } from '../../../schemas/deposit-policy.ts';
import type { TreasuryEvent } from '../../../schemas/treasury.ledger/events.ts';
import { applyStretch, openTables } from '../../projections/deposits/applied.ts';
import { freshDatabase } from '../../support/database.ts';
import { placed } from '../../support/deposit-events.ts';
import { openContext } from '../../support/chromium.ts';
import { depositKey } from '../../support/deposit-log.ts';
import { FaultProxy } from '../../support/fault-proxy.ts';
import { builtPages, watchPage } from '../../support/pages.ts';
import { openDeposits, type DepositServer } from '../deposit-gateway/deposit-server.ts';
import { openExplorer, type ExplorerServer } from '../explorer-gateway/explorer-server.ts';
import { CHAIN_ID, HubWorld } from '../hub-gateway/hub-world.ts';

/** The deposit address of every account here. */
export const DEPOSIT_ADDRESS = depositKey().addressAt(0);

export interface ConsoleWorld {
  readonly hub: HubWorld;
  readonly explorer: ExplorerServer;
  readonly browser: Browser;
  /** of the proxies; their connections are reset while they are `away` */
  away(service: 'hub' | 'deposits', isAway: boolean): void;
  /** Appends to the treasury's ledger, and folds it. */
  ledger(...events: readonly TreasuryEvent[]): Promise<void>;
  /** Adds this many open requests around 0° N, 0° E; they show with the next block. */
  fill(requests: number): Promise<void>;
  close(): Promise<void>;
}

const FILL = `INSERT INTO ride_market.open_requests
  SELECT sha256(int8send(n)), substring(sha256(int8send(n)) FOR 20),
         (-2 + (n * 7919 % 4000) / 1000.0)::text, (-2 + (n * 104729 % 4000) / 1000.0)::text,
         '0.5', '0.5', 1000000 + n, NULL, -n, 0 FROM generate_series(1, $1::bigint) n`;

export async function openConsoleWorld(stack: Addresses, browser: Browser): Promise<ConsoleWorld> {
  const folder = await builtPages('vite');
  const hub = await HubWorld.open(stack);
  const urls = await freshDatabase(stack);
  const tables: Pool = await openTables(urls.writer_url, depositsProjection);
  const watched: Pool = await openTables(urls.writer_url, watch);
  const deposits: DepositServer = await openDeposits({
    postgres_reader_url: urls.reader_url,
    addresses: { open: () => Promise.resolve(DEPOSIT_ADDRESS) },
    now: () => Date.now(),
  });
  const proxies = {
    hub: await FaultProxy.open({ port: Number(new URL(hub.url).port) }),
    deposits: await FaultProxy.open({ port: Number(new URL(deposits.url).port) }),
  };
  const explorer = await openExplorer({
    postgres_reader_url: hub.postgres_reader_url,
    console: pathToFileURL(`${folder}/`),
    chain_id: CHAIN_ID,
    console_hub_url: `http://127.0.0.1:${proxies.hub.port}`,
    console_deposits_url: `http://127.0.0.1:${proxies.deposits.port}`,
    console_tron_url: 'https://tron.example/tx/',
  });
  let offset = 0;
  const ledger = async (...events: readonly TreasuryEvent[]): Promise<void> => {
    const stretch = { topic: 'treasury.ledger', partition: 0, from: offset };
    await applyStretch(tables, depositsProjection, { ...stretch, events: placed(events, offset) });
    offset += events.length;
  };
  await ledger({
    type: 'PolicySet',
    sequence: 0,
    version: 1,
    network: 'testnet',
    ...NETWORK_LIMITS.testnet,
    decided_at: Date.now(),
  });
  return {
    hub,
    explorer,
    browser,
    ledger,
    fill: async (requests) => {
      const client = new Client({ connectionString: hub.postgres_writer_url });
      await client.connect();
      await client.query('DELETE FROM ride_market.open_requests WHERE height < 0');
      await client.query(FILL, [requests]);
      await client.end();
    },
    away(service, isAway) {
      const proxy = proxies[service];
      proxy.mode = isAway ? 'reset_before' : 'pass';
      if (isAway) proxy.cut();
    },
    close: async () => {
      await browser.close();
      await Promise.all(Object.values(proxies).map((proxy) => proxy.close()));
      await Promise.all([explorer.close(), deposits.close(), hub.close()]);
      await Promise.all([tables.end(), watched.end()]);
    },
  };
}

export interface Opened {
  readonly context: BrowserContext;
  readonly page: Page;
  /** what the page complained of, and what it asked of others than the services */
  readonly problems: string[];
  readonly show: (path: string) => Promise<void>;
}

export async function openPage(
  { browser, explorer }: { readonly browser: Browser; readonly explorer: { readonly url: string } },
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Opened> {
  const context = await openContext(browser, options);
  const page = await context.newPage();
  const problems: string[] = [];
  watchPage(page, problems, (url) => new URL(url).host.startsWith('127.0.0.1:'));
  return {
    context,
    page,
    problems,
    show: async (path) => {
      await page.goto(explorer.url + path);
      await page.locator('.bar').waitFor();
    },
  };
}
