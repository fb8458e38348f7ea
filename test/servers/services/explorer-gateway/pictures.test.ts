/** Pictures of previews from the index: which are there, and for how long caches keep them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import {
  openIndexed,
  type IndexedExplorer,
} from '../../../services/explorer-gateway/explorer-server.ts';

const FINAL_HEIGHT = 10;
const blocks = seededBlocks({ seed: 8, blocks: 20, transactions_max: 9 });
const transactions = blocks.flatMap(({ height, transactions: all }) =>
  all.map(({ hash }) => ({ height, hash: toHex(hash) })),
);

let folder: string;
let explorer: IndexedExplorer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'clt-pictures-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<head><title>CLT console</title></head>');
  explorer = await openIndexed(blocks, {
    console: pathToFileURL(`${folder}/`),
    console_url: 'https://clt.example',
  });
  const writer = new Client({ connectionString: explorer.urls.writer_url });
  await writer.connect();
  await writer.query(`UPDATE explorer.head SET finalized_height = ${FINAL_HEIGHT}`);
  await writer.end();
});
afterAll(async () => {
  await explorer.close();
  rmSync(folder, { recursive: true });
});

async function headersOf(path: string): Promise<readonly (string | number | null)[]> {
  const { status, headers } = await fetch(explorer.url + path);
  return [status, headers.get('content-type'), headers.get('cache-control')];
}

test('a picture may be kept for a day once its block is final, else for a minute', async () => {
  for (const { height, hash } of transactions.filter((_, at) => at % 10 === 0)) {
    const control = `public, max-age=${height <= FINAL_HEIGHT ? 86_400 : 60}`;
    for (const path of [`/blocks/${height}`, `/transactions/${hash}`]) {
      expect([path, ...(await headersOf(`/preview${path}`))]).toEqual([
        path,
        200,
        'image/png',
        control,
      ]);
      const page = await (await fetch(explorer.url + path)).text();
      expect(page).toContain(`"og:image" content="https://clt.example/preview${path}"`);
    }
  }
});

test('a thing that nobody knows has no picture, and its page the plain one', async () => {
  for (const path of [
    '/blocks/999',
    `/blocks/${2n ** 64n}`,
    `/transactions/0x${'00'.repeat(32)}`,
  ]) {
    expect(await headersOf(`/preview${path}`)).toEqual([
      404,
      'application/json; charset=utf-8',
      'no-store',
    ]);
    const page = await (await fetch(explorer.url + path)).text();
    expect(page).toContain('"og:image" content="https://clt.example/preview"');
  }
});
