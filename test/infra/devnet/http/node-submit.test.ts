import { expect, test } from 'vitest';
import type { FunctionCall } from '../../../../schemas/function-call.ts';
import type { TestDevnet } from '../../../support/devnet.ts';
import { withDevnet } from '../../../support/devnet.ts';

const SOMEBODY = `0x${'77'.repeat(20)}`;
const TRANSFER: FunctionCall = {
  function_call_type: 'Transfer',
  arguments: { to: SOMEBODY, amount: 5n },
};
const MINT: FunctionCall = {
  function_call_type: 'Mint',
  arguments: { to: SOMEBODY, amount: 5n, reference: null },
};

async function fault(devnet: TestDevnet, mode: string, more: object = {}): Promise<void> {
  expect(await devnet.admin('/admin/faults', { target: 'node', mode, ...more })).toMatchObject({
    status: 200,
    body: { mode },
  });
}

const waiting = (devnet: TestDevnet): number => devnet.devnet.node.chain.mempool.size;

test('accept_then_timeout accepts the transaction and closes the connection', () =>
  withDevnet(async (devnet) => {
    await fault(devnet, 'accept_then_timeout', { times: 1, delay_ms: 20 });
    await expect(devnet.send(devnet.devnet.genesis.cast.faucet, TRANSFER)).rejects.toThrow();
    expect(waiting(devnet)).toBe(1);
    expect(await devnet.send(devnet.devnet.genesis.cast.faucet, TRANSFER)).toMatchObject({
      status: 200,
    });
  }));

test.each([
  ['already_known', 409, 0],
  ['nonce_too_low', 409, 1],
  ['unknown_transaction', 404, 1],
])('%s is answered with %i, and %i transactions are accepted', (mode, status, taken) =>
  withDevnet(async (devnet) => {
    await fault(devnet, mode, { times: 1 });
    expect(await devnet.send(devnet.devnet.genesis.cast.faucet, TRANSFER)).toMatchObject({
      status,
      body: { code: mode },
    });
    expect(waiting(devnet)).toBe(taken);
    expect(await devnet.send(devnet.devnet.genesis.cast.faucet, TRANSFER)).toMatchObject({
      status: 200,
    });
  }),
);

test('human_takes_nonce uses the nonce of a Mint and leaves other transactions alone', () =>
  withDevnet(async (devnet) => {
    const { faucet, mint_authority } = devnet.devnet.genesis.cast;
    await fault(devnet, 'human_takes_nonce', { times: 1 });
    expect(await devnet.send(faucet, TRANSFER)).toMatchObject({ status: 200 });
    expect(await devnet.send(mint_authority, MINT, 0)).toMatchObject({
      status: 409,
      body: { code: 'nonce_too_low' },
    });
    await devnet.block();
    expect(devnet.devnet.node.chain.account(mint_authority.address).nonce).toBe(1);
    expect(devnet.devnet.node.chain.supply()).toBe(devnet.devnet.genesis.allocation);
    expect(await devnet.send(mint_authority, MINT, 1)).toMatchObject({ status: 200 });
  }));

test('status_503 and reset affect every route, `times` times', () =>
  withDevnet(async (devnet) => {
    await fault(devnet, 'status_503', { times: 2 });
    expect(await devnet.get('/v1/chain')).toMatchObject({
      status: 503,
      body: { code: 'unavailable' },
    });
    expect(await devnet.send(devnet.devnet.genesis.cast.faucet, TRANSFER)).toMatchObject({
      status: 503,
    });
    expect(waiting(devnet)).toBe(0);
    expect(await devnet.get('/v1/chain')).toMatchObject({ status: 200 });
    await fault(devnet, 'reset', { times: 1 });
    await expect(devnet.get('/v1/blocks?from=0')).rejects.toThrow();
    expect(await devnet.get('/v1/blocks?from=0')).toMatchObject({ status: 200 });
  }));

test('delay postpones a request, whose answer is as of the end of the delay', () =>
  withDevnet(async (devnet) => {
    let [height, delayMs] = [0, 250];
    const faults = async (): Promise<unknown> =>
      Object((await devnet.admin('/admin/faults', undefined, 'GET')).body)['faults'];
    /** How many blocks the answer lacks. */
    const lacking = async (): Promise<number> => {
      // a delay may be over before a slow machine has made the block
      delayMs *= 2;
      await fault(devnet, 'delay', { times: 1, delay_ms: delayMs });
      const asked = devnet.get('/v1/chain');
      await expect.poll(faults, { interval: 10 }).toEqual([]);
      await devnet.block();
      height++;
      return height - Object((await asked).body)['head'].height;
    };
    await expect.poll(lacking).toBe(0);
  }));

test('lag answers as of an earlier time, not below the last final block', () =>
  withDevnet(async (devnet) => {
    const { faucet } = devnet.devnet.genesis.cast;
    for (let made = 0; made < 4; made++) await devnet.block();
    await devnet.send(faucet, TRANSFER);
    for (let made = 0; made < 4; made++) await devnet.block();
    await fault(devnet, 'lag', { delay_ms: 600_000 });
    // all blocks are younger than that, and block 2 of 8 is final
    expect(await devnet.get('/v1/chain')).toMatchObject({
      body: { head: { height: 2 }, finalized_height: 0 },
    });
    expect(await devnet.get(`/v1/accounts/${faucet.address}`)).toMatchObject({
      body: { nonce: 0, pending_nonce: 0 },
    });
    expect(await devnet.get('/v1/blocks/3?wait_ms=50')).toMatchObject({ status: 404 });
    expect(Object((await devnet.get('/v1/blocks?from=0')).body)['blocks']).toHaveLength(3);
    await devnet.admin('/admin/faults', undefined, 'DELETE');
    expect(await devnet.get('/v1/chain')).toMatchObject({
      body: { head: { height: 8 }, finalized_height: 2 },
    });
    expect(await devnet.get(`/v1/accounts/${faucet.address}`)).toMatchObject({
      body: { nonce: 1, pending_nonce: 1 },
    });
  }));
