/** Each check by what it looks at, and the page that lists them. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readConfig } from '../../../../services/runtime/process/config.ts';
import { STATUS_LIMITS } from '../../../../services/ops/config.ts';
import { attention, CHECKS, linesOf, type Seen } from '../../../../services/ops/status/checks.ts';
import type { Position } from '../../../../services/ops/status/positions.ts';
import type { Server } from '../../../../services/ops/status/servers.ts';
import type { ServiceHealth } from '../../../../services/ops/status/services.ts';

const LIMITS = readConfig({}, STATUS_LIMITS);

const TREASURY: ServiceHealth = {
  name: 'treasury',
  url: 'http://127.0.0.1:1',
  status: 'ready',
  ready: true,
  phase: 'deciding',
  waits_for: null,
  eta_s: null,
  message: null,
  notes: [],
  metrics: { 'lease held': 1, 'newest run ok': 1, 'its age in seconds': 3, 'log height': 100 },
};

const POSITION: Position = {
  projection: 'explorer',
  version: 1,
  topic: 'chain.blocks',
  partition: 0,
  next_offset: 50n,
  lag: 0n,
  rate: 1,
  idle_seconds: 1,
  loading: false,
};

const slotOf = (is_lost: boolean) => ({
  name: 'postgres_2',
  is_active: false,
  is_lost,
  bytes: 0,
});
const PRIMARY: Server = {
  kind: 'postgres',
  name: 'postgres-1:5432',
  state: 'primary',
  why: null,
  timeline: '00000001',
  started_at: 1,
  slots: [],
};

const BROKER: Server = { ...PRIMARY, kind: 'kafka', name: 'broker 1 at a:1', state: 'broker' };

const WELL: Seen = {
  unanswered: [],
  node_height: 100,
  log: [{ topic: 'chain.blocks', partition: 0, low: 0n, high: 50n }],
  projections: [POSITION],
  recent: new Map([['chain.blocks/0', 50n]]),
  replica_seconds: 0,
  servers: [PRIMARY],
  services: [TREASURY],
  disk: { path: '/data', free_bytes: 2 ** 40 },
  halting: [],
  certificates: [{ of: 'kafka:9092', days_left: 90 }],
};

function withMetrics(metrics: ServiceHealth['metrics']): Seen {
  return { ...WELL, services: [{ ...TREASURY, metrics: { ...TREASURY.metrics, ...metrics } }] };
}

function withService(more: Partial<ServiceHealth>): Seen {
  return { ...WELL, services: [{ ...TREASURY, ...more }] };
}

test('a whole system needs nobody', () => {
  expect(attention(WELL, LIMITS)).toEqual([]);
});

/** By check: what it sees, which makes one line, and a part of this line. */
const CASES: readonly (readonly [check: string, seen: Seen, line: string])[] = [
  ['unanswered', { ...WELL, unanswered: ['the brokers are silent'] }, 'the brokers are silent'],
  ['services_unknown', { ...WELL, services: null }, 'nothing lists the services'],
  ['service', withService({ status: 'unreachable' }), 'npx ops restart treasury'],
  ['service', withService({ status: 'halted', message: 'mend it' }), 'mend it'],
  ['service', withService({ message: 'minting is closed: no run' }), 'minting is closed'],
  ['service_note', withService({ notes: ['the rolling cap is full'] }), 'cap is full'],
  ['clock', withMetrics({ 'clock ahead in seconds': 3_600.2 }), 'is 3600 s ahead of the one'],
  ['clock', withMetrics({ 'clock ahead in seconds': -11 }), 'is 11 s behind the one'],
  [
    'quarantine',
    { ...WELL, halting: [{ projection: 'watch', record: 'tron.transfers/1@4' }] },
    'watch is halted at tron.transfers/1@4',
  ],
  ['log_lost', { ...WELL, projections: [{ ...POSITION, lag: -3n }] }, 'ends 3 records before'],
  [
    'log_start_lost',
    { ...WELL, log: [{ topic: 'tron.transfers', partition: 4, low: 7n, high: 50n }] },
    'tron.transfers/4 begins at offset 7: the records before it were deleted',
  ],
  ['lag_records', { ...WELL, projections: [{ ...POSITION, lag: 1_001n }] }, '1001 records behind'],
  ['lag_records', { ...WELL, projections: [{ ...POSITION, lag: null }] }, 'is not known'],
  [
    'lag_records',
    { ...WELL, log: [], projections: [{ ...POSITION, lag: null }] },
    'is not known: the brokers have no topic chain.blocks',
  ],
  [
    'lag_seconds',
    { ...WELL, recent: new Map([['chain.blocks/0', 51n]]) },
    'lacks records that are older than 60 s',
  ],
  ['replica', { ...WELL, replica_seconds: 61 }, '61 s behind its primary'],
  ...[true, false].map(
    (is_lost) =>
      [
        'replica_away',
        { ...WELL, servers: [{ ...PRIMARY, slots: [slotOf(is_lost)] }] },
        is_lost ? 'by npx ops restart postgres-2' : 'slot postgres_2 of postgres-1:5432: start it',
      ] as const,
  ),
  [
    'two_primaries',
    {
      ...WELL,
      servers: [
        PRIMARY,
        { ...PRIMARY, name: 'postgres-2:5432', timeline: '00000002', started_at: 2 },
      ],
    },
    'postgres-1:5432 (timeline 00000001) and postgres-2:5432 (timeline 00000002) may be written to',
  ],
  [
    'kafka_replicas',
    withMetrics({ 'replicas missing chain.blocks': 1 }),
    'not in sync, of chain.blocks: a broker is away or frozen, or catches up',
  ],
  [
    'kafka_replicas',
    {
      ...withMetrics({ 'replicas missing chain.blocks': 1 }),
      servers: [{ ...PRIMARY, kind: 'kafka', name: 'broker 2', state: 'away' }],
    },
    'of chain.blocks: broker 2: away or frozen: on this machine npx ops restart kafka-2',
  ],
  [
    'kafka_replicas',
    { ...WELL, servers: [PRIMARY, BROKER, { ...BROKER, name: 'broker 2', state: 'away' }] },
    'broker 2: away or frozen: on this machine npx ops restart kafka-2',
  ],
  [
    'kafka_replicas',
    {
      ...WELL,
      servers: [BROKER, { ...BROKER, name: 'broker 2 at b:1', state: 'away', why: 'crashed' }],
    },
    'broker 2 at b:1: crashed',
  ],
  ['kafka_replicas', withMetrics({ 'topic differs chain.blocks': 1 }), 'not as durable'],
  ['blocks_behind', { ...WELL, node_height: 121 }, '21 blocks behind'],
  ['treasury_lag', withMetrics({ 'records behind': 1_001 }), '1001 records behind'],
  ['unasked', withMetrics({ 'longest unasked in seconds': 7_201 }), 'for 7201 s'],
  ['mint_late', withMetrics({ 'oldest in seconds mint_requested': 901 }), 'for 901 s'],
  ['minting_closed', withMetrics({ 'minting closed': 1 }), 'minting is closed'],
  ['cap', withMetrics({ 'cap used': 0.91 }), '91 %'],
  ['deposits_waiting', withMetrics({ 'deposits needs_manual': 1 }), '1 deposit waits'],
  ['dead_mints', withMetrics({ 'age of MintDead': 3_599 }), 'MintDead 3599 s ago'],
  ['reserve', withMetrics({ 'reserve uncovered': 1 }), 'nothing is minted'],
  ['reserve', withMetrics({ 'newest run ok': 0, 'newest run mismatch': 1 }), 'run is mismatch'],
  ['reserve_age', withMetrics({ 'its age in seconds': 3_601 }), '3601 s old'],
  ['reserve_age', withMetrics({ 'its age in seconds': -1 }), 'there is no reserve run'],
  ['reading_age', withMetrics({ 'oldest balance in seconds': 172_801 }), '172801 s ago'],
  ['snapshot_age', withMetrics({ 'snapshot age in seconds': 604_801 }), '604801 s old'],
  ['certificate', { ...WELL, certificates: [{ of: 'kafka:9092', days_left: 13.5 }] }, 'in 13 days'],
  ['certificate', { ...WELL, certificates: [{ of: 'kafka:9092', days_left: -1 }] }, 'has expired'],
  ['disk', { ...WELL, disk: { path: '/data', free_bytes: 2 ** 29 } }, '512 MB free'],
];

