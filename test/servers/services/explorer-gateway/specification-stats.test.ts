/** The specification of the explorer: how the stats are computed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { plainStats } from '../../../projections/explorer/plain-answers.ts';
import { producedBy, seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import type { ExplorerServer } from '../../../services/explorer-gateway/explorer-server.ts';
import { asked, CHAIN, IS, openSpecified, TRANSACTIONS } from './specified.ts';

let explorer: ExplorerServer;
beforeAll(async () => {
  explorer = await openSpecified();
});
afterAll(() => explorer.close());

const newest = CHAIN.slice(-100);
const seconds = ((newest.at(-1)?.timestamp ?? 0) - (newest[0]?.timestamp ?? 0)) / 1_000;

test.each([
  ['latest_height', 'integer'],
  ['tx_per_second', 'number'],
  ['total_transactions', 'integer'],
  ['active_validators', 'integer'],
  ['avg_block_time_seconds', 'number'],
] as const)('%s: %s', async (field, type) => {
  const stats = await asked(explorer, '/api/v1/stats');
  expect({ type, fits: IS[type](stats[field]) }).toEqual({ type, fits: true });
  expect(Number(stats[field])).toBe(plainStats(CHAIN)[field]);
});

test('avg_block_time_seconds is the time between the first and last of the newest 100 blocks divided by the number of gaps', async () => {
  expect(await asked(explorer, '/api/v1/stats')).toMatchObject({
    avg_block_time_seconds: seconds / 99,
  });
});

test('tx_per_second is the number of transactions in the newest 100 blocks divided by that time', async () => {
  const carried = newest.flatMap(({ transactions }) => transactions).length;
  expect(carried).toBeLessThan(TRANSACTIONS.length);
  expect(await asked(explorer, '/api/v1/stats')).toMatchObject({
    tx_per_second: carried / seconds,
  });
});

test('active_validators is how many produced one of the newest 100 blocks', async () => {
  const before = seededBlocks({ seed: 63, blocks: 130, transactions_max: 1, producers: 9 });
  // one of them stopped before the newest 100 blocks
  const gone = before[0]?.producer ?? Buffer.alloc(20);
  const heir = before.find(({ producer }) => !producer.equals(gone))?.producer ?? gone;
  const stopped = producedBy(heir, before, ({ producer }, at) => at >= 30 && producer.equals(gone));
  const other = await openSpecified(stopped);
  const active = new Set(stopped.slice(-100).map(({ producer }) => producer.toString('hex'))).size;
  expect(active).toBeLessThan(
    new Set(stopped.map(({ producer }) => producer.toString('hex'))).size,
  );
  expect(await asked(other, '/api/v1/stats')).toMatchObject({ active_validators: BigInt(active) });
  await other.close();
});

test.each([0, 1, 2])('both are 0.0 until two blocks are indexed: with %i', async (count) => {
  const few = seededBlocks({ seed: 5, blocks: count, transactions_max: 3 });
  const small = await openSpecified(few);
  const { text } = await small.get('/api/v1/stats');
  expect(JSON.parse(text)).toEqual(plainStats(few));
  expect(/"tx_per_second":0\.0,.*"avg_block_time_seconds":0\.0/.test(text)).toBe(count < 2);
  await small.close();
});
