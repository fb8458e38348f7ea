import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { defaultPorts } from '../../../infra/services/ports.ts';
import { services } from '../../../infra/services/services.ts';
import { DEPRECATED_METRICS, Metrics } from '../../../services/runtime/process/metrics.ts';
import { systemProgram } from '../../support/system-program.ts';

const ROOT = join(import.meta.dirname, '../../..');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly action: string };
}

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly gridPos: {
    readonly x: number;
    readonly y: number;
    readonly w: number;
    readonly h: number;
  };
  readonly targets?: readonly {
    readonly expr: string;
    readonly datasource: { readonly uid: string };
  }[];
}

const alerts: {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
} = parse(read('infra/prometheus/alerts.yml'));
const rules = alerts.groups.flatMap((group) => group.rules);
const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(
  read('infra/grafana/dashboards/clt.json'),
);
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
];

function alertsIn(groups: readonly string[]): readonly string[] {
  return alerts.groups
    .filter(({ name }) => groups.includes(name))
    .flatMap(({ rules: each }) => each.map(({ alert }) => alert));
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** The files with tests for promtool. */
const TESTED = ['alerts', 'causes', 'days'].map((name) => `test/infra/prometheus/${name}.yml`);

/** Metrics of others that alerts use: of exporters, and of jobs (docs/operations/monitoring.md). */
const OF_OTHERS = [
  'audit_finished_timestamp_seconds',
  'backup_finished_timestamp_seconds',
  'certificate_expires_timestamp_seconds',
  'cnpg_pg_replication_lag',
  'cnpg_pg_replication_slots_pg_wal_lsn_diff',
  'node_filesystem_avail_bytes',
  'node_filesystem_readonly',
  'node_filesystem_size_bytes',
  'node_time_seconds',
];

/** The names of a scrape: metrics of services, of exporters, and those of every Node process. */
async function names(): Promise<ReadonlySet<string>> {
  const sources = readdirSync(join(ROOT, 'services'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => read(join('services', path)));
  const registered = [
    ...sources.join('\n').matchAll(/\b(counter|gauge|histogram)\(\s*'([a-z_]+)'/g),
  ];
  // the treasury and the hub register a list of gauges at once
  const listed = [...sources.join('\n').matchAll(/\[\s*'((?:treasury|hub)_[a-z_]+)',\s*'/g)].map(
    ([, name = '']) => name,
  );
  const found = registered.flatMap(([, kind, name = '']) =>
    kind === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
  const own = await new Metrics('test').registry.getMetricsAsJSON();
  return new Set(['up', ...OF_OTHERS, ...found, ...listed, ...own.map(({ name }) => name)]);
}

const WORDS = new Set(['by', 'on', 'and', 'or', 'without', 'ignoring', 'unless']);

/** The metrics in an expression. */
function metricsIn(expression: string): readonly string[] {
  const bare = expression
    .replaceAll(/"[^"]*"/g, '')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\boffset [0-9]+[smhd]/g, '')
    .replaceAll(/\b(?:by|on|without|ignoring)\s*\([^)]*\)/g, '');
  return [...bare.matchAll(/[a-z_][a-z_0-9]*\b(?!\s*\()/g)]
    .map(([name]) => name)
    .filter((name) => !WORDS.has(name));
}

test('alerts and the dashboard use registered metrics only', async () => {
  const known = await names();
  expect(known.size).toBeGreaterThan(60);
  expect(expressions.length).toBeGreaterThan(50);
  expect(expressions.filter((expression) => metricsIn(expression).length === 0)).toEqual([]);
  expect(expressions.flatMap(metricsIn).filter((name) => !known.has(name))).toEqual([]);
  expect(
    metricsIn('sum by (status) (rate(no_such_total{status="5.."}[5m])) > 0.5 and on (x) up == 0'),
  ).toEqual(['no_such_total', 'up']);
});

test('every deprecated name repeats a registered metric, and the page on monitoring lists both', async () => {
  const known = await names();
  const renamed = Object.entries(DEPRECATED_METRICS);
  expect(renamed.filter(([before, name]) => known.has(before) || !known.has(name))).toEqual([]);
  const rows = read('docs/operations/monitoring.md').matchAll(/^\| `(\w+)` \| `(\w+)` \|$/gm);
  expect([...rows].map(([, before, name]) => [before, name])).toEqual(renamed);
});

test('Prometheus scrapes every service and exporter at its port in docker compose', () => {
  const config: {
    readonly scrape_configs: readonly {
      readonly static_configs: readonly { readonly targets: readonly string[] }[];
    }[];
  } = parse(read('infra/prometheus/prometheus.yml'));
  const targets = config.scrape_configs.flatMap(({ static_configs: staticConfigs }) =>
    staticConfigs.flatMap((part) => part.targets),
  );
  expect(targets.toSorted()).toEqual(
    [
      ...services.map(({ name, ops_port: opsPort }) => `${name}:${defaultPorts[opsPort]}`),
      'node-exporter:9100',
    ].toSorted(),
  );
});

test('every alert has a unique name, a summary and an action', () => {
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
  for (const { alert, labels, annotations } of rules) {
    expect(['page', 'ticket'], alert).toContain(labels.severity);
    expect(annotations.summary.length, alert).toBeGreaterThan(20);
    expect(annotations.action.length, alert).toBeGreaterThan(20);
  }
});

test('every alert about causes, money, instances and the log has a test for promtool', () => {
  const files: readonly { readonly tests: readonly { readonly name: string }[] }[] = TESTED.map(
    (path) => parse(read(path)),
  );
  const tests = files.flatMap((file) => file.tests);
  const named = alertsIn(['causes', 'instances', 'deposits', 'minting', 'reserve', 'log']);
  expect(named.length).toBeGreaterThan(30);
  expect(new Set(tests.map(({ name }) => name))).toEqual(new Set(named));
});

test('promtool finds each of them right', async ({ skip }) => {
  const program = await systemProgram(['promtool'], 'prometheus');
  if (program === undefined)
    return skip('there is no promtool on this machine: install the package prometheus');
  const paths = TESTED.map((path) => join(ROOT, path));
  const { status, stderr } = spawnSync(program, ['test', 'rules', ...paths], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

test('no two panels of the dashboard lie over each other, and all ask the data source that is provisioned', () => {
  const sources: { readonly datasources: readonly { readonly uid: string }[] } = parse(
    read('infra/grafana/provisioning/datasources/prometheus.yml'),
  );
  const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)}:${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  const uids = new Set(
    dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource.uid)),
  );
  expect([...uids]).toEqual(sources.datasources.map(({ uid }) => uid));
});