test.each(CASES)('the check %s alone makes a line', (name, seen, line) => {
  const found = CHECKS.flatMap((check) =>
    linesOf(check, seen, LIMITS).map((text) => [check.name, text]),
  );
  expect(found).toEqual([[name, expect.stringContaining(line)]]);
});

test('every check has a case', () => {
  expect(new Set(CASES.map(([name]) => name))).toEqual(new Set(CHECKS.map(({ name }) => name)));
});

test('brokers that do not answer make one line, whatever is not known without them', () => {
  const projections = [{ ...POSITION, lag: null }];
  const seen = { ...WELL, unanswered: ['Kafka did not answer'], projections, recent: null };
  expect(attention(seen, LIMITS)).toEqual(['Kafka did not answer']);
});

test('a treasury that stands by is not behind, and a message of the treasury is told once', () => {
  const standby = withMetrics({ 'lease held': 0, 'records behind': 5_000 });
  expect(attention(standby, LIMITS)).toEqual([]);
  const closed = withService({
    message: 'minting is closed: no run',
    metrics: { ...TREASURY.metrics, 'minting closed': 1 },
  });
  expect(attention(closed, LIMITS)).toHaveLength(1);
});

test('docs/operations/monitoring.md lists every check with its setting', () => {
  const page = readFileSync(
    new URL('../../../../docs/operations/monitoring.md', import.meta.url),
    'utf8',
  );
  const rows = CHECKS.map(({ name, fails, setting, to_do: toDo }) => {
    const variable = setting === undefined ? '' : `\`${STATUS_LIMITS[setting].name}\``;
    return `| \`${name}\` | ${fails} | ${variable} | ${toDo} |`;
  });
  expect(page).toContain(rows.join('\n'));
});

test('services that say the same share a line, whatever check says it and for how long', () => {
  const missing = 'topic_missing: the Kafka brokers have no topic chain.blocks';
  const services = [
    ['treasury', `treasury: waiting: ${missing} for 12 s`],
    ['chain-ingester', `chain.blocks: waiting: ${missing} for 3 s`],
    ['tron-watcher', 'chain.blocks: waiting: a record at offset 7'],
    ['projector-watch', 'watch: waiting: a record at offset 8'],
  ].map(([name = '', message = '']): ServiceHealth =>
    Object.assign({}, TREASURY, {
      name,
      message,
      status: 'waiting' as const,
      waits_for: 'kafka',
      metrics: {},
    }),
  );
  expect(attention({ ...WELL, services }, LIMITS)).toEqual([
    `treasury, chain-ingester: WAITING for kafka: ${missing} for 12 s`,
    'tron-watcher: WAITING for kafka: a record at offset 7',
    'projector-watch: WAITING for kafka: a record at offset 8',
  ]);
});
