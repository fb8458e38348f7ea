import { expect, test } from 'vitest';
import { HARMLESS } from '../../../../infra/devnet/tron/token.ts';
import { withDevnet } from '../../../support/devnet.ts';
import { ALICE, BOB, COUNTERFEIT, TestTron, USDT } from '../../../support/tron.ts';

const NOBODY = 'f'.repeat(64);

test('a transfer is solidified automatically, not before the solidify time', () =>
  withDevnet(
    async (devnet) => {
      const tron = new TestTron(devnet);
      const id = await tron.transfer({ to: ALICE, value: '5' });
      await expect.poll(() => tron.receipt(id), { interval: 20 }).toBeDefined();
      const receipt = await tron.receipt(id);
      const head = await tron.head();
      expect(head.number).toBeGreaterThanOrEqual(receipt?.blockNumber ?? Infinity);
      expect(
        devnet.devnet.tron.chain.solidifiedAsOf((receipt?.blockTimeStamp ?? 0) + 199).number,
      ).toBeLessThan(receipt?.blockNumber ?? 0);
    },
    { APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '20', APP_DEVNET_TRON_SOLIDIFY_MS: '200' },
  ));

test('the solidified head never decreases and stays behind the head', () =>
  withDevnet(
    async (devnet) => {
      const tron = new TestTron(devnet);
      let before = await tron.head();
      for (let asked = 0; asked < 60; asked++) {
        if (asked % 20 === 0) await tron.solidify();
        const solidified = await tron.head();
        const head = await tron.head('wallet');
        expect(solidified.number).toBeGreaterThanOrEqual(before.number);
        expect(solidified.timestamp).toBeGreaterThanOrEqual(before.timestamp);
        expect(head.number).toBeGreaterThanOrEqual(solidified.number);
        before = solidified;
      }
    },
    { APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '20', APP_DEVNET_TRON_SOLIDIFY_MS: '60' },
  ));

test('a held transfer is in every new block and solid only after a request', () =>
  withDevnet(
    async (devnet) => {
      const tron = new TestTron(devnet);
      const held = await tron.transfer({ to: ALICE, value: '5', solidified: false });
      const other = await tron.transfer({ to: ALICE, value: '6' });
      await expect.poll(() => tron.receipt(other)).toBeDefined();
      expect(await tron.receipt(held)).toBeUndefined();
      const included = await tron.receipt(held, 'wallet');
      expect(included?.blockNumber).toBeGreaterThan(
        (await tron.receipt(other))?.blockNumber ?? Infinity,
      );
      const before = await tron.head();
      await tron.solidify(held);
      const receipt = await tron.receipt(held);
      // no transfer appears below the earlier solidified head
      expect(receipt?.blockNumber).toBeGreaterThan(before.number);
      expect(receipt?.blockTimeStamp).toBeGreaterThan(before.timestamp);
      expect((await tron.confirmed(ALICE)).data.map(({ value }) => value)).toEqual(['5', '6']);
    },
    { APP_DEVNET_TRON_BLOCK_INTERVAL_MS: '20', APP_DEVNET_TRON_SOLIDIFY_MS: '40' },
  ));

test('a dropped transfer disappears from every route, and dropping is idempotent', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const [id = ''] = await tron.block({ to: ALICE, value: '5' });
    expect((await tron.list(ALICE)).data).toHaveLength(1);
    expect(await tron.balance(ALICE)).toBe(5n);
    for (let time = 0; time < 2; time++) {
      expect(await devnet.admin('/admin/tron/drop', { transaction_id: id })).toEqual({
        status: 200,
        body: { transaction_id: id },
      });
    }
    await tron.solidify();
    expect((await tron.list(ALICE)).data).toEqual([]);
    expect([
      await tron.receipt(id),
      await tron.receipt(id, 'wallet'),
      await tron.balance(ALICE),
    ]).toEqual([undefined, undefined, 0n]);
    expect(await devnet.admin('/admin/tron/solidify', { transaction_id: id })).toMatchObject({
      status: 409,
      body: { code: 'dropped' },
    });
  }));

