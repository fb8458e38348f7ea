/** The console in Chromium on an explorer with blocks, runs and series, and a hub of two lists. */
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import type { Browser, Page } from 'playwright-core';
import type { Addresses } from '../../../infra/services/services.ts';
import { fillExplorer, seededBlocks } from '../../projections/explorer/seeded-rows.ts';
import { fillSeries } from '../../projections/series/filled-series.ts';
import { freshDatabase } from '../../support/database.ts';
import { builtPages } from '../../support/pages.ts';
import { openExplorer, type ExplorerServer } from '../explorer-gateway/explorer-server.ts';
import { recordRuns, run } from '../explorer-gateway/reserve/recorded-runs.ts';

export const BLOCKS = seededBlocks({ seed: 8, blocks: 60, transactions_max: 9, first_height: 0 });
export const NEWEST = BLOCKS.length - 1;
export const RUN = run(0).run_id;

/** As long as the amounts of the largest holders. */
export const LONG = '9007208147943211';

export interface ExplorerConsole {
  readonly browser: Browser;
  readonly explorer: ExplorerServer;
  /** of the read models */
  readonly writer: Client;
  readonly close: () => Promise<void>;
}

export async function openExplorerConsole(
  stack: Addresses,
  browser: Browser,
): Promise<ExplorerConsole> {
  const urls = await freshDatabase(stack);
  await recordRuns(
    urls.writer_url,
    Array.from({ length: 5 }, (_, at) => run(at)),
  );
  await fillExplorer(urls.writer_url, BLOCKS);
  await fillSeries(urls.writer_url);
  const writer = new Client({ connectionString: urls.writer_url });
  await writer.connect();
  const folder = await builtPages('vite');
  const explorer = await openExplorer({
    postgres_reader_url: urls.reader_url,
    treasury_public_reconciliation_url: 'http://127.0.0.1:1',
    console: pathToFileURL(`${folder}/`),
  });
  explorer.head = NEWEST;
  return {
    browser,
    explorer,
    writer,
    close: async () => {
      await browser.close();
      await writer.end();
      await explorer.close();
    },
  };
}

const PLACE = { latitude: 52.52, longitude: 13.405 };
const ROUTE = { pickupLocation: PLACE, dropoffLocation: PLACE };
const [HASH, ACCOUNT] = [`0x${'ab'.repeat(32)}`, `0x${'cd'.repeat(20)}`];
const LISTS = {
  rideRequestsUpdated: [{ txHash: HASH, ...ROUTE, fare: LONG, passengerAddress: ACCOUNT }],
  activeTripsUpdated: [
    { txHash: HASH, ...ROUTE, fare: LONG, farePaid: '0', driverAddress: ACCOUNT },
  ],
  completedTripsUpdated: [{ txHash: HASH, fare: LONG }],
};
const RIDE = {
  rideRequestTxHash: HASH,
  tripTxHash: null,
  fare: LONG,
  fare_paid: '0',
  passenger: ACCOUNT,
  driver: null,
};

/** The page has a hub with one ride of each kind, or with none at all; `ride` is the only story. */
export async function addHub(
  page: Page,
  { url }: ExplorerServer,
  isEmpty = false,
  ride?: object,
): Promise<void> {
  const story = ride && { ...ROUTE, ...RIDE, ...ride };
  const services = { hub_url: url, deposits_url: null, tiles_url: null, tron_url: null };
  await page.route('**/console.json', (route) =>
    route.fulfill({ json: { chain_id: 7_777, ...services } }),
  );
  await page.routeWebSocket('**/graphql/ws', (socket) => {
    socket.onMessage((message) => {
      const { type, id, payload } = JSON.parse(String(message));
      if (type === 'connection_init') socket.send(JSON.stringify({ type: 'connection_ack' }));
      if (type === 'ping') socket.send(JSON.stringify({ type: 'pong' }));
      if (type !== 'subscribe') return;
      const asked = Object.entries(LISTS).find(([name]) => String(payload.query).includes(name));
      const result = isEmpty ? [] : (asked?.[1] ?? story ?? null);
      socket.send(JSON.stringify({ type: 'next', id, payload: { data: { result } } }));
    });
  });
}
