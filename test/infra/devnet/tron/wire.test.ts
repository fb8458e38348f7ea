/** The wire format, held against recorded answers and against TRON's own client. */
import { TronWeb } from 'tronweb';
import { expect, test } from 'vitest';
import { parseTronAddress } from '../../../../schemas/tron-address.ts';
import { balancesCall } from '../../../../schemas/tron-balances.ts';
import { parseBalances } from '../../../../schemas/trongrid.ts';
import type { TestDevnet } from '../../../support/devnet.ts';
import { withDevnet } from '../../../support/devnet.ts';
import { ALICE, BOB, TestTron, USDT } from '../../../support/tron.ts';
import { recordedList, recordedReceipt } from '../../../support/trongrid/recorded.ts';

const MAX = (1n << 256n) - 1n;

function clientOf(devnet: TestDevnet): TronWeb {
  const client = new TronWeb({ fullHost: devnet.tron_url });
  client.setAddress(BOB);
  return client;
}

function bytes(address: string): Buffer {
  return parseTronAddress(address) ?? Buffer.alloc(20);
}

/** Every path in a value and the type of what is there; of lists, of their first item. */
function shapeOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value))
    return [`${path}: list`, ...(value.length > 0 ? shapeOf(value[0], `${path}[]`) : [])];
  if (typeof value !== 'object' || value === null)
    return [`${path}: ${value === null ? 'null' : typeof value}`];
  return Object.entries(value).flatMap(([key, each]) => shapeOf(each, `${path}.${key}`));
}

test('a row and a receipt have the keys and types of the recorded ones', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const id = await tron.transfer({ to: ALICE, value: '2700000000', solidified: true });
    expect(shapeOf(await tron.confirmed(ALICE)).toSorted()).toEqual(
      shapeOf(recordedList()).toSorted(),
    );
    const shape = shapeOf(await tron.receipt(id));
    expect(shapeOf(recordedReceipt()).filter((each) => !shape.includes(each))).toEqual([]);
  }));

test('a transfer has the shape of a recorded one', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const id = await tron.transfer({ from: BOB, to: ALICE, value: '2700000000', solidified: true });
    const receipt = await tron.receipt(id);
    const row = {
      transaction_id: id,
      token_info: { symbol: 'USDT', address: USDT, decimals: 6, name: 'Tether USD' },
      block_timestamp: receipt?.blockTimeStamp,
      from: BOB,
      to: ALICE,
      type: 'Transfer',
      value: '2700000000',
    };
    const list = await tron.confirmed(ALICE);
    expect(list).toEqual({
      data: [row],
      success: true,
      meta: { at: expect.any(Number), page_size: 1 },
    });
    const contract = TronWeb.address.toHex(USDT);
    expect(receipt).toMatchObject({
      id,
      contract_address: contract,
      receipt: { result: 'SUCCESS' },
      contractResult: ['0'.repeat(64)],
    });
    const topics = [
      'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
      TronWeb.address.toHex(BOB).slice(2).padStart(64, '0'),
      TronWeb.address.toHex(ALICE).slice(2).padStart(64, '0'),
    ];
    expect(receipt?.log).toEqual([
      { address: contract.slice(2), topics, data: 'a0eebb00'.padStart(64, '0') },
    ]);
    expect(Object.keys(receipt ?? {})).not.toContain('result');
  }));

