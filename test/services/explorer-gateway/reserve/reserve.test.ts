import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  openExplorer,
  type ExplorerServer,
  type ExplorerServerOptions,
} from '../explorer-server.ts';
import { TreasuryServer } from './treasury-server.ts';

const BIG = '115792089237316195423570985008687907853269984665640564039457584007913129639935';
const RUN =
  `{"run_at":"2026-11-21T07:25:00.000Z","onchain_supply":${BIG},"genesis_allocation":9007199254740993,"treasury_minted":300000000,` +
  '"ledger_liability":-25,"custody_reported":0,"status":"mismatch"}';
/** Nobody listens there: the reserve needs no index. */
const NO_POSTGRES = 'postgres://clt_reader:clt_reader@127.0.0.1:1/clt';

let treasury: TreasuryServer;
let now: number;
const opened: ExplorerServer[] = [];
beforeEach(async () => {
  treasury = await TreasuryServer.open();
  now = 1_000_000;
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
  await treasury.close();
});

async function open(options: Partial<ExplorerServerOptions> = {}): Promise<ExplorerServer> {
  const url = treasury.url;
  const explorer = await openExplorer({
    postgres_reader_url: NO_POSTGRES,
    treasury_public_reconciliation_url: url,
    now: () => now,
    ...options,
  });
  opened.push(explorer);
  return explorer;
}

async function reserve(explorer: ExplorerServer): Promise<string> {
  const { status, text } = await explorer.get('/api/v1/reserve');
  expect(status).toBe(200);
  return text;
}

describe('the cache', () => {
  test('shares one request to the treasury between all concurrent callers', async () => {
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    treasury.answer = (_request, response) => {
      asked.resolve();
      void go.promise.then(() => response.end(`{"last_run":${RUN}}`));
    };
    const explorer = await open();
    const first = reserve(explorer);
    await asked.promise;
    const others = Array.from({ length: 20 }, () => reserve(explorer));
    // these have been answered only if the reserve holds up nobody else
    expect((await explorer.get('/health')).status).toBe(200);
    go.resolve();
    const answers = new Set([await first, ...(await Promise.all(others))]);
    expect(answers.size).toBe(1);
    expect(treasury.requests).toHaveLength(1);
  });

  test('never serves stale amounts: after their expiry an unavailable treasury is reported at once', async () => {
    treasury.says(`{"last_run":${RUN}}`);
    const explorer = await open();
    expect(await reserve(explorer)).toContain('"available":true');
    treasury.answer = (request) => void request.socket.destroy();
    now += 29_999;
    expect(await reserve(explorer)).toContain('"cache_age_seconds":29,"last_run":{');
    now += 1;
    expect(await reserve(explorer)).toBe(
      '{"configured":true,"available":false,"cache_age_seconds":0,"error":"the treasury cannot be reached","last_run":null}',
    );
  });

  test('caches a failure for 5 seconds, and logs when the treasury goes away and comes back, without its address', async () => {
    treasury.says('{}');
    const explorer = await open();
    const error = 'the treasury answered something else than agreed: last_run: it is missing';
    const without = `{"configured":true,"available":false,"cache_age_seconds":0,"error":"${error}","last_run":null}`;
    expect(await reserve(explorer)).toBe(without);
    now += 4_999;
    expect(await reserve(explorer)).toBe(without.replace('seconds":0', 'seconds":4'));
    expect(treasury.requests).toHaveLength(1);
    now += 1;
    expect(await reserve(explorer)).toBe(without);
    expect(treasury.requests).toHaveLength(2);
    treasury.says('{"last_run":null}');
    now += 5_000;
    expect(await reserve(explorer)).toContain('"available":true');
    expect(explorer.lines.map(({ msg }) => msg)).toEqual([
      `the reserve position is unavailable: ${error}`,
    ]);
  });
});

test('a response names no host, path or port of the treasury', async () => {
  const explorer = await open({
    treasury_public_reconciliation_url: 'http://secret-host.invalid:1234/hidden',
  });
  const { text } = await explorer.get('/api/v1/reserve');
  expect(text).toContain('"error":"the treasury cannot be reached"');
  for (const hidden of ['secret-host', '1234', 'hidden']) expect(text).not.toContain(hidden);
});
