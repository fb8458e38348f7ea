import { expect, test } from 'vitest';
import { TronWeb } from 'tronweb';
import { withDevnet } from '../../../support/devnet.ts';
import type { List } from '../../../support/tron.ts';
import { ALICE, BOB, COUNTERFEIT, TestTron, USDT } from '../../../support/tron.ts';

const values = ({ data }: List): readonly string[] => data.map(({ value }) => value);

test('an unknown address has an empty list, in base58 and in hex', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const nothing = { data: [], success: true, meta: { at: expect.any(Number), page_size: 0 } };
    expect(await tron.confirmed(ALICE)).toEqual(nothing);
    expect(await tron.confirmed(TronWeb.address.toHex(ALICE))).toEqual(nothing);
  }));

test('a row is listed once it is in a block, with only_confirmed once that is solidified', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const id = await tron.transfer({ to: ALICE, value: '5' });
    const seen = async (): Promise<readonly unknown[]> => [
      values(await tron.list(ALICE)).length,
      values(await tron.list(ALICE, { only_unconfirmed: 'true' })).length,
      values(await tron.confirmed(ALICE)).length,
      (await tron.receipt(id, 'wallet')) !== undefined,
      (await tron.receipt(id)) !== undefined,
    ];
    expect(await seen()).toEqual([0, 0, 0, false, false]);
    await tron.block();
    expect(await seen()).toEqual([1, 1, 0, true, false]);
    await tron.solidify(id);
    expect(await seen()).toEqual([1, 0, 1, true, true]);
  }));

test('direction, contract and time filter the list; the default order is newest first', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await tron.block({ from: ALICE, to: BOB, value: '1' }, { from: BOB, to: ALICE, value: '2' });
    await tron.block(
      { from: BOB, to: ALICE, value: '3', contract: COUNTERFEIT },
      { from: ALICE, to: ALICE, value: '4' },
    );
    await tron.block({ to: ALICE, value: '0' });
    await tron.solidify();
    const list = async (
      parameters: Readonly<Record<string, string | number>>,
    ): Promise<readonly string[]> => values(await tron.list(ALICE, parameters));
    expect(await list({})).toEqual(['0', '4', '3', '2', '1']);
    expect(await list({ order_by: 'block_timestamp,asc' })).toEqual(['1', '2', '3', '4', '0']);
    expect(await list({ only_to: 'true' })).toEqual(['0', '4', '3', '2']);
    expect(await list({ only_from: 'true' })).toEqual(['4', '1']);
    expect(await list({ contract_address: USDT })).toEqual(['0', '4', '2', '1']);
    expect(await list({ contract_address: TronWeb.address.toHex(COUNTERFEIT) })).toEqual(['3']);
    const [newest, middle] = (await tron.list(ALICE)).data.map(
      ({ block_timestamp }) => block_timestamp,
    );
    expect(await list({ min_timestamp: middle ?? 0 })).toEqual(['0', '4', '3']);
    expect(await list({ min_timestamp: middle ?? 0, max_timestamp: (newest ?? 0) - 1 })).toEqual([
      '4',
      '3',
    ]);
  }));

test('a counterfeit token has the same symbol and another address; a contract filter excludes it', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await tron.transfer({ to: ALICE, value: '5', contract: COUNTERFEIT, solidified: true });
    expect((await tron.list(ALICE)).data.map(({ token_info }) => token_info)).toEqual([
      { symbol: 'USDT', address: COUNTERFEIT, decimals: 6, name: 'Tether USD' },
    ]);
    expect(values(await tron.confirmed(ALICE))).toEqual([]);
    expect([await tron.balance(ALICE), await tron.balance(ALICE, COUNTERFEIT)]).toEqual([0n, 5n]);
  }));

test.each(['block_timestamp,asc', 'block_timestamp,desc'])(
  'pages in order %s return every row once when all share a timestamp',
  (order_by) =>
    withDevnet(async (devnet) => {
      const tron = new TestTron(devnet);
      await tron.block(
        ...Array.from({ length: 25 }, (_, index) => ({ to: ALICE, value: index + 1 })),
      );
      await tron.block(
        ...Array.from({ length: 3 }, (_, index) => ({ to: ALICE, value: index + 26 })),
      );
      await tron.solidify();
      const seen: string[] = [];
      const sizes: number[] = [];
      let fingerprint: string | undefined;
      do {
        const parameters = {
          order_by,
          limit: 10,
          ...(fingerprint === undefined ? {} : { fingerprint }),
        };
        const list = await tron.confirmed(ALICE, parameters);
        expect(list.meta.page_size).toBe(list.data.length);
        expect(list.meta.links === undefined).toBe(list.meta.fingerprint === undefined);
        // to follow it is a mistake, which shows by a host that does not exist
        if (list.meta.links !== undefined)
          expect(new URL(list.meta.links.next).hostname).toMatch(/\.invalid$/);
        seen.push(...values(list));
        sizes.push(list.data.length);
        fingerprint = list.meta.fingerprint;
      } while (fingerprint !== undefined);
      expect(sizes).toEqual([10, 10, 8]);
      const all = Array.from({ length: 28 }, (_, index) => String(index + 1));
      expect(seen).toEqual(order_by.endsWith('asc') ? all : all.toReversed());
    }),
);

test('a page has at most 200 rows, and values beyond 2^53 are exact', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const value = (1n << 53n) + 1n;
    await tron.block(...Array.from({ length: 201 }, () => ({ to: ALICE, value: '1' })), {
      to: BOB,
      value: String(value),
    });
    await tron.solidify();
    expect((await tron.confirmed(ALICE)).data).toHaveLength(200);
    expect(values(await tron.confirmed(BOB))).toEqual([String(value)]);
    expect(await tron.balance(BOB)).toBe(value);
  }));

test.each([
  ['me', ''],
  ['0x3b1b3ea8d3ce9f3d2c1de9ccf7bbd3bcc8a1e9c1', ''],
  [`${ALICE.slice(0, -1)}b`, ''],
  [ALICE, 'limit=0'],
  [ALICE, 'limit=201'],
  [ALICE, 'limit=1.5'],
  [ALICE, 'limit='],
  [ALICE, 'limit=5&limit=6'],
  [ALICE, 'only_to=yes'],
  [ALICE, 'order_by=value,asc'],
  [ALICE, 'min_timestamp=-1'],
  [ALICE, 'max_timestamp=tomorrow'],
  [ALICE, 'contract_address=USDT'],
  [ALICE, 'fingerprint=x'],
])('the list of %s with %j is refused in the provider’s words', (address, query) =>
  withDevnet(async (devnet) => {
    expect(
      await new TestTron(devnet).ask(`/v1/accounts/${address}/transactions/trc20?${query}`),
    ).toEqual({
      status: 400,
      body: { success: false, error: expect.any(String), statusCode: 400 },
    });
  }),
);

test('a fingerprint with another changed parameter is refused', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await tron.block({ to: ALICE, value: '1' }, { to: ALICE, value: '2' });
    await tron.solidify();
    const { meta } = await tron.confirmed(ALICE, { limit: 1 });
    const path = `/v1/accounts/${ALICE}/transactions/trc20?limit=1&fingerprint=${meta.fingerprint ?? ''}`;
    expect((await tron.ask(path)).status).toBe(400);
    expect(
      (await tron.ask(`${path}&only_confirmed=true&only_to=true&contract_address=${USDT}`)).status,
    ).toBe(200);
  }));