test('TRON’s own client reads head, solidified head, receipts and balances', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const client = clientOf(devnet);
    const solid = await tron.transfer({ to: ALICE, value: '12345', solidified: true });
    const [included] = await tron.block({ to: ALICE, value: '5' });
    const [head, confirmed] = [
      await client.trx.getCurrentBlock(),
      await client.trx.getConfirmedCurrentBlock(),
    ];
    expect(head.block_header.raw_data.number).toBe(confirmed.block_header.raw_data.number + 1);
    expect(head.block_header.raw_data.parentHash).toBe(confirmed.blockID);
    expect(Number.parseInt(head.blockID.slice(0, 16), 16)).toBe(head.block_header.raw_data.number);
    expect(await client.trx.getTransactionInfo(solid)).toMatchObject({
      id: solid,
      blockNumber: confirmed.block_header.raw_data.number,
    });
    expect(await client.trx.getTransactionInfo(included ?? '')).toEqual({});
    expect(await client.trx.getUnconfirmedTransactionInfo(included ?? '')).toMatchObject({
      id: included,
    });
    const parameter = [{ type: 'address', value: ALICE }];
    const call = async (): Promise<unknown> => {
      const { constant_result } = await client.transactionBuilder.triggerConstantContract(
        USDT,
        'balanceOf(address)',
        {},
        parameter,
      );
      return constant_result;
    };
    expect(await call()).toEqual([(12_350).toString(16).padStart(64, '0')]);
    const type = {
      inputs: [{ name: 'who', type: 'address' }],
      outputs: [{ name: '', type: 'uint256' }],
    } as const;
    const abi = [
      { ...type, type: 'function', name: 'balanceOf', stateMutability: 'view' },
    ] as const;
    const balance: unknown = await client.contract(abi, USDT).methods['balanceOf']?.(ALICE).call();
    expect(String(balance)).toBe('12350');
    expect([await tron.balance(ALICE), await tron.balance(ALICE, USDT, 'walletsolidity')]).toEqual([
      12_350n,
      12_345n,
    ]);
  }));

test('TRON’s own client reads the calldata of a failed transfer', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const [id = ''] = await tron.block({ to: ALICE, value: '77', outcome: 'REVERT' });
    await tron.solidify();
    const transaction: unknown = await clientOf(devnet).trx.getConfirmedTransaction(id);
    const word = TronWeb.address.toHex(ALICE).slice(2).padStart(64, '0');
    expect(transaction).toMatchObject({
      txID: id,
      ret: [{ contractRet: 'REVERT' }],
      raw_data: {
        contract: [
          {
            type: 'TriggerSmartContract',
            parameter: { value: { data: `a9059cbb${word}${(77).toString(16).padStart(64, '0')}` } },
          },
        ],
      },
    });
  }));

test.each(['REVERT', 'OUT_OF_ENERGY'])(
  'a receipt of %s has no logs, a top-level result and the reason in hex',
  (outcome) =>
    withDevnet(async (devnet) => {
      const tron = new TestTron(devnet);
      const receipt = await tron.receipt(
        await tron.transfer({ to: ALICE, value: '5', outcome, solidified: true }),
      );
      expect(receipt).toMatchObject({
        result: 'FAILED',
        receipt: { result: outcome },
        resMessage: expect.stringMatching(/^(?:[0-9a-f]{2})+$/),
      });
      expect(receipt?.log).toBeUndefined();
      expect((await tron.list(ALICE)).data).toEqual([]);
      expect(await tron.balance(ALICE)).toBe(0n);
    }),
);

test.each(['TRX', 'TRC10'])(
  'a payment in %s has a receipt without contract, result and logs and is not listed',
  (asset) =>
    withDevnet(async (devnet) => {
      const tron = new TestTron(devnet);
      const receipt = await tron.receipt(
        await tron.transfer({ asset, to: ALICE, value: '5', solidified: true }),
      );
      expect(receipt?.receipt).toEqual({ net_usage: expect.any(Number) });
      expect(Object.keys(receipt ?? {}).toSorted()).toEqual([
        'blockNumber',
        'blockTimeStamp',
        'contractResult',
        'id',
        'receipt',
      ]);
      expect((await tron.list(ALICE)).data).toEqual([]);
    }),
);

test('one transaction with several transfers has one row and one log for each, in order', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const logs = [
      { to: ALICE, value: '1' },
      { to: BOB, value: '2' },
      { to: ALICE, value: '3' },
    ];
    const id = await tron.transfer({ logs, solidified: true });
    const receipt = await tron.receipt(id);
    expect(receipt?.log?.map(({ data }) => BigInt(`0x${data}`))).toEqual([1n, 2n, 3n]);
    expect(receipt?.log?.map(({ address }) => TronWeb.address.fromHex(`41${address}`))).toEqual([
      USDT,
      USDT,
      USDT,
    ]);
    expect(receipt?.contract_address).not.toBe(TronWeb.address.toHex(USDT));
    expect(
      (await tron.confirmed(ALICE)).data.map(({ transaction_id, value }) => [
        transaction_id,
        value,
      ]),
    ).toEqual([
      [id, '3'],
      [id, '1'],
    ]);
    expect((await tron.confirmed(BOB)).data.map(({ value }) => value)).toEqual(['2']);
    expect(await tron.balance(ALICE)).toBe(4n);
  }));

