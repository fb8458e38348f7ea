import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import { series } from '../../../../projections/series/series.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { withTimes } from '../../../support/block-times.ts';
import { ChainByHand, named, type BlockByHand } from '../../../support/chain-by-hand.ts';
import { freshDatabase } from '../../../support/database.ts';

const HOUR_MS = 3_600_000;
const BEGIN = Date.UTC(2026, 2, 1, 22);
const [ALICE, BOB, CAROL] = [named('alice'), named('bob'), named('carol')];
/** More than a double can hold. */
const MUCH = (1n << 70n) + 1n;

let explorer: ExplorerServer | undefined;

afterEach(async () => {
  await explorer?.close();
  explorer = undefined;
});

/** The log of a chain whose blocks are this number of hours after `BEGIN`, by height. */
function logOf(chain: ChainByHand, hours: readonly number[]): readonly ChainEvent[] {
  return withTimes(chain.log, ({ height }) => BEGIN + (hours[height] ?? 0) * HOUR_MS);
}

async function serve(log: readonly ChainEvent[], size = log.length): Promise<ExplorerServer> {
  const urls = await freshDatabase(inject('stack'));
  const pool = await openTables(urls.writer_url, series);
  for (let from = 0; from < log.length; from += size)
    await applyStretch(pool, series, {
      topic: 'chain.blocks',
      partition: 0,
      from,
      events: log.slice(from, from + size),
    });
  await pool.end();
  await explorer?.close();
  return (explorer = await openExplorer({ postgres_reader_url: urls.reader_url }));
}

/** Hours 0, 1, 3 and 4 after `BEGIN`: two before midnight, two after. Blocks 0 to 2 are final. */
const HOURS = [0, 1, 1, 3, 4];
let log: readonly ChainEvent[];

beforeAll(() => {
  const chain = new ChainByHand();
  const blocks: readonly BlockByHand[] = [
    { effects: [{ address: ALICE, delta: MUCH, kind: 'mint' }] },
    { producer: ALICE, transactions: [{ from: ALICE, to: BOB }] },
    {
      producer: ALICE,
      transactions: [{ from: BOB, to: CAROL, function_call_type: 'RideAcceptance' }],
      effects: [
        { address: ALICE, delta: 7n, kind: 'tx_fee_earned', tx_index: 0 },
        { address: BOB, delta: -7n, kind: 'tx_fee_paid', tx_index: 0 },
        { address: BOB, delta: -40n, kind: 'ride_pay', tx_index: 0 },
        { address: CAROL, delta: 40n, kind: 'ride_pay', tx_index: 0 },
      ],
    },
    { transactions: [{ from: ALICE, to: BOB }] },
    { transactions: [{ from: ALICE, to: BOB }] },
  ];
  for (const block of blocks) chain.append(block);
  chain.finalize(3);
  log = logOf(chain, HOURS);
});

interface Item {
  readonly start: string;
  readonly is_final: boolean;
}

function startsOf(text: string): readonly string[] {
  const { items }: { readonly items: readonly Item[] } = JSON.parse(text);
  return items.map(({ start }) => start.slice(5, 13));
}

test('hours and days have exact figures, newest first; days count an account once', async () => {
  const server = await serve(log);
  const hours = await server.get('/api/v1/series');
  expect(hours.status).toBe(200);
  expect(startsOf(hours.text)).toEqual(['03-02T02', '03-02T01', '03-01T23', '03-01T22']);
  expect(hours.text).toContain(
    `{"start":"2026-03-01T23:00:00.000Z","blocks":2,"transactions":2,"fees":7,"rides":1,"fares":40,"active_accounts":3,"supply":${MUCH},"is_final":true}`,
  );
  const days = await server.get('/api/v1/series?by=day&amounts=string');
  expect(days.text).toBe(
    '{"by":"day","items":[' +
      `{"start":"2026-03-02T00:00:00.000Z","blocks":2,"transactions":2,"fees":"0","rides":0,"fares":"0","active_accounts":2,"supply":"${MUCH}","is_final":false},` +
      `{"start":"2026-03-01T00:00:00.000Z","blocks":3,"transactions":2,"fees":"7","rides":1,"fares":"40","active_accounts":3,"supply":"${MUCH}","is_final":true}]}`,
  );
});

