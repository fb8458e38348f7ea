/** The specification of the explorer by endpoint, with versions, errors and envelopes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import { EXPLORER_ERRORS } from '../../../../services/explorer-gateway/errors.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import {
  plainAccount,
  plainActivity,
  plainBlock,
  plainBlocks,
  plainTransaction,
  plainTransactions,
  plainValidators,
} from '../../../projections/explorer/plain-answers.ts';
import { mostFrequent } from '../../../projections/explorer/seeded-rows.ts';
import type { ExplorerServer } from '../../../services/explorer-gateway/explorer-server.ts';
import { asked, CHAIN, openSpecified, TRANSACTIONS } from './specified.ts';

const hot = mostFrequent(CHAIN);
const block = CHAIN.findLast(({ transactions }) => transactions.length > 2) ?? CHAIN[0];
const transaction = TRANSACTIONS.at(-7);
if (block === undefined || transaction === undefined) throw new Error('the chain has none');
const account = `/api/v1/accounts/${toHex(hot)}`;

let explorer: ExplorerServer;
beforeAll(async () => {
  explorer = await openSpecified();
});
afterAll(() => explorer.close());

async function text(path: string): Promise<string> {
  const answer = await explorer.get(path);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([
    200,
    'application/json; charset=utf-8',
  ]);
  return answer.text;
}

describe('GET', () => {
  test('/health: {status: ok}', async () => expect(await text('/health')).toBe('{"status":"ok"}'));

  test('/ready: {status: ready}', async () =>
    expect(await text('/ready')).toBe('{"status":"ready"}'));

  test('/api/v1/blocks with limit and offset: the paging envelope of blocks', async () => {
    expect(await text('/api/v1/blocks')).toBe(plainBlocks(CHAIN));
    expect(await text('/api/v1/blocks?limit=7&offset=11')).toBe(plainBlocks(CHAIN, 7, 11n));
  });

  test('/api/v1/blocks/:id by a block index or a hash: the block detail, directly', async () => {
    for (const id of [block.height, toHex(block.hash)])
      expect(await text(`/api/v1/blocks/${id}`)).toBe(plainBlock(block));
  });

  test('/api/v1/transactions with limit, offset, address, block, type and status: the paging envelope of transactions', async () => {
    expect(await text('/api/v1/transactions')).toBe(plainTransactions(CHAIN, {}));
    const [one] = block.transactions;
    const filter = { address: one?.to ?? hot, block: block.height, type: one?.type ?? '' };
    const query = new URLSearchParams({
      address: toHex(filter.address),
      block: String(filter.block),
      type: filter.type,
      status: 'confirmed',
    });
    expect(await text(`/api/v1/transactions?limit=2&offset=0&${query.toString()}`)).toBe(
      plainTransactions(CHAIN, filter, 2),
    );
  });

  test('/api/v1/transactions/:hash: the transaction detail, directly', async () => {
    expect(await text(`/api/v1/transactions/${toHex(transaction.hash)}`)).toBe(
      plainTransaction(transaction),
    );
  });

  test('/api/v1/accounts/:address: the account, directly', async () =>
    expect(await text(account)).toBe(plainAccount(CHAIN, hot)));

  test('/api/v1/accounts/:address/activity with limit and offset: the paging envelope of activity items', async () => {
    expect(await text(`${account}/activity`)).toBe(plainActivity(CHAIN, hot, activityLabel));
    expect(await text(`${account}/activity?limit=7&offset=11`)).toBe(
      plainActivity(CHAIN, hot, activityLabel, 7, 11n),
    );
  });

  test('/api/v1/validators with limit and offset: the paging envelope of validators', async () => {
    expect(await text('/api/v1/validators')).toBe(plainValidators(CHAIN));
    expect(await text('/api/v1/validators?limit=2&offset=1')).toBe(plainValidators(CHAIN, 2, 1n));
  });

  test('/api/v1/search with q, which is required: items and nothing else', async () => {
    expect(Object.keys(await asked(explorer, '/api/v1/search?q=5'))).toEqual(['items']);
    expect((await explorer.get('/api/v1/search')).status).toBe(400);
  });

  test('/api/v1/stats: the stats, directly', async () => {
    expect(Object.keys(await asked(explorer, '/api/v1/stats'))).toEqual([
      'latest_height',
      'tx_per_second',
      'total_transactions',
      'active_validators',
      'avg_block_time_seconds',
    ]);
  });

  test('/api/v1/reserve: the reserve, directly', async () => {
    expect(Object.keys(await asked(explorer, '/api/v1/reserve'))).toEqual([
      'configured',
      'available',
      'cache_age_seconds',
      'last_run',
    ]);
  });
});

test.each(['blocks', 'transactions', `accounts/${toHex(hot)}/activity`, 'validators'])(
  'the envelope is that of a list, items and paging {limit, offset, total, has_more}: %s',
  async (list) => {
    const { items, paging, ...rest } = await asked(explorer, `/api/v1/${list}?limit=3&offset=1`);
    expect(rest).toEqual({});
    expect(items).toHaveLength(3);
    expect(paging).toEqual({ limit: 3n, offset: 1n, total: 4n, has_more: true });
  },
);

test.each([
  `blocks/${block.height}`,
  `transactions/${toHex(transaction.hash)}`,
  `accounts/${toHex(hot)}`,
  'stats',
  'reserve',
  'search?q=5',
])('no envelope has %s', async (path) =>
  expect(await asked(explorer, `/api/v1/${path}`)).not.toHaveProperty('paging'),
);

describe('errors', () => {
  test.each([
    ['not_found', 404, `/api/v1/blocks/${CHAIN.length}`],
    ['not_found', 404, `/api/v1/blocks/${'0'.repeat(64)}`],
    ['not_found', 404, `/api/v1/transactions/${'0'.repeat(64)}`],
    ['not_found', 404, `/api/v1/accounts/${'0'.repeat(40)}`],
    ['not_found', 404, '/api/v2/blocks'],
    ['not_found', 404, '/blocks'],
    ['invalid_request', 400, '/api/v1/blocks?limit=0'],
    ['invalid_request', 400, '/api/v1/blocks/latest'],
    ['invalid_request', 400, '/api/v1/accounts/0x5'],
    ['invalid_request', 400, '/api/v1/search'],
  ] as const)('%s: %i from %s, as {code, message}', async (code, status, path) => {
    const answer = await explorer.get(path);
    const body: object = JSON.parse(answer.text);
    expect({ status: answer.status, body }).toEqual({
      status,
      body: { code, message: expect.stringMatching(/\w/) },
    });
  });

  test('storage_error: 503 when the index cannot be read, as {code, message}', async () => {
    const without = await openSpecified([], {
      postgres_reader_url: 'postgres://clt_reader:clt_reader@127.0.0.1:1/clt',
    });
    for (const path of [
      '/api/v1/blocks',
      account,
      `${account}/activity`,
      '/api/v1/validators',
      '/api/v1/stats',
      '/ready',
    ]) {
      const { status, text: body } = await without.get(path);
      expect({ path, status, body: JSON.parse(body) }).toEqual({
        path,
        status: 503,
        body: { code: 'storage_error', message: expect.any(String) },
      });
    }
    await without.close();
  });

  test('upstream_error: 502 when a server behind this one does not answer, as {code, message}', () => {
    for (const code of ['chain_node', 'kafka', 'redis']) {
      const failure = EXPLORER_ERRORS.fault(
        new Fault(code, 'connect ECONNREFUSED 10.0.0.7:17545', { retry: true }),
      );
      expect(failure.status).toBe(502);
      expect(JSON.parse(EXPLORER_ERRORS.body(failure))).toEqual({
        code: 'upstream_error',
        message: expect.not.stringContaining('10.0.0.7'),
      });
    }
  });
});
