import { afterEach, expect, inject, test } from 'vitest';
import type { ReserveReconciled } from '../../../../../schemas/reserve.runs/events.ts';
import { encodeCursor } from '../../../../../services/explorer-gateway/routes/responses.ts';
import { freshDatabase } from '../../../../support/database.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../../services/explorer-gateway/explorer-server.ts';
import { recordRuns, run } from '../../../../services/explorer-gateway/reserve/recorded-runs.ts';

const TREASURY = 'http://127.0.0.1:9/public/reconciliation';

let explorer: ExplorerServer | undefined;

afterEach(async () => {
  await explorer?.close();
  explorer = undefined;
});

async function indexed(runs: readonly ReserveReconciled[]): Promise<string> {
  const urls = await freshDatabase(inject('stack'));
  await recordRuns(urls.writer_url, runs);
  return urls.reader_url;
}

function idsOf(text: string): readonly string[] {
  const { items }: { readonly items: readonly { readonly run_id: string }[] } = JSON.parse(text);
  return items.map(({ run_id: runId }) => runId);
}

test('every reconciliation is listed, newest first, with exact amounts', async () => {
  const url = await indexed(
    Array.from({ length: 5 }, (_, at) => ({ ...run(at), uncovered: 4n, frozen: 6n })),
  );
  explorer = await openExplorer({
    postgres_reader_url: url,
    treasury_public_reconciliation_url: TREASURY,
  });
  const { status, text, headers } = await explorer.get('/api/v1/reserve/runs?limit=2&offset=1');
  expect([status, idsOf(text)]).toEqual([200, ['3:run', '2:run']]);
  expect(text).toContain(
    '{"run_id":"3:run","run_at":"2026-09-21T14:16:20.000Z","ledger_offset":30,"block_height":3,' +
      `"block_hash":"0x${'03'.repeat(32)}","onchain_supply":1152921504606846979,"genesis_allocation":1152921504606846976,"treasury_minted":3,` +
      '"burned":0,"ledger_liability":0,"custody_reported":9007199254740993,"held":1,"retained_fees":2,"status":"ok","minting":0,"waiting":0,"booked_surplus":0,"refunded":0,"surplus":9007199254740990,"uncovered":4,"frozen":6}',
  );
  expect(text).toContain('"paging":{"limit":2,"offset":1,"total":3,"has_more":true}');
  const next = /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] ?? '';
  const below = await explorer.get(next);
  expect(idsOf(below.text)).toEqual(['1:run', '0:run']);
  // no run will ever come below a cursor, but above the newest one
  const above = encodeCursor('reserve_runs', 9n);
  const newest = await explorer.get(`/api/v1/reserve/runs?limit=2&cursor=${above}`);
  expect(idsOf(newest.text)).toEqual(['4:run', '3:run']);
  expect(
    [headers, below.headers, newest.headers].map((each) =>
      each.get('cache-control')?.endsWith('immutable'),
    ),
  ).toEqual([false, true, false]);
});

test('without a treasury the list of runs is empty', async () => {
  const { reader_url: readerUrl } = await freshDatabase(inject('stack'));
  explorer = await openExplorer({ postgres_reader_url: readerUrl });
  expect(await explorer.get('/api/v1/reserve/runs')).toMatchObject({
    status: 200,
    text: '{"items":[],"paging":{"limit":20,"offset":0,"total":0,"has_more":false}}',
  });
});

test('missing tables of runs are a storage fault, not an empty list', async () => {
  const { reader_url: readerUrl } = await freshDatabase(inject('stack'));
  explorer = await openExplorer({
    postgres_reader_url: readerUrl,
    treasury_public_reconciliation_url: TREASURY,
  });
  const { status, text } = await explorer.get('/api/v1/reserve/runs');
  expect([status, JSON.parse(text)]).toEqual([
    503,
    expect.objectContaining({ code: 'storage_error' }),
  ]);
});

test('malformed paging is refused', async () => {
  const { reader_url: readerUrl } = await freshDatabase(inject('stack'));
  explorer = await openExplorer({ postgres_reader_url: readerUrl });
  for (const query of ['limit=0', 'limit=101', 'offset=-1', 'cursor=zz', 'limit=1&limit=2']) {
    expect((await explorer.get(`/api/v1/reserve/runs?${query}`)).status).toBe(400);
  }
});
