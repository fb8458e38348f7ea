/** The reserve as specified: its four answers, its limits and its cache. */
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

describe('the four answers', () => {
  test('configured false: no treasury behind the deployment, which is not an error', async () => {
    const explorer = await openExplorer({ postgres_reader_url: NO_POSTGRES });
    opened.push(explorer);
    expect(await reserve(explorer)).toBe(
      '{"configured":false,"available":false,"cache_age_seconds":0,"last_run":null}',
    );
    expect(explorer.lines).toEqual([]);
  });

  test('available false with error: the treasury could not be read', async () => {
    treasury.says('<html>', 500);
    expect(await reserve(await open())).toBe(
      '{"configured":true,"available":false,"cache_age_seconds":0,"error":"the treasury answered with status 500","last_run":null}',
    );
  });

  test('last_run null: the treasury has never reconciled', async () => {
    treasury.says('{"last_run":null}');
    expect(await reserve(await open())).toBe(
      '{"configured":true,"available":true,"cache_age_seconds":0,"last_run":null}',
    );
  });

  test.each(['ok', 'mismatch', 'over_backed_drift'])(
    'last_run present: a run with status %s is published as it is, every integer exact',
    async (status) => {
      const run = RUN.replace('mismatch', status);
      treasury.says(`{"last_run":${run}}`);
      const explorer = await open();
      const answer = `{"configured":true,"available":true,"cache_age_seconds":0,"last_run":${run}}`;
      expect(await reserve(explorer)).toBe(answer);
      const { text } = await explorer.get('/api/v1/reserve?amounts=string');
      expect(text.replaceAll(/"(-?\d+)"/g, '$1')).toBe(answer);
      expect(text).toContain(`"onchain_supply":"${BIG}"`);
    },
  );
});

describe('the limits', () => {
  test('the answer is cached for 30 seconds and states its age in whole seconds', async () => {
    treasury.says(`{"last_run":${RUN}}`);
    const explorer = await open();
    const ages: unknown[] = [];
    for (const passing of [0, 999, 1, 1_500, 27_499]) {
      now += passing;
      ages.push(JSON.parse(await reserve(explorer)).cache_age_seconds);
    }
    expect(ages).toEqual([0, 0, 1, 2, 29]);
    expect(treasury.requests).toHaveLength(1);
    // every figure is of one run: the next one replaces them all
    const next =
      '{"run_at":"2026-11-21T07:30:00.000Z","onchain_supply":8,"genesis_allocation":5,"treasury_minted":3,"ledger_liability":3,"custody_reported":4,"status":"ok"}';
    treasury.says(`{"last_run":${next}}`);
    now += 1;
    expect(await reserve(explorer)).toBe(
      `{"configured":true,"available":true,"cache_age_seconds":0,"last_run":${next}}`,
    );
    expect(treasury.requests).toHaveLength(2);
  });

  test('the fetch of the treasury is given up after 5 seconds', async () => {
    treasury.answer = () => undefined;
    expect(await reserve(await open())).toBe(
      '{"configured":true,"available":false,"cache_age_seconds":0,"error":"the treasury did not answer within 5000 ms","last_run":null}',
    );
  });
});

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

  test.each([
    [`{"last_run":${RUN},"tolerance":${BIG}}`, BIG],
    [`{"last_run":${RUN}}`, 'null'],
    [`{"last_run":${RUN},"tolerance":-1}`, 'null'],
    [`{"last_run":${RUN},"tolerance":null}`, 'null'],
    [`{"last_run":${RUN},"tolerance":"x"}`, 'null'],
  ])('the tolerance is that of the treasury, or null: of %s', async (answer, tolerance) => {
    treasury.says(answer);
    const explorer = await open();
    const { text } = await explorer.get('/api/v1/reserve/tolerance');
    expect(text).toBe(`{"tolerance":${tolerance}}`);
    expect(await reserve(explorer)).toContain(
      `"available":true,"cache_age_seconds":0,"last_run":${RUN}`,
    );
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
