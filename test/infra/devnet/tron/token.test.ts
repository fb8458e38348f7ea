/** The rules of the USDT contract, as the treasury's client reads them. */
import { expect, test } from 'vitest';
import { parseTronAddress } from '../../../../schemas/tron-address.ts';
import { openTronGrid } from '../../../../services/runtime/trongrid/open.ts';
import type { TronGrid } from '../../../../services/runtime/trongrid/trongrid.ts';
import { withDevnet, type TestDevnet } from '../../../support/devnet.ts';
import { never } from '../../../support/kafka.ts';
import { ALICE, BOB, COUNTERFEIT, TestTron, USDT } from '../../../support/tron.ts';

const QUIET = { paused: false, deprecated: false, fee_basis_points: 0n, maximum_fee: 0n };

function bytes(address: string): Buffer {
  return parseTronAddress(address) ?? Buffer.alloc(20);
}

function clientOf({ tron_url }: TestDevnet, contract = USDT): TronGrid {
  return openTronGrid(
    {
      tron_url,
      tron_api_key: '',
      usdt_contract: bytes(contract),
      backoff_ms_min: 1,
      backoff_ms_max: 5,
      attempts_max: 1,
    },
    { requests_per_second: 5_000, requests_per_day: 0 },
    { signal: never, onRequest() {} },
  ).provider;
}

/** Everything that the client can ask about these addresses, in one request and one by one. */
async function readBy(client: TronGrid, ...addresses: readonly string[]): Promise<unknown> {
  const all = addresses.map(bytes);
  const { token, balances } = await client.balances(all);
  expect(await client.token()).toEqual(token);
  for (const [at, address] of all.entries())
    expect({
      balance: await client.balance(address),
      is_blocked: await client.isBlocked(address),
    }).toEqual(balances[at]);
  return [token, balances];
}

test('a blocked address receives and cannot send, as its receipts say', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const client = clientOf(devnet);
    await tron.token({ blocked: [ALICE] });
    await tron.transfer({ to: ALICE, value: '9', solidified: true });
    await tron.transfer({ to: BOB, value: '4', solidified: true });
    const sent = await tron.transfer({ from: ALICE, to: BOB, value: '5', solidified: true });
    expect(await tron.receipt(sent)).toMatchObject({
      result: 'FAILED',
      receipt: { result: 'REVERT' },
    });
    // one of several transfers is enough
    const logs = [
      { to: ALICE, value: '1' },
      { from: ALICE, to: BOB, value: '1' },
    ];
    await tron.transfer({ from: BOB, logs, solidified: true });
    expect((await tron.confirmed(BOB)).data.map(({ value }) => value)).toEqual(['4']);
    expect(await readBy(client, ALICE, BOB)).toEqual([
      QUIET,
      [
        { balance: 9n, is_blocked: true },
        { balance: 4n, is_blocked: false },
      ],
    ]);
    await tron.token({ blocked: [] });
    await tron.transfer({ from: ALICE, to: BOB, value: '5', solidified: true });
    expect(await readBy(client, ALICE, BOB)).toEqual([
      QUIET,
      [
        { balance: 4n, is_blocked: false },
        { balance: 9n, is_blocked: false },
      ],
    ]);
  }));

test.each(['paused', 'deprecated'])('nobody can move a token that is %s', (state) =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const client = clientOf(devnet);
    await tron.transfer({ to: ALICE, value: '9', solidified: true });
    await tron.token({ [state]: true });
    const sent = await tron.transfer({ to: BOB, value: '5', solidified: true });
    expect((await tron.receipt(sent))?.result).toBe('FAILED');
    expect(await readBy(client, ALICE, BOB)).toEqual([
      { ...QUIET, [state]: true },
      [
        { balance: 9n, is_blocked: false },
        { balance: 0n, is_blocked: false },
      ],
    ]);
    // an approval and another token move
    await tron.transfer({ event: 'Approval', from: BOB, to: ALICE, value: '1', solidified: true });
    await tron.transfer({ to: ALICE, value: '3', contract: COUNTERFEIT, solidified: true });
    expect(await tron.balance(ALICE, COUNTERFEIT)).toBe(3n);
    expect((await tron.list(BOB)).data).toMatchObject([{ type: 'Approval' }]);
    await tron.token({ [state]: false });
    await tron.transfer({ to: BOB, value: '5', solidified: true });
    expect(await tron.balance(BOB)).toBe(5n);
  }),
);

test('a fee is taken of what is sent, at most the maximum, and goes to the owner', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await tron.token({ fee_basis_points: 10, maximum_fee: '2000' });
    const id = await tron.transfer({ from: BOB, to: ALICE, value: '1000000', solidified: true });
    const values = (await tron.receipt(id))?.log?.map(({ data }) => BigInt(`0x${data}`));
    expect(values).toEqual([999_000n, 1_000n]);
    expect((await tron.confirmed(ALICE)).data.map(({ value }) => value)).toEqual(['999000']);
    await tron.transfer({ from: BOB, to: ALICE, value: '10000000', solidified: true });
    expect(await readBy(clientOf(devnet), ALICE)).toEqual([
      { ...QUIET, fee_basis_points: 10n, maximum_fee: 2_000n },
      [{ balance: 999_000n + 9_998_000n, is_blocked: false }],
    ]);
    await tron.token({ fee_basis_points: 0 });
    await tron.transfer({ from: BOB, to: ALICE, value: '5000', solidified: true });
    expect((await tron.confirmed(ALICE)).data[0]?.value).toBe('5000');
  }));

test('a token without these functions has balances, blocks nobody and takes no fee', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await tron.token({ paused: true, blocked: [ALICE] });
    await tron.transfer({ to: ALICE, value: '3', contract: COUNTERFEIT, solidified: true });
    expect(await readBy(clientOf(devnet, COUNTERFEIT), ALICE)).toEqual([
      QUIET,
      [{ balance: 3n, is_blocked: false }],
    ]);
  }));
