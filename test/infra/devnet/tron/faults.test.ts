import { expect, test } from 'vitest';
import { TRON_FAULTS } from '../../../../infra/devnet/http/faults.ts';
import type { TestDevnet } from '../../../support/devnet.ts';
import { withDevnet } from '../../../support/devnet.ts';
import { ALICE, TestTron } from '../../../support/tron.ts';

const SUSPENDED = {
  Error: 'The key exceeds the frequency limit(15), and the query server is suspended for 30s',
  StatusCode: 403,
};

interface Raw {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

/** The three kinds of routes a poller asks: list, receipt, head. */
async function askAll(devnet: TestDevnet, id: string): Promise<readonly Raw[]> {
  const answers = [];
  for (const path of [
    `/v1/accounts/${ALICE}/transactions/trc20?only_confirmed=true`,
    `/walletsolidity/gettransactioninfobyid?value=${id}`,
    '/walletsolidity/getnowblock',
  ]) {
    const response = await fetch(`${devnet.tron_url}${path}`);
    answers.push({
      status: response.status,
      type: response.headers.get('content-type') ?? '',
      text: await response.text(),
    });
  }
  return answers;
}

/** A devnet with one solid transfer. */
const withTransfer = (
  use: (devnet: TestDevnet, tron: TestTron, id: string) => Promise<void>,
): Promise<void> =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await use(devnet, tron, await tron.transfer({ to: ALICE, value: '5', solidified: true }));
  });

test.each([
  ['status_403', 403, SUSPENDED],
  ['status_429', 429, { Error: expect.any(String), StatusCode: 429 }],
  ['success_false', 200, { success: false, error: expect.any(String), statusCode: 500 }],
  ['error_200', 200, { Error: expect.any(String) }],
])('%s answers every route with %s', (mode, status, body) =>
  withTransfer(async (devnet, tron, id) => {
    await tron.fault(mode);
    for (const answer of await askAll(devnet, id)) {
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.text)).toEqual(body);
    }
  }),
);

test.each([
  ['html', 200],
  ['status_503', 503],
])('%s answers every route with %i and a page', (mode, status) =>
  withTransfer(async (devnet, tron, id) => {
    await tron.fault(mode);
    for (const answer of await askAll(devnet, id)) {
      expect(answer).toMatchObject({ status, type: expect.stringContaining('text/html') });
      expect(() => JSON.parse(answer.text)).toThrow();
    }
  }),
);

test('truncated sends half of the JSON in a complete HTTP response', () =>
  withTransfer(async (devnet, tron, id) => {
    const whole = await askAll(devnet, id);
    await tron.fault('truncated');
    for (const [index, answer] of (await askAll(devnet, id)).entries()) {
      expect(answer.status).toBe(200);
      expect(() => JSON.parse(answer.text)).toThrow();
      if (index > 0) expect(whole[index]?.text.startsWith(answer.text)).toBe(true);
    }
  }));

test('reset closes the connection without an answer', () =>
  withTransfer(async (devnet, tron) => {
    await tron.fault('reset', 1);
    await expect(fetch(`${devnet.tron_url}/walletsolidity/getnowblock`)).rejects.toThrow();
    expect((await tron.head()).number).toBeGreaterThan(0);
  }));

test('delay postpones the answer', () =>
  withTransfer(async (_devnet, tron) => {
    await tron.fault('delay', 1, 400);
    const begun = performance.now();
    await tron.head();
    expect(performance.now() - begun).toBeGreaterThanOrEqual(390);
  }));

test('empty hides rows and receipts but not the head', () =>
  withTransfer(async (_devnet, tron, id) => {
    await tron.fault('empty');
    expect(await tron.confirmed(ALICE)).toEqual({
      data: [],
      success: true,
      meta: { at: expect.any(Number), page_size: 0 },
    });
    expect(await tron.receipt(id)).toBeUndefined();
    expect((await tron.head()).number).toBe(2);
  }));

test('repeat doubles the rows of a first page and repeats the previous page later', () =>
  withDevnet(async (devnet) => {
    const tron = new TestTron(devnet);
    await tron.block(...[1, 2, 3, 4, 5].map((value) => ({ to: ALICE, value })));
    await tron.solidify();
    const page = async (
      fingerprint?: string,
    ): Promise<readonly [readonly string[], string | undefined]> => {
      const { data, meta } = await tron.confirmed(ALICE, {
        limit: 2,
        order_by: 'block_timestamp,asc',
        ...(fingerprint && { fingerprint }),
      });
      return [data.map(({ value }) => value), meta.fingerprint];
    };
    await tron.fault('repeat', 1);
    expect((await page())[0]).toEqual(['1', '1', '2', '2']);
    const [, first] = await page();
    const [, second] = await page(first);
    await tron.fault('repeat', 2);
    for (let time = 0; time < 2; time++) expect(await page(second)).toEqual([['3', '4'], second]);
    expect(await page(second)).toEqual([['5'], undefined]);
  }));

test('lag answers head, list and receipts as of one earlier time', () =>
  withTransfer(async (_devnet, tron, id) => {
    const before = await tron.head();
    await tron.fault('lag', undefined, 600_000);
    expect((await tron.head()).number).toBe(1);
    expect((await tron.confirmed(ALICE)).data).toEqual([]);
    expect((await tron.list(ALICE)).data).toEqual([]);
    expect(await tron.receipt(id)).toBeUndefined();
    await tron.fault('lag', undefined, 0);
    expect(await tron.head()).toEqual(before);
    expect((await tron.confirmed(ALICE)).data).toHaveLength(1);
  }));

test('list_lag delays the list only', () =>
  withTransfer(async (_devnet, tron, id) => {
    await tron.fault('list_lag', undefined, 600_000);
    expect((await tron.confirmed(ALICE)).data).toEqual([]);
    expect((await tron.head()).number).toBe(2);
    expect(await tron.receipt(id)).toBeDefined();
  }));

test.each<string>(Object.keys(TRON_FAULTS))(
  '%s ends after `times` requests and when all faults are cleared',
  (mode) =>
    withTransfer(async (devnet, tron, id) => {
      const whole = await askAll(devnet, id);
      const listed = async (): Promise<unknown> =>
        (await devnet.admin('/admin/faults', undefined, 'GET')).body;
      await tron.fault(mode, 7, 0);
      expect(await listed()).toEqual({ faults: [{ target: 'tron', mode, times: 7, delay_ms: 0 }] });
      expect((await devnet.admin('/admin/faults', undefined, 'DELETE')).body).toEqual({
        faults: [],
      });
      await tron.fault(mode, 1, 0);
      await fetch(`${devnet.tron_url}/v1/accounts/${ALICE}/transactions/trc20`).catch(
        () => undefined,
      );
      expect(await listed()).toEqual({ faults: [] });
      expect((await devnet.admin('/admin/faults/taken', undefined, 'GET')).body).toEqual({
        node: {},
        tron: { [mode]: 1 },
      });
      expect((await askAll(devnet, id)).slice(1)).toEqual(whole.slice(1));
    }),
);

test('faults of the node and of TRON are independent', () =>
  withTransfer(async (devnet, tron) => {
    await devnet.admin('/admin/faults', { target: 'node', mode: 'status_503' });
    await tron.fault('status_429');
    expect((await devnet.get('/v1/chain')).status).toBe(503);
    expect((await devnet.tron('/walletsolidity/getnowblock')).status).toBe(429);
    expect((await devnet.admin('/admin/faults', undefined, 'GET')).body).toMatchObject({
      faults: [{ target: 'node' }, { target: 'tron' }],
    });
  }));