test('a solidified transfer cannot be dropped, and solidifying it again has no effect', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const id = await tron.transfer({ to: ALICE, value: '5', solidified: true });
    expect(await devnet.admin('/admin/tron/drop', { transaction_id: id })).toMatchObject({
      status: 409,
      body: { code: 'already_solidified' },
    });
    const head = await tron.head();
    expect(
      await devnet.admin('/admin/tron/solidify', { transaction_id: id.toUpperCase() }),
    ).toEqual({
      status: 200,
      body: { solidified: { number: head.number, timestamp: head.timestamp } },
    });
    for (const verb of ['drop', 'solidify']) {
      expect(await devnet.admin(`/admin/tron/${verb}`, { transaction_id: NOBODY })).toMatchObject({
        status: 404,
        body: { code: 'not_found' },
      });
    }
  }));

test('a self-transfer and a transfer of zero are recorded and move no balance', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await tron.block({ from: ALICE, to: ALICE, value: '7' }, { to: ALICE, value: '0' });
    await tron.solidify();
    expect(
      (await tron.confirmed(ALICE)).data.map(({ from, value }) => [from === ALICE, value]),
    ).toEqual([
      [false, '0'],
      [true, '7'],
    ]);
    expect(await tron.balance(ALICE)).toBe(0n);
  }));

test('the holder funds every sender, and transfers beyond its balance are refused', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const { holder = '' }: { holder?: string } = Object(
      (await devnet.admin('/admin/tron', undefined, 'GET')).body,
    );
    const supply = await tron.balance(holder);
    expect(supply).toBeGreaterThan(1n << 53n);
    await tron.block({ from: BOB, to: ALICE, value: '10' }, { from: ALICE, to: BOB, value: '4' });
    expect([
      await tron.balance(ALICE),
      await tron.balance(BOB),
      await tron.balance(holder),
    ]).toEqual([6n, 4n, supply - 10n]);
    await tron.solidify();
    expect([
      await tron.balance(ALICE),
      await tron.balance(BOB),
      await tron.balance(holder),
    ]).toEqual([6n, 4n, supply - 10n]);
    expect(
      await devnet.admin('/admin/tron/transfers', { to: ALICE, value: String(supply) }),
    ).toMatchObject({
      status: 409,
      body: { code: 'insufficient_balance' },
    });
    await tron.transfer({ to: ALICE, value: String(supply), contract: COUNTERFEIT });
    await tron.transfer({ to: ALICE, value: String(supply), outcome: 'REVERT' });
  }));

test('`listed` lets the provider list a failed transfer or omit a successful one', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    const failed = await tron.transfer({
      to: ALICE,
      value: '5',
      outcome: 'REVERT',
      listed: true,
      solidified: true,
    });
    const silent = await tron.transfer({ to: ALICE, value: '6', listed: false, solidified: true });
    expect((await tron.confirmed(ALICE)).data.map(({ transaction_id }) => transaction_id)).toEqual([
      failed,
    ]);
    expect((await tron.receipt(failed))?.log).toBeUndefined();
    expect((await tron.receipt(silent))?.log).toHaveLength(1);
    expect(await tron.balance(ALICE)).toBe(6n);
  }));

test('a block request with many transfers makes one block', () =>
  withDevnet(async (devnet) => {
    const transfers = Array.from({ length: 5_000 }, () => ({ to: ALICE, value: '1' }));
    const made = await devnet.admin('/admin/tron/block', { transfers });
    expect(made).toMatchObject({
      status: 200,
      body: { block_number: 2, block_timestamp: expect.any(Number) },
    });
    const tron = new TestTron(devnet);
    await tron.solidify();
    const { data } = await tron.confirmed(ALICE);
    expect(new Set(data.map(({ block_timestamp }) => block_timestamp))).toEqual(
      new Set([Object(made.body)['block_timestamp']]),
    );
    expect(await tron.balance(ALICE)).toBe(5_000n);
  }));

const GOOD = { to: ALICE, value: '5' };

