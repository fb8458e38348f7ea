/** The specification of the explorer: the reserve, its fields, its four answers, its limits. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  openExplorer,
  type ExplorerServer,
  type ExplorerServerOptions,
} from '../../../services/explorer-gateway/explorer-server.ts';
import { exact, IS, type ExactObject } from './specified.ts';
import { TreasuryServer } from '../../../services/explorer-gateway/reserve/treasury-server.ts';

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

async function shown(): Promise<ExactObject> {
  treasury.says(`{"last_run":${RUN}}`);
  return exact(await reserve(await open()));
}

describe('Reserve', () => {
  test.each([
    ['configured', 'boolean'],
    ['available', 'boolean'],
    ['cache_age_seconds', 'integer'],
    ['last_run', 'object'],
  ] as const)('%s: %s', async (field, type) => {
    expect({ type, fits: IS[type]((await shown())[field]) }).toEqual({ type, fits: true });
  });

  test('error: there when available is false, and only then', async () => {
    expect(await shown()).not.toHaveProperty('error');
    treasury.says('', 503);
    expect(exact(await reserve(await open()))).toMatchObject({
      available: false,
      error: 'the treasury answered with status 503',
    });
  });

  test.each([
    ['run_at', 'string, ISO 8601 UTC', '2026-11-21T07:25:00.000Z'],
    ['onchain_supply', 'integer', BigInt(BIG)],
    ['genesis_allocation', 'integer', 9_007_199_254_740_993n],
    ['treasury_minted', 'integer', 300_000_000n],
    ['ledger_liability', 'integer', -25n],
    ['custody_reported', 'integer', 0n],
    ['status', 'string', 'mismatch'],
  ] as const)('last_run.%s: %s, as the run has it', async (field, type, wanted) => {
    const { last_run: run } = await shown();
    const value =
      typeof run === 'object' && run !== null ? new Map(Object.entries(run)).get(field) : undefined;
    expect({ type, fits: IS[type](value), value }).toEqual({ type, fits: true, value: wanted });
  });

  test('every amount is of one run: the next run changes all of them together', async () => {
    const first = await shown();
    const next = {
      run_at: '2026-11-21T07:30:00.000Z',
      onchain_supply: 8,
      genesis_allocation: 5,
      treasury_minted: 3,
      ledger_liability: 3,
      custody_reported: 4,
      status: 'ok',
    };
    treasury.says(JSON.stringify({ last_run: next }));
    const { last_run: second } = exact(await reserve(await open()));
    expect(second).toEqual({ ...exact(JSON.stringify(next)) });
    expect(first['last_run']).toEqual(exact(RUN));
  });
});

describe('the four answers', () => {
  test('no treasury behind the deployment is configured false, and not an error', async () => {
    const explorer = await openExplorer({ postgres_reader_url: NO_POSTGRES });
    opened.push(explorer);
    expect(await reserve(explorer)).toBe(
      '{"configured":false,"available":false,"cache_age_seconds":0,"last_run":null}',
    );
    expect(explorer.lines).toEqual([]);
  });

  test('a treasury that could not be read is available false with the error', async () => {
    treasury.says('<html>', 500);
    expect(await reserve(await open())).toBe(
      '{"configured":true,"available":false,"cache_age_seconds":0,"error":"the treasury answered with status 500","last_run":null}',
    );
  });

  test('a treasury that has never reconciled is last_run null', async () => {
    treasury.says('{"last_run":null}');
    expect(await reserve(await open())).toBe(
      '{"configured":true,"available":true,"cache_age_seconds":0,"last_run":null}',
    );
  });

  test.each(['ok', 'mismatch', 'over_backed_drift'])(
    'a run with status %s is published as it is, every integer exact',
    async (status) => {
      const run = RUN.replace('mismatch', status);
      treasury.says(`{"last_run":${run}}`);
      expect(await reserve(await open())).toBe(
        `{"configured":true,"available":true,"cache_age_seconds":0,"last_run":${run}}`,
      );
    },
  );
});

describe('limits', () => {
  test('the answer is cached for 30 seconds and states its age in whole seconds', async () => {
    treasury.says('{"last_run":null}');
    const explorer = await open();
    const ages: unknown[] = [];
    for (const passing of [0, 999, 1, 1_500, 27_499]) {
      now += passing;
      const { cache_age_seconds: age }: { readonly cache_age_seconds: unknown } = JSON.parse(
        await reserve(explorer),
      );
      ages.push(age);
    }
    expect(ages).toEqual([0, 0, 1, 2, 29]);
    expect(treasury.requests).toHaveLength(1);
    treasury.says(`{"last_run":${RUN}}`);
    now += 1;
    expect(await reserve(explorer)).toBe(
      `{"configured":true,"available":true,"cache_age_seconds":0,"last_run":${RUN}}`,
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
