import { afterEach, expect, inject, onTestFinished, test } from 'vitest';
import { Client } from 'pg';
import { reserve } from '../../../../../projections/reserve/reserve.ts';
import type { ReserveReconciled } from '../../../../../schemas/reserve.runs/events.ts';
import { encodeCursor } from '../../../../../services/explorer-gateway/routes/responses.ts';
import { assert } from '../../../../../services/runtime/process/errors.ts';
import { newCopyRows } from '../../../../../services/runtime/postgres/copy-rows.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { writeChanges } from '../../../../../services/projector/engine/table-writer.ts';
import { freshDatabase } from '../../../../support/database.ts';
import {
  openExplorer,
  type ExplorerServer,
} from '../../../../services/explorer-gateway/explorer-server.ts';

const TREASURY = 'http://127.0.0.1:9/public/reconciliation';

let explorer: ExplorerServer | undefined;

afterEach(async () => {
  await explorer?.close();
  explorer = undefined;
});

function run(at: number): ReserveReconciled {
  return {
    type: 'ReserveReconciled',
    run_id: `${at}:run`,
    run_at: 1_790_000_000_000 + at * 60_000,
    ledger_offset: at * 10,
    block_height: at,
    block_hash: Buffer.alloc(32, at),
    onchain_supply: (1n << 60n) + BigInt(at),
    genesis_allocation: 1n << 60n,
    treasury_minted: BigInt(at),
    burned: 0n,
    ledger_liability: BigInt(at) - 3n,
    custody_reported: 9_007_199_254_740_993n,
    held: 1n,
    retained_fees: 2n,
    minting: 0n,
    waiting: 0n,
    uncovered: 0n,
    booked_surplus: 0n,
    refunded: 0n,
    begun_at: 0,
    oldest_reading_at: 0,
    status: at === 0 ? 'mismatch' : 'ok',
  };
}

/** The tables as the projection writes them after these runs. */
async function indexed(runs: readonly ReserveReconciled[]): Promise<string> {
  const { writer_url: url, reader_url: readerUrl } = await freshDatabase(inject('stack'));
  await prepareDatabase(url, reserve, { indexed: true });
  const client = new Client({ connectionString: url, options: '-c search_path=reserve' });
  await client.connect();
  onTestFinished(() => client.end());
  const folded = reserve.fold(
    {},
    runs.map((event, at) => ({ event, partition: 0, offset: BigInt(at), timestamp: 0 })),
    newCopyRows,
  );
  assert('changes' in folded, 'the fold broke');
  await writeChanges(client, folded.changes);
  return readerUrl;
}

function idsOf(text: string): readonly string[] {
  const { items }: { readonly items: readonly { readonly run_id: string }[] } = JSON.parse(text);
  return items.map(({ run_id: id }) => id);
}

test('every reconciliation is listed, newest first, with exact amounts', async () => {
  const url = await indexed(Array.from({ length: 5 }, (_, at) => run(at)));
  explorer = await openExplorer({
    postgres_reader_url: url,
    treasury_public_reconciliation_url: TREASURY,
  });
  const { status, text, headers } = await explorer.get('/api/v1/reserve/runs?limit=2&offset=1');
  expect([status, idsOf(text)]).toEqual([200, ['3:run', '2:run']]);
  expect(text).toContain(
    '{"run_id":"3:run","run_at":"2026-09-21T14:16:20.000Z","ledger_offset":30,"block_height":3,' +
      `"block_hash":"0x${'03'.repeat(32)}","onchain_supply":1152921504606846979,"genesis_allocation":1152921504606846976,"treasury_minted":3,` +
      '"burned":0,"ledger_liability":0,"custody_reported":9007199254740993,"held":1,"retained_fees":2,"status":"ok"}',
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
  const { reader_url: url } = await freshDatabase(inject('stack'));
  explorer = await openExplorer({ postgres_reader_url: url });
  expect(await explorer.get('/api/v1/reserve/runs')).toMatchObject({
    status: 200,
    text: '{"items":[],"paging":{"limit":20,"offset":0,"total":0,"has_more":false}}',
  });
});

test('missing tables of runs are a storage fault, not an empty list', async () => {
  const { reader_url: url } = await freshDatabase(inject('stack'));
  explorer = await openExplorer({
    postgres_reader_url: url,
    treasury_public_reconciliation_url: TREASURY,
  });
  const { status, text } = await explorer.get('/api/v1/reserve/runs');
  expect([status, JSON.parse(text)]).toEqual([
    503,
    expect.objectContaining({ code: 'storage_error' }),
  ]);
});

test('malformed paging is refused', async () => {
  const { reader_url: url } = await freshDatabase(inject('stack'));
  explorer = await openExplorer({ postgres_reader_url: url });
  for (const query of ['limit=0', 'limit=101', 'offset=-1', 'cursor=zz', 'limit=1&limit=2']) {
    expect((await explorer.get(`/api/v1/reserve/runs?${query}`)).status).toBe(400);
  }
});