test.each([
  ['/admin/tron/transfers', undefined],
  ['/admin/tron/transfers', []],
  ['/admin/tron/transfers', {}],
  ['/admin/tron/transfers', { to: ALICE }],
  ['/admin/tron/transfers', { value: '5' }],
  ['/admin/tron/transfers', { ...GOOD, to: 'me' }],
  ['/admin/tron/transfers', { ...GOOD, to: `${ALICE.slice(0, -1)}b` }],
  ['/admin/tron/transfers', { ...GOOD, to: `0x${'7'.repeat(40)}` }],
  ['/admin/tron/transfers', { ...GOOD, value: '-5' }],
  ['/admin/tron/transfers', { ...GOOD, value: '5.0' }],
  ['/admin/tron/transfers', { ...GOOD, value: 1e300 }],
  ['/admin/tron/transfers', { ...GOOD, value: String(1n << 256n) }],
  ['/admin/tron/transfers', { ...GOOD, from: 7 }],
  ['/admin/tron/transfers', { ...GOOD, contract: 'USDT' }],
  ['/admin/tron/transfers', { ...GOOD, event: 'Mint' }],
  ['/admin/tron/transfers', { ...GOOD, asset: 'ERC20' }],
  ['/admin/tron/transfers', { ...GOOD, outcome: 'constructor' }],
  ['/admin/tron/transfers', { ...GOOD, solidified: 'yes' }],
  ['/admin/tron/transfers', { ...GOOD, listed: 1 }],
  ['/admin/tron/transfers', { ...GOOD, solidifed: true }],
  ['/admin/tron/transfers', { ...GOOD, logs: [] }],
  ['/admin/tron/transfers', { ...GOOD, logs: [GOOD, { to: BOB }] }],
  ['/admin/tron/transfers', { ...GOOD, logs: [{ ...GOOD, asset: 'TRX' }] }],
  ['/admin/tron/transfers', { ...GOOD, asset: 'TRX', contract: USDT }],
  ['/admin/tron/transfers', { ...GOOD, asset: 'TRX', value: String(1n << 63n) }],
  ['/admin/tron/block', { transfers: 5 }],
  ['/admin/tron/block', { transfers: [GOOD, { to: BOB }] }],
  ['/admin/tron/solidify', { transaction_id: 'x' }],
  ['/admin/tron/drop', {}],
  ['/admin/tron/token', undefined],
  ['/admin/tron/token', {}],
  ['/admin/tron/token', { paused: 1 }],
  ['/admin/tron/token', { deprecated: 'yes' }],
  ['/admin/tron/token', { fee_basis_points: 10_001 }],
  ['/admin/tron/token', { maximum_fee: 5 }],
  ['/admin/tron/token', { blocked: ALICE }],
  ['/admin/tron/token', { blocked: [ALICE, 'me'] }],
  ['/admin/tron/token', { paused: true, frozen: true }],
  ['/admin/faults', { target: 'tron', mode: 'accept_then_timeout' }],
  ['/admin/faults', { target: 'tron', mode: 'lag', times: 0 }],
  ['/admin/faults', { target: 'tron', mode: 'lag', delay_ms: 600_001 }],
])('POST %s with %j is refused with what is expected, and changes nothing', (route, body) =>
  withDevnet(async (devnet) => {
    const answer = await devnet.admin(route, body);
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', message: expect.stringContaining('the body is JSON') },
    });
    expect(devnet.devnet.tron.chain.size).toBe(0);
    expect(devnet.devnet.tron.chain.token).toBe(HARMLESS);
    expect(await devnet.admin('/admin/faults', undefined, 'GET')).toEqual({
      status: 200,
      body: { faults: [] },
    });
  }),
);

test('GET /admin/tron and the metrics name head, solidified head, contract and holder', () =>
  withDevnet(async (devnet) => {
    await new TestTron(devnet).transfer({ to: ALICE, value: '5' });
    const { status, body } = await devnet.admin('/admin/tron', undefined, 'GET');
    expect(status).toBe(200);
    const block = { number: 1, timestamp: expect.any(Number) };
    expect(body).toEqual({
      head: block,
      solidified: block,
      usdt_contract: USDT,
      holder: expect.stringMatching(/^T/),
      token: {
        paused: false,
        deprecated: false,
        fee_basis_points: 0,
        maximum_fee: '0',
        blocked: [],
      },
    });
    const figures = await (await fetch(`${devnet.admin_url}/metrics`)).text();
    expect(figures).toContain('devnet_tron_head_number 1');
    expect(figures).toContain('devnet_tron_open_transactions 1');
  }));
