import http from 'node:http';
import { expect, test } from 'vitest';
import type { NodeBlock } from '../../../../schemas/chain-node.ts';
import {
  parseAccount,
  parseBlock,
  parseBlocks,
  parseChain,
} from '../../../../schemas/chain-node.ts';
import type { FunctionCall } from '../../../../schemas/function-call.ts';
import { deriveKey } from '../../../../infra/devnet/clt/keys.ts';
import type { BlockJson } from '../../../../infra/devnet/clt/block.ts';
import { balancesOf, foldEffects } from '../../../support/clt-world.ts';
import type { Answer, TestDevnet } from '../../../support/devnet.ts';
import { signCallText, withDevnet } from '../../../support/devnet.ts';

const SOMEBODY = `0x${'77'.repeat(20)}`;
const transfer = (amount: bigint, to = SOMEBODY): FunctionCall => ({
  function_call_type: 'Transfer',
  arguments: { to, amount },
});

/** The parsed response; throws on a problem. */
function value<T>(parsed: { readonly value: T } | { readonly problem: string }): T {
  if ('problem' in parsed) throw new Error(parsed.problem);
  return parsed.value;
}

async function blocks(devnet: TestDevnet, query: string): Promise<readonly NodeBlock[]> {
  return value(parseBlocks((await devnet.get(`/v1/blocks${query}`)).body));
}

test('GET /v1/chain returns parameters, supply and head', () =>
  withDevnet(async (devnet) => {
    for (let made = 0; made < 8; made++) await devnet.block();
    const chain = value(parseChain((await devnet.get('/v1/chain')).body));
    expect(chain).toMatchObject({
      chain_id: 7777,
      is_testnet: true,
      tx_fee: 1_000n,
      head: { height: 8 },
      finalized_height: 2,
    });
    expect(chain.total_supply).toBe(chain.genesis_allocation);
    expect(chain.genesis_allocation).toBeGreaterThan(1n << 53n);
    expect(chain.mint_authority.toString('hex')).toBe(
      deriveKey('test', 'mint-authority').address.slice(2),
    );
  }));

