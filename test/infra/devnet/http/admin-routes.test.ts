import { expect, test } from 'vitest';
import { deriveKey } from '../../../../infra/devnet/clt/keys.ts';
import { parseAccount, parseBlock, parseChain } from '../../../../schemas/chain-node.ts';
import type { TestDevnet } from '../../../support/devnet.ts';
import { withDevnet } from '../../../support/devnet.ts';

const SOMEBODY = `0x${'77'.repeat(20)}`;

async function height(devnet: TestDevnet): Promise<number> {
  const parsed = parseChain((await devnet.get('/v1/chain')).body);
  return 'value' in parsed ? parsed.value.head.height : -1;
}

test('POST /admin/clt/fund transfers from the faucet', () =>
  withDevnet(async (devnet) => {
    const amount = String((1n << 53n) + 1n);
    expect(await devnet.admin('/admin/clt/fund', { to: SOMEBODY, amount })).toEqual({
      status: 200,
      body: { transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
    });
    await devnet.block();
    expect(parseAccount((await devnet.get(`/v1/accounts/${SOMEBODY}`)).body)).toMatchObject({
      value: { balance: (1n << 53n) + 1n },
    });
    expect(
      await devnet.admin('/admin/clt/fund', { to: SOMEBODY, amount: String(1n << 60n) }),
    ).toMatchObject({
      status: 409,
      body: { code: 'insufficient_balance' },
    });
  }));

test('POST /admin/clt/mint mints with the key of the mint authority', () =>
  withDevnet(async (devnet) => {
    const minted = await devnet.admin('/admin/clt/mint', { to: SOMEBODY, amount: '5' });
    expect(minted.status).toBe(200);
    await devnet.block();
    expect(parseAccount((await devnet.get(`/v1/accounts/${SOMEBODY}`)).body)).toMatchObject({
      value: { balance: 5n },
    });
    const block = parseBlock((await devnet.get('/v1/blocks/1')).body);
    expect(block).toMatchObject({
      value: { transactions: [{ function_call_type: 'Mint', amount: 5n }] },
    });
  }));

test('a rotation gives the right to mint to another key from the next block on, and to no other', () =>
  withDevnet(async (devnet) => {
    const { mint_authority: mintAuthority } = devnet.devnet.genesis.cast;
    const key = deriveKey('test', 'new authority');
    const args = { to: SOMEBODY, amount: 5n, reference: null };
    const mint = { function_call_type: 'Mint', arguments: args } as const;
    expect((await devnet.send(mintAuthority, mint)).status).toBe(200);
    expect(await devnet.admin('/admin/clt/authority', { address: key.address })).toEqual({
      status: 200,
      body: { mint_authority: key.address, from_height: 1 },
    });
    expect(parseChain((await devnet.get('/v1/chain')).body)).toMatchObject({
      value: { mint_authority: Buffer.from(key.address.slice(2), 'hex') },
    });
    // the first block funds it: a Mint costs a fee
    await devnet.block();
    expect(await devnet.send(mintAuthority, mint)).toMatchObject({ body: { code: 'not_allowed' } });
    expect(await devnet.admin('/admin/clt/mint', { to: SOMEBODY, amount: '5' })).toMatchObject({
      status: 409,
      body: { code: 'not_allowed' },
    });
    expect((await devnet.send(key, mint)).status).toBe(200);
    await devnet.block();
    expect(parseAccount((await devnet.get(`/v1/accounts/${SOMEBODY}`)).body)).toMatchObject({
      value: { balance: 5n },
    });
  }));

test('blocks can be made without the fees that were paid: their effects then create CLT', () =>
  withDevnet(async (devnet) => {
    const created = async (): Promise<bigint> => {
      await devnet.admin('/admin/clt/block', { transactions: 2 });
      const block = parseBlock((await devnet.get(`/v1/blocks/${await height(devnet)}`)).body);
      if ('problem' in block) throw new Error(block.problem);
      return block.value.balance_effects.reduce((sum, { delta }) => sum + delta, 0n);
    };
    expect(await created()).toBe(0n);
    expect(await devnet.admin('/admin/clt/fees', { recorded: false })).toEqual({
      status: 200,
      body: { recorded: false },
    });
    expect(await created()).toBe(2_000n);
    await devnet.admin('/admin/clt/fees', { recorded: true });
    expect(await created()).toBe(0n);
  }));

test('a reorganisation replaces unfinalized blocks by one more and lists both', () =>
  withDevnet(async (devnet) => {
    for (let made = 0; made < 10; made++) await devnet.block();
    const { status, body } = await devnet.admin('/admin/clt/reorg', { depth: 3 });
    expect(status).toBe(200);
    const {
      removed,
      added,
    }: { removed: { height: number; hash: string }[]; added: { height: number; hash: string }[] } =
      Object(body);
    expect(removed.map((block) => block.height)).toEqual([8, 9, 10]);
    expect(added.map((block) => block.height)).toEqual([8, 9, 10, 11]);
    for (const block of added) {
      const served = parseBlock((await devnet.get(`/v1/blocks/${block.height}`)).body);
      expect('value' in served && `0x${served.value.hash.toString('hex')}`).toBe(block.hash);
      expect(removed.map(({ hash }) => hash)).not.toContain(block.hash);
    }
  }));

test('a reorganisation of final blocks is refused', () =>
  withDevnet(async (devnet) => {
    expect(await devnet.admin('/admin/clt/reorg', { depth: 1 })).toMatchObject({
      status: 409,
      body: { code: 'would_revert_final_blocks' },
    });
    for (let made = 0; made < 10; made++) await devnet.block();
    expect(await devnet.admin('/admin/clt/reorg', { depth: 7 })).toMatchObject({
      status: 409,
      body: { code: 'would_revert_final_blocks' },
    });
    expect(await height(devnet)).toBe(10);
    expect((await devnet.admin('/admin/clt/reorg', { depth: 6 })).status).toBe(200);
  }));

test('a block is made with the requested number of transactions', () =>
  withDevnet(async (devnet) => {
    expect(await devnet.admin('/admin/clt/block', { transactions: 60 })).toMatchObject({
      status: 200,
      body: { height: 1, transactions: 60 },
    });
    const both = await Promise.all([
      devnet.admin('/admin/clt/block', { transactions: 30 }),
      devnet.admin('/admin/clt/block', { transactions: 40 }),
    ]);
    expect(both.map(({ body }) => Object(body)['transactions'])).toEqual([30, 40]);
    const served = parseBlock((await devnet.get('/v1/blocks/1')).body);
    expect('value' in served && served.value.transactions.length).toBe(60);
  }));

test('blocks are made automatically while enabled', () =>
  withDevnet(
    async (devnet) => {
      await expect.poll(() => height(devnet)).toBeGreaterThan(2);
      expect(await devnet.admin('/admin/clt/auto', { enabled: false })).toEqual({
        status: 200,
        body: { enabled: false },
      });
      const stopped = await height(devnet);
      expect(await devnet.get(`/v1/blocks/${stopped + 1}?wait_ms=200`)).toMatchObject({
        status: 404,
      });
      await devnet.admin('/admin/clt/auto', { enabled: true });
      expect(await devnet.get(`/v1/blocks/${stopped + 1}?wait_ms=20000`)).toMatchObject({
        status: 200,
      });
    },
    { APP_BLOCK_INTERVAL_MS: '20' },
  ));

test.each([
  ['/admin/clt/fund', {}],
  ['/admin/clt/fund', { to: 'me', amount: '5' }],
  ['/admin/clt/fund', { to: SOMEBODY, amount: 5 }],
  ['/admin/clt/fund', { to: SOMEBODY, amount: '0' }],
  ['/admin/clt/fund', { to: SOMEBODY, amount: '-5' }],
  ['/admin/clt/fund', [SOMEBODY, '5']],
  ['/admin/clt/fund', 'nonsense'],
  ['/admin/clt/mint', { to: SOMEBODY, amount: '0' }],
  ['/admin/clt/authority', { address: 'me' }],
  ['/admin/clt/fees', { recorded: 'no' }],
  ['/admin/clt/reorg', {}],
  ['/admin/clt/reorg', { depth: 0 }],
  ['/admin/clt/reorg', { depth: 1.5 }],
  ['/admin/clt/reorg', { depth: '1' }],
  ['/admin/clt/block', { transactions: 20_001 }],
  ['/admin/clt/block', { transactions: -1 }],
  ['/admin/clt/auto', { enabled: 'yes' }],
  ['/admin/traffic', { transactions_per_second: -1 }],
  ['/admin/traffic', { transactions_per_second: 501 }],
  ['/admin/traffic', {}],
  ['/admin/faults', {}],
  ['/admin/faults', { target: 'moon', mode: 'reset' }],
  ['/admin/faults', { target: 'node', mode: 'explode' }],
  ['/admin/faults', { target: 'node', mode: 'constructor' }],
  ['/admin/faults', { target: 'node', mode: 'reset', times: 0 }],
  ['/admin/faults', { target: 'node', mode: 'delay', delay_ms: -1 }],
])('POST %s with %j is refused with 400 and changes nothing', (route, body) =>
  withDevnet(async (devnet) => {
    expect(await devnet.admin(route, body)).toEqual({
      status: 400,
      body: { code: 'invalid_request', message: expect.any(String) },
    });
    expect(await height(devnet)).toBe(0);
    expect(await devnet.admin('/admin/faults', undefined, 'GET')).toEqual({
      status: 200,
      body: { faults: [] },
    });
  }),
);

test('unknown routes are 404; /health, /ready, /status and /metrics answer', () =>
  withDevnet(async (devnet) => {
    expect(await devnet.admin('/admin/clt/burn', {})).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
    expect(await devnet.admin('/health', undefined, 'GET')).toEqual({
      status: 200,
      body: { status: 'ok' },
    });
    expect((await devnet.admin('/ready', undefined, 'GET')).status).toBe(200);
    expect(await devnet.admin('/status', undefined, 'GET')).toEqual({
      status: 200,
      body: { status: 'ready', phase: 'serving', waits_for: null, eta_s: null, message: null },
    });
    await devnet.admin('/admin/clt/fund', { to: SOMEBODY, amount: '1' });
    await devnet.block();
    const figures = await (await fetch(`${devnet.admin_url}/metrics`)).text();
    expect(figures).toContain('devnet_head_height 1');
    expect(figures).toContain('devnet_transactions_total{function_call_type="Transfer"} 1');
  }));
