/** Pages of a list of transfers, by a provider that answers as TronGrid does. */
import { expect, test } from 'vitest';
import { nextPage, TronGrid } from '../../../../services/runtime/trongrid/trongrid.ts';
import { Backoff } from '../../../../services/runtime/trongrid/backoff.ts';
import { TokenBucket } from '../../../../services/runtime/trongrid/token-bucket.ts';
import { openLocalServer } from '../../../packages/wallet/local-server.ts';
import { USDT_CONTRACT } from '../../../support/deposit-log.ts';
import { never } from '../../../support/kafka.ts';
import { recordedList } from '../../../support/trongrid/recorded.ts';

const now = (): number => performance.now();

test('a page that is not full is followed by its fingerprint, at the address of the settings', async () => {
  const asked: string[] = [];
  await using server = await openLocalServer(({ path }) => {
    asked.push(path);
    const isFirst = asked.length === 1;
    const next = { links: { next: 'http://127.0.0.1:9/elsewhere' }, fingerprint: 'f1' };
    const meta = isFirst ? next : {};
    return { body: JSON.stringify({ ...Object(recordedList()), meta }) };
  });
  const provider = new TronGrid({
    tron_url: server.url,
    tron_api_key: '',
    usdt_contract: USDT_CONTRACT,
    bucket: new TokenBucket({ requests_per_second: 9, requests_per_day: 0, now, signal: never }),
    backoff: new Backoff({ backoff_ms_min: 1, backoff_ms_max: 1, now, random: Math.random }),
    attempts_max: 1,
    signal: never,
    onRequest: () => undefined,
    timeout: () => never,
  });
  const first = { address: Buffer.alloc(20, 1), min_timestamp: 0, after: undefined };
  const page = await provider.list(first);
  const second = nextPage(first, page);
  if (second === undefined) throw new Error('the first page was taken for the last');
  expect(nextPage(second, await provider.list(second))).toBeUndefined();
  expect(asked.map((path) => new URL(path, server.url).searchParams.get('fingerprint'))).toEqual([
    null,
    'f1',
  ]);
});