test('an approval is a row of type Approval for owner and spender and moves no balance', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const id = await tron.transfer({
      event: 'Approval',
      from: BOB,
      to: ALICE,
      value: String(MAX),
      solidified: true,
    });
    const row = { transaction_id: id, type: 'Approval', from: BOB, to: ALICE, value: String(MAX) };
    expect((await tron.confirmed(ALICE)).data).toMatchObject([row]);
    expect((await tron.list(BOB)).data).toMatchObject([row]);
    expect((await tron.receipt(id))?.log).toMatchObject([
      {
        topics: ['8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b291e5b200ac8c7c3b925', {}, {}].map(
          () => expect.any(String),
        ),
        data: 'f'.repeat(64),
      },
    ]);
    expect((await tron.receipt(id))?.log?.[0]?.topics[0]).toBe(
      TronWeb.sha3('Approval(address,address,uint256)').slice(2),
    );
    expect(await tron.balance(ALICE)).toBe(0n);
  }));

test('balances of many accounts are answered in one constant call', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await tron.transfer({ to: BOB, value: '7', solidified: true });
    const call = async (data: string): Promise<unknown> =>
      (
        await tron.ask('/walletsolidity/triggerconstantcontract', {
          owner_address: ALICE,
          data,
          visible: true,
        })
      ).body;
    const data = balancesCall(bytes(USDT), [bytes(ALICE), bytes(BOB)]).toString('hex');
    expect(parseBalances(await call(data), 2)).toMatchObject({
      value: { balances: [{ balance: 0n }, { balance: 7n }] },
    });
    const noToken = balancesCall(bytes(ALICE), [bytes(BOB)]).toString('hex');
    expect(parseBalances(await call(noToken), 1)).toHaveProperty('problem');
    for (const other of ['', '6000', data.slice(0, -2)])
      expect(await call(other)).toMatchObject({ result: { code: 'OTHER_ERROR' } });
  }));

test('malformed constant calls are refused as by a real node', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const good = {
      owner_address: ALICE,
      contract_address: USDT,
      function_selector: 'balanceOf(address)',
      parameter: '0'.repeat(64),
      visible: true,
    };
    const call = async (change: object): Promise<unknown> =>
      (await tron.ask('/wallet/triggerconstantcontract', { ...good, ...change })).body;
    expect(await call({})).toMatchObject({
      result: { result: true },
      constant_result: ['0'.repeat(64)],
    });
    const hex = {
      visible: false,
      owner_address: TronWeb.address.toHex(ALICE),
      contract_address: TronWeb.address.toHex(USDT),
    };
    expect(await call(hex)).toMatchObject({ constant_result: ['0'.repeat(64)] });
    expect(await call({ visible: false })).toMatchObject({ result: { code: 'OTHER_ERROR' } });
    expect(await call({ ...hex, visible: true })).toMatchObject({
      result: { code: 'OTHER_ERROR' },
    });
    expect(await call({ contract_address: BOB })).toMatchObject({
      result: {
        code: 'CONTRACT_VALIDATE_ERROR',
        message: Buffer.from('Smart contract is not exist.').toString('hex'),
      },
    });
    expect(await call({ function_selector: 'mint(address)' })).toMatchObject({
      constant_result: [''],
    });
    expect(await tron.ask('/walletsolidity/gettransactioninfobyid', { value: 'x' })).toMatchObject({
      status: 200,
      body: { Error: expect.any(String) },
    });
    expect(
      await tron.ask('/walletsolidity/gettransactioninfobyid', { value: 'a'.repeat(64) }),
    ).toEqual({ status: 200, body: {} });
  }));
