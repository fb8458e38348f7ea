import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  CLOCK,
  coverOf,
  localServices,
  newestRun,
  readService,
  servicesTable,
  waitingDeposits,
  waitText,
  type ServiceHealth,
} from '../../../../services/ops/status/services.ts';
import { HELD_BY_REASON } from '../../../../projections/deposits/queries.ts';
import { moneyLines, moneyOf, readQueue } from '../../../../services/ops/status/money.ts';
import type { Cells, Statement } from '../../../../services/runtime/postgres/pool.ts';
import type { ServiceStatus } from '../../../../services/runtime/process/health.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

const READY: ServiceStatus = {
  status: 'ready',
  phase: 'serving',
  waits_for: null,
  eta_s: null,
  message: null,
  notes: [],
};

/** The URL of a service with this status and these metrics. */
async function service(status: ServiceStatus, metrics = new Metrics('test')): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === '/status') response.end(JSON.stringify(status));
    else if (request.url === '/metrics') void metrics.text().then((text) => response.end(text));
    else response.writeHead(404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

const ANSWER_MS = 4_000;

async function ofTreasury(metrics: Metrics): Promise<ServiceHealth> {
  return readService({ name: 'treasury', url: await service(READY, metrics) }, ANSWER_MS);
}

test('each service is shown with its status and its main metrics', async () => {
  const treasury = new Metrics('treasury');
  const queue = treasury.gauge('treasury_queue_deposits', 'deposits', ['status']);
  queue.set({ status: 'confirmed' }, 3);
  queue.set({ status: 'needs_manual' }, 1);
  const lag = treasury.gauge('treasury_lag_records', 'lag', ['topic', 'partition']);
  lag.set({ topic: 'tron.transfers', partition: 0 }, 2);
  lag.set({ topic: 'tron.transfers', partition: 1 }, 5);
  const projector = new Metrics('projector-explorer');
  const records = projector.counter('projection_records_total', 'records', ['outcome']);
  records.inc({ outcome: 'applied' }, 990);
  records.inc({ outcome: 'ignored' }, 10);
  const asked = [
    {
      name: 'treasury',
      url: await service(
        {
          status: 'waiting',
          phase: 'following',
          waits_for: 'kafka',
          eta_s: null,
          message: 'the brokers do not answer',
          notes: [],
        },
        treasury,
      ),
    },
    {
      name: 'projector-explorer',
      url: await service(
        {
          ...READY,
          status: 'working',
          phase: 'loading',
          eta_s: 40,
          message: 'loading the log',
        },
        projector,
      ),
    },
    { name: 'hub-gateway', url: await service(READY) },
    { name: 'chain-ingester', url: await service({ ...READY, phase: 'standing_by' }) },
    { name: 'gone', url: 'http://127.0.0.1:1' },
  ];
  const services = await Promise.all(asked.map((each) => readService(each, ANSWER_MS)));
  expect(services).toMatchObject([
    {
      status: 'waiting',
      ready: false,
      metrics: { 'deposits confirmed': 3, 'deposits needs_manual': 1, 'records behind': 7 },
    },
    { status: 'working' },
    { status: 'ready', ready: true, metrics: {} },
    { status: 'ready' },
    { status: 'unreachable', message: expect.stringMatching(/; see its log$/), metrics: {} },
  ]);
  const shown = servicesTable(services, ['late']).replaceAll(/started \d+ s ago(?:, )?/g, '');
  expect(shown.split('\n').map((line) => line.trimEnd())).toEqual([
    'SERVICE             STATE                     DETAILS',
    'treasury            waiting for kafka         records behind 7',
    expect.stringMatching(
      /^projector-explorer {2}working, about 40 s left {2}without effect 10 of 1000 records/,
    ),
    'hub-gateway         ready',
    'chain-ingester      ready, standing by',
    'gone                unreachable',
    'late                has not answered yet',
  ]);
});

test('a service that has stopped is told from one that listens and is silent', async () => {
  const [stopped, silent] = [createServer(), createServer(() => undefined)];
  const urls: string[] = [];
  for (const server of [stopped, silent]) {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = server.address();
    urls.push(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`);
  }
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  stopped.close();
  await once(stopped, 'close');
  const [gone = '', mute = ''] = urls;
  const ended = await readService({ name: 'a', url: gone, log_file: '/x/a.log' }, 60_000);
  expect(ended.message).toBe(
    'nothing listens on its port: it is stopped or has crashed; see /x/a.log',
  );
  const frozen = await readService({ name: 'a', url: mute }, 50);
  expect(frozen.message).toMatch(/^it did not answer within 0.05 s: .*; see its log$/);
});

test('the clock of a service is compared with the time in which it answered', async () => {
  const aheadOf = async (seconds: number): Promise<number | undefined> => {
    const metrics = new Metrics('treasury');
    metrics.gauge('service_clock_seconds', 'clock', [], function () {
      this.set(Date.now() / 1_000 + seconds);
    });
    const url = await service(READY, metrics);
    const seen = await readService({ name: 'treasury', url }, ANSWER_MS);
    return seen.metrics[CLOCK];
  };
  expect(await aheadOf(0)).toBe(0);
  // nearer to 0 by the time that the answer took
  const ahead = (await aheadOf(3_600)) ?? 0;
  expect([ahead > 0, ahead <= 3_600]).toEqual([true, true]);
  const behind = (await aheadOf(-3_600)) ?? 0;
  expect([behind < 0, behind >= -3_600]).toEqual([true, true]);
  const older = await readService({ name: 'treasury', url: await service(READY) }, ANSWER_MS);
  expect(older.metrics).not.toHaveProperty(CLOCK);
});

test('records that break a rule of their fields are shown by topic, where there are some', async () => {
  const treasury = new Metrics('treasury');
  const broken = treasury.gauge('reserve_records_broken', 'broken records', ['topic']);
  const details = async (): Promise<string> => servicesTable([await ofTreasury(treasury)]);
  broken.set({ topic: 'chain.blocks' }, 0);
  expect(await details()).not.toContain('break a rule');
  broken.set({ topic: 'chain.blocks' }, 2);
  expect(await details()).toContain('records that break a rule chain.blocks 2');
});

test.each([
  [[0, 0], [0, 0], '0 deposits wait for a person'],
  [
    [1, 30_000_000],
    [47, 94],
    '1 deposit of 30.00 USDT waits for a person, and 47 of less than 0.01 USDT',
  ],
  [[2, 3_500_000], [0, 0], '2 deposits of 3.50 USDT wait for a person'],
  [[0, 0], [45, 90], '0 deposits wait for a person, and 45 of less than 0.01 USDT'],
] as const)('deposits that wait %j and dust %j are told as: %s', async (held, dust, text) => {
  const treasury = new Metrics('treasury');
  const deposits = treasury.gauge('treasury_queue_deposits', 'deposits', ['status']);
  const amount = treasury.gauge('treasury_held_amount', 'amounts', ['status']);
  treasury.gauge('treasury_dust_below', 'dust').set(10_000);
  for (const [status, [count, sum]] of Object.entries({ needs_manual: held, dust })) {
    deposits.set({ status }, count);
    amount.set({ status }, sum);
  }
  const services = [await ofTreasury(treasury)];
  expect(waitText(waitingDeposits(services))).toBe(text);
  expect(servicesTable(services)).not.toContain('dust');
});

test('the services are those of the stack file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-ops-services-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'stack.json');
  const url = 'http://127.0.0.1:17011';
  writeFileSync(file, JSON.stringify({ services: { 'chain-ingester': { url, pid: 2 } } }));
  expect(localServices(file)).toEqual([{ name: 'chain-ingester', url }]);
  writeFileSync(file, JSON.stringify({ services: { treasury: { url } }, logs: '/x' }));
  expect(localServices(file)).toEqual([{ name: 'treasury', url, log_file: '/x/treasury.log' }]);
  expect(localServices(join(folder, 'none.json'))).toBeUndefined();
  writeFileSync(file, JSON.stringify({ pids: {}, ports: {} }));
  expect(() => localServices(file)).toThrow('lists no services');
});

/** A treasury whose newest run leaves so much uncovered, with these figures besides. */
async function reserveWith(
  uncovered: number,
  more: Readonly<Record<string, number>> = {},
): Promise<readonly ServiceHealth[]> {
  const treasury = new Metrics('treasury');
  const amount = treasury.gauge('reserve_amount', 'amounts', ['figure']);
  amount.set({ figure: 'custody_reported' }, 19_000_000);
  amount.set({ figure: 'ledger_liability' }, 16_000_000);
  amount.set({ figure: 'waiting' }, 8_000_000);
  amount.set({ figure: 'uncovered' }, uncovered);
  for (const [figure, value] of Object.entries(more)) amount.set({ figure }, value);
  return [await ofTreasury(treasury)];
}

function linesOf(services: readonly ServiceHealth[]): readonly string[] {
  return moneyLines(moneyOf(services, undefined));
}

test('the money of the newest run is shown in USDT and CLT', async () => {
  expect(linesOf(await reserveWith(1_234_567_890)).join('\n')).toMatch(
    /custody +19\.00 USDT\n[^]*not covered +1,234\.56789 USDT\n/,
  );
  expect(linesOf([])).toEqual([]);
});

test('money that is frozen, not proven or not minted is shown where there is some', async () => {
  const figures = ['frozen', 'unproven', 'unminted', 'unproven_refunds'];
  const none = await reserveWith(0, Object.fromEntries(figures.map((each) => [each, 0])));
  expect(linesOf(none).join('\n')).not.toMatch(/frozen|proven|credited/);
  const some = await reserveWith(
    0,
    Object.fromEntries(figures.map((each, at) => [each, (at + 1) * 1_000_000])),
  );
  expect(linesOf(some).join('\n')).toMatch(
    /frozen +1\.00 USDT\nnot proven +2\.00 USDT\ncredited, not minted +3\.00 USDT\nrefunds not proven +4\.00 USDT$/,
  );
  expect(coverOf(some)?.line).toMatch(/19\.00 USDT, of which 1\.00 are frozen, covers/);
});

test('whether custody covers what it has to is told by the amounts of the newest run', async () => {
  expect(coverOf(await reserveWith(5_000_000))).toEqual({
    is_short: true,
    line: expect.stringMatching(/19\.00 .*5\.00 .*16\.00.*8\.00/),
  });
  expect(coverOf(await reserveWith(0))).toMatchObject({ is_short: false });
  expect(coverOf([])).toBeUndefined();
});

/** A treasury with these metrics. */
function treasuryWith(metrics: ServiceHealth['metrics']): ServiceHealth {
  return { name: 'treasury', url: '', ready: true, ...READY, metrics };
}

const RUN = { 'reserve uncovered': 0, 'newest run over_backed_drift': 1 };
const WORKS = { 'lease held': 1, 'minting closed': 0 };
const STANDBY = { 'lease held': 0, 'minting closed': 0 };

test.each([
  ['closed', [STANDBY, { ...WORKS, 'minting closed': 1 }]],
  ['open', [STANDBY, WORKS]],
  ['unknown', [STANDBY]],
  [undefined, [{}]],
])('minting is %s by the treasury that works, not by one that stands by', (is, treasuries) => {
  const { states } = moneyOf(treasuries.map(treasuryWith), undefined);
  expect(states.find(({ name }) => name === 'minting')?.text).toBe(is);
});

test.each([
  [{ ...RUN, 'its age in seconds': 784 }, 'more custody than needed, 13 min ago', 'warn'],
  [{ ...RUN, 'its age in seconds': -1 }, 'none yet', 'bad'],
  [{ 'reserve uncovered': 0, 'its age in seconds': 2 }, 'unknown, 2 s ago', 'bad'],
])('the newest run of a treasury with %j is in words', (metrics, text, tone) => {
  const [run] = moneyOf([treasuryWith(metrics)], undefined).states;
  expect(run).toEqual({ name: 'reserve run', text, tone });
});

test('the money is that of the newest run that any treasury knows, whichever comes first', () => {
  const fresh = { ...RUN, 'its age in seconds': 4, 'reserve custody_reported': 19_000_000 };
  const before = { ...RUN, 'its age in seconds': 9_000, 'reserve custody_reported': 7_000_000 };
  const none = { 'its age in seconds': -1 };
  for (const first of [before, none]) {
    const services = [first, fresh].map(treasuryWith);
    expect(newestRun(services)).toMatchObject({ age_seconds: 4 });
    expect(linesOf(services).join('\n')).toMatch(/custody +19\.00 USDT[^]*reserve run: .* 4 s ago/);
    expect(coverOf(services)?.line).toMatch(/custody of 19\.00 USDT/);
  }
});

test('the room under the cap and the reasons of those that wait come from the tables', async () => {
  const held = [
    ['below_minimum', '1', '750000'],
    ['of_a_newer_version', '3', '12000000'],
    [null, '1', '1'],
  ];
  const rows = (asked: Statement): Promise<readonly Cells[]> =>
    Promise.resolve(asked === HELD_BY_REASON ? held : [['4200000000']]);
  const money = moneyOf([], await readQueue({ rows }, 0));
  expect(money.waiting?.map(({ reason }) => reason)).toEqual([
    'below_minimum',
    'of_a_newer_version',
    'unknown',
  ]);
  expect(moneyLines(money).slice(2, 4)).toEqual([
    '1 waits for a person, 0.75 USDT: the credit is below the minimum',
    '3 wait for a person, 12.00 USDT: of_a_newer_version',
  ]);
  expect(moneyLines(money)[1]).toMatch(/left of the rolling cap +4,200\.00 CLT$/);
  // without Postgres nothing is said, which is not the same as none
  expect(moneyOf([], undefined)).toEqual({ amounts: [], states: [], waiting: null });
});