test('GET /v1/blocks returns ascending blocks up to the limit and the head', () =>
  withDevnet(async (devnet) => {
    for (let made = 0; made < 8; made++) await devnet.block();
    const heights = async (query: string): Promise<readonly number[]> =>
      (await blocks(devnet, query)).map(({ height }) => height);
    expect(await heights('?from=0&limit=500')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(await heights('?from=3&limit=2')).toEqual([3, 4]);
    expect(await heights('?from=8')).toEqual([8]);
    expect(await heights('?from=9&limit=5')).toEqual([]);
    const one = await devnet.get('/v1/blocks/3');
    expect(value(parseBlock(one.body))).toEqual((await blocks(devnet, '?from=3&limit=1'))[0]);
  }));

test.each([
  '/v1/blocks',
  '/v1/blocks?from=-1',
  '/v1/blocks?from=1.5',
  '/v1/blocks?from=0x1',
  '/v1/blocks?from=1&from=2',
  '/v1/blocks?from=9007199254740993',
  '/v1/blocks?from=0&limit=0',
  '/v1/blocks?from=0&limit=501',
  '/v1/blocks/abc',
  '/v1/blocks/-1',
  '/v1/blocks/01',
  '/v1/blocks/1?wait_ms=30001',
  '/v1/blocks/1?wait_ms=soon',
  '/v1/accounts/xyz',
  `/v1/accounts/${SOMEBODY}00`,
  '/v1/accounts/%ff',
])('GET %s is refused with 400', (route) =>
  withDevnet(async (devnet) => {
    expect(await devnet.get(route)).toEqual({
      status: 400,
      body: { code: 'invalid_request', message: expect.any(String) },
    });
  }),
);

test('a missing height is 404, at once or after wait_ms', () =>
  withDevnet(async (devnet) => {
    for (const route of [
      '/v1/blocks/1',
      '/v1/blocks/1?wait_ms=30',
      '/v1/blocks/9007199254740991',
    ]) {
      expect(await devnet.get(route)).toEqual({
        status: 404,
        body: { code: 'not_found', message: expect.any(String) },
      });
    }
    expect((await devnet.get('/v1/nothing')).status).toBe(404);
  }));

test('every long poll is answered with the block that it waits for', () =>
  withDevnet(async (devnet) => {
    const waiting = [1, 1, 2].map((height) => devnet.get(`/v1/blocks/${height}?wait_ms=30000`));
    await expect.poll(() => devnet.devnet.node.waiting).toBe(3);
    await devnet.block();
    await expect.poll(() => devnet.devnet.node.waiting).toBe(1);
    await devnet.block();
    const heights = (await Promise.all(waiting)).map(({ body }) => value(parseBlock(body)).height);
    expect(heights).toEqual([1, 1, 2]);
  }));

test('a long poll ends when its client disconnects', () =>
  withDevnet(async (devnet) => {
    const request = http.get(`${devnet.node_url}/v1/blocks/1?wait_ms=30000`);
    const ended = new Promise((resolve) => request.once('error', resolve));
    await expect.poll(() => devnet.devnet.node.waiting).toBe(1);
    request.destroy();
    await expect.poll(() => devnet.devnet.node.waiting).toBe(0);
    await ended;
  }));

test('closing the devnet answers long polls', () => {
  let waiting: Promise<unknown> = Promise.resolve();
  return withDevnet(async (devnet) => {
    waiting = devnet.get('/v1/blocks/1?wait_ms=30000');
    await expect.poll(() => devnet.devnet.node.waiting).toBe(1);
  }).then(async () => expect(await waiting).toMatchObject({ status: 404 }));
});

test('a transaction raises the pending nonce at once and moves balances with the next block', () =>
  withDevnet(async (devnet) => {
    const { faucet } = devnet.devnet.genesis.cast;
    const account = async (address: string): Promise<unknown> =>
      value(parseAccount((await devnet.get(`/v1/accounts/${address}`)).body));
    expect(await account(SOMEBODY)).toMatchObject({ balance: 0n, nonce: 0, pending_nonce: 0 });
    const sent = await devnet.send(faucet, transfer(5n));
    expect(sent).toEqual({
      status: 200,
      body: { transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
    });
    expect(await account(faucet.address)).toMatchObject({ nonce: 0, pending_nonce: 1 });
    expect(await account(SOMEBODY)).toMatchObject({ balance: 0n });
    await devnet.block();
    expect(await account(faucet.address.toUpperCase().replace('0X', '0x'))).toMatchObject({
      nonce: 1,
      pending_nonce: 1,
    });
    expect(await account(SOMEBODY)).toMatchObject({ balance: 5n });
  }));

async function codeOf(answer: Promise<Answer>): Promise<unknown> {
  const { status, body } = await answer;
  return [status, Object(body)['code']];
}

test('an invalid transaction is refused with a code', () =>
  withDevnet(async (devnet) => {
    const { faucet, passengers, mint_authority } = devnet.devnet.genesis.cast;
    const mint: FunctionCall = {
      function_call_type: 'Mint',
      arguments: { to: SOMEBODY, amount: 5n, reference: null },
    };
    const first = { raw_transaction: signCallText(faucet, 7777, 0, transfer(1n)) };
    expect(await codeOf(devnet.post(first))).toEqual([200, undefined]);
    expect(await codeOf(devnet.post(first))).toEqual([409, 'already_known']);
    expect(await codeOf(devnet.send(faucet, transfer(2n), 0))).toEqual([409, 'nonce_too_low']);
    expect(await codeOf(devnet.send(faucet, transfer(2n), 2))).toEqual([409, 'nonce_gap']);
    expect(await codeOf(devnet.send(deriveKey('other', 'poor'), transfer(2n)))).toEqual([
      409,
      'insufficient_balance',
    ]);
    expect(
      await codeOf(devnet.post({ raw_transaction: signCallText(faucet, 1, 1, transfer(1n)) })),
    ).toEqual([400, 'wrong_chain']);
    expect(await codeOf(devnet.send(faucet, mint))).toEqual([403, 'not_allowed']);
    expect(await codeOf(devnet.send(mint_authority, mint))).toEqual([200, undefined]);
    expect(await codeOf(devnet.send(faucet, transfer(0n)))).toEqual([400, 'amount_is_zero']);
    const noTrip: FunctionCall = {
      function_call_type: 'RideCancel',
      arguments: { acceptance_hash: `0x${'00'.repeat(32)}` },
    };
    expect(await codeOf(devnet.send(passengers[0] ?? faucet, noTrip))).toEqual([
      409,
      'trip_not_active',
    ]);
    await devnet.block();
    expect(await codeOf(devnet.post(first))).toEqual([409, 'nonce_too_low']);
  }));

test.each([
  ['no JSON', 'nonsense', 400, 'invalid_request'],
  ['another JSON', '[1]', 400, 'invalid_request'],
  ['no field', '{}', 400, 'invalid_request'],
  ['a number', '{"raw_transaction": 5}', 400, 'invalid_request'],
  [
    'a field of the prototype',
    '{"__proto__": {"raw_transaction": "0x00"}}',
    400,
    'invalid_request',
  ],
  ['no hex', '{"raw_transaction": "hello"}', 400, 'invalid_transaction'],
  ['odd hex', '{"raw_transaction": "0xabc"}', 400, 'invalid_transaction'],
  ['no transaction', '{"raw_transaction": "0xc0"}', 400, 'invalid_transaction'],
  ['too much', JSON.stringify({ raw_transaction: 'a'.repeat(280_000) }), 413, 'too_large'],
  ['far too much', JSON.stringify({ raw_transaction: 'a'.repeat(2 ** 20) }), 413, 'too_large'],
])('a submission of %s is refused', (_what, body, status, code) =>
  withDevnet(async (devnet) => {
    expect(await devnet.post(body)).toEqual({
      status,
      body: { code, message: expect.any(String) },
    });
    expect(devnet.devnet.node.chain.mempool.size).toBe(0);
  }),
);

test('with traffic the balance effects of all blocks add up to the balances of all accounts', () =>
  withDevnet(async (devnet) => {
    await devnet.admin('/admin/traffic', { transactions_per_second: 200 });
    await expect.poll(() => devnet.devnet.node.chain.mempool.size).toBeGreaterThan(40);
    await devnet.block();
    await devnet.admin('/admin/clt/reorg', { depth: 1 });
    await expect.poll(() => devnet.devnet.node.chain.mempool.size).toBeGreaterThan(40);
    await devnet.admin('/admin/traffic', { transactions_per_second: 0 });
    await devnet.block();
    const served: { readonly blocks: readonly BlockJson[] } = Object(
      (await devnet.get('/v1/blocks?from=0&limit=500')).body,
    );
    const folded = foldEffects(served.blocks);
    expect(served.blocks.flatMap(({ transactions }) => transactions).length).toBeGreaterThan(60);
    expect(folded).toEqual(balancesOf(devnet.devnet.node.chain.state.rows));
    for (const [address, balance] of [...folded].slice(0, 10)) {
      expect(value(parseAccount((await devnet.get(`/v1/accounts/${address}`)).body)).balance).toBe(
        balance,
      );
    }
  }));