test('from, to and limit cut a part, and only final buckets are for ever', async () => {
  const server = await serve(log);
  const within = async (query: string): Promise<readonly [readonly string[], boolean]> => {
    const { text, headers } = await server.get(`/api/v1/series?${query}`);
    return [startsOf(text), headers.get('cache-control')?.endsWith('immutable') === true];
  };
  expect(await within('to=2026-03-02')).toEqual([['03-01T23', '03-01T22'], true]);
  expect(await within('from=2026-03-01T22:30Z&to=2026-03-02T01:00:00Z')).toEqual([
    ['03-01T23'],
    true,
  ]);
  // hour 1 has a final block, and may get another one
  expect(await within('to=2026-03-02T02:00:00Z&limit=1')).toEqual([['03-02T01'], false]);
  // counted back from the newest: the hour between has no block
  expect(await within('limit=4')).toEqual([['03-02T02', '03-02T01', '03-01T23'], false]);
  expect(await within('from=2027-01-01')).toEqual([[], false]);
  expect(await within('by=day&to=2026-03-02')).toEqual([['03-01T00'], true]);
});

test('the blocks of each validator are listed by hour and day, and those beyond eight are summed', async () => {
  const chain = new ChainByHand();
  for (let at = 0; at < 12; at++) {
    chain.append({ producer: named(`validator ${at}`) });
    if (at < 9) chain.append({ producer: named(`validator ${at}`) });
  }
  const server = await serve(logOf(chain, []));
  const { status, text } = await server.get('/api/v1/series/validators?by=day');
  const { items }: { readonly items: readonly { address: string | null; blocks: number }[] } =
    JSON.parse(text);
  expect([status, items.length]).toEqual([200, 9]);
  expect(items.filter(({ address }) => address === null)).toEqual([
    { start: '2026-03-01T00:00:00.000Z', address: null, blocks: 5, is_final: false },
  ]);
  expect(items.reduce((sum, { blocks }) => sum + blocks, 0)).toBe(chain.height + 1);
});

async function askAll(server: ExplorerServer): Promise<readonly string[]> {
  const paths = ['series', 'series?by=day', 'series/validators', 'series/validators?by=day'];
  return Promise.all(paths.map(async (path) => (await server.get(`/api/v1/${path}`)).text));
}

test('after a reorganisation the answers are those of a fresh fold of the chain that is left', async () => {
  const chain = new ChainByHand();
  for (let at = 0; at < 6; at++)
    chain.append({ producer: ALICE, transactions: [{ from: ALICE, to: BOB }] });
  chain.revert(4);
  chain.append({ producer: BOB, transactions: [{ from: CAROL, to: CAROL }] });
  const left = new ChainByHand();
  for (let at = 0; at < 2; at++)
    left.append({ producer: ALICE, transactions: [{ from: ALICE, to: BOB }] });
  left.append({ producer: BOB, transactions: [{ from: CAROL, to: CAROL }] });
  const hours = [0, 1, 2, 2, 3, 30];
  const reorganised = await askAll(await serve(logOf(chain, hours), 3));
  expect(reorganised).toEqual(await askAll(await serve(logOf(left, hours))));
});

test('without a block there is an empty list, and without tables a storage fault', async () => {
  const server = await serve([]);
  expect(await server.get('/api/v1/series')).toMatchObject({
    status: 200,
    text: '{"by":"hour","items":[]}',
  });
  const { reader_url } = await freshDatabase(inject('stack'));
  await explorer?.close();
  explorer = await openExplorer({ postgres_reader_url: reader_url });
  expect(await explorer.get('/api/v1/series')).toMatchObject({ status: 503 });
});

test('a request that makes no sense is refused', async () => {
  const { reader_url } = await freshDatabase(inject('stack'));
  explorer = await openExplorer({ postgres_reader_url: reader_url });
  for (const query of ['by=week', 'limit=1001', 'from=2026-03-02&to=2026-03-01', 'amounts=hex'])
    for (const path of ['series', 'series/validators'])
      expect(await explorer.get(`/api/v1/${path}?${query}`)).toMatchObject({ status: 400 });
});
