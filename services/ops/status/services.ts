/** The services of a stack, by their own /status, and the metrics that a person looks at first. */
import { existsSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../runtime/process/errors.ts';
import type { ServiceStatus } from '../../runtime/process/health.ts';
import { readStackFile } from '../config.ts';
import { coloured, money, table } from '../text.ts';
import { Misuse } from '../usage.ts';
import { whyAway } from './away.ts';
import { startedText } from './servers.ts';

export interface LocalService {
  readonly name: string;
  readonly url: string;
  /** the file that it logs to, of a stack on this machine */
  readonly log_file?: string;
}

export interface ServiceHealth
  extends Omit<LocalService, 'log_file'>, Omit<ServiceStatus, 'status'> {
  readonly status: ServiceStatus['status'] | 'unreachable';
  readonly ready: boolean;
  /** by their label; those that the service has */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Seconds by which the clock of a service is ahead of this one; negative: behind. */
export const CLOCK = 'clock ahead in seconds';

/** Unix seconds. */
const STARTED = 'started';

/** The metrics that are shown: label, name of the metric, and its label to list it by. */
const SHOWN: readonly (readonly [label: string, metric: string, by?: string])[] = [
  ['node height', 'chain_node_height'],
  ['log height', 'chain_log_height'],
  ['races lost', 'chain_races_lost_total'],
  ['races lost', 'treasury_races_lost_total'],
  ['log records', 'projection_records_total', 'outcome'],
  ['records behind', 'projection_lag_records'],
  ['records behind', 'treasury_lag_records'],
  ['deposits', 'treasury_queue_deposits', 'status'],
  ['held amount', 'treasury_held_amount', 'status'],
  ['dust below', 'treasury_dust_below'],
  ['oldest in seconds', 'treasury_queue_oldest_seconds', 'status'],
  ['minting closed', 'treasury_minting_closed'],
  ['decisions without effect', 'treasury_decisions_refused', 'reason'],
  ['records that break a rule', 'treasury_records_broken', 'topic'],
  ['records that break a rule', 'reserve_records_broken', 'topic'],
  ['newest run', 'reserve_newest_run', 'status'],
  ['its age in seconds', 'reserve_newest_run_age_seconds'],
  ['oldest balance in seconds', 'reserve_oldest_reading_age_seconds'],
  ['reserve', 'reserve_amount', 'figure'],
  ['lease held', 'lease_held'],
  ['age of', 'treasury_mint_failed_age_seconds', 'event'],
  ['cap used', 'treasury_rolling_cap_used_ratio'],
  ['replicas missing', 'log_replicas_missing', 'topic'],
  ['topic differs', 'log_topic_differences', 'topic'],
  [CLOCK, 'service_clock_seconds'],
  [STARTED, 'process_start_time_seconds'],
  ['snapshot age in seconds', 'treasury_snapshot_age_seconds'],
  ['partitions watched', 'tron_partitions_assigned'],
  ['longest unasked in seconds', 'tron_cold_check_age_seconds'],
  ['sockets', 'hub_sockets'],
  ['behind', 'hub_sockets_backpressured'],
  ['deliveries', 'hub_deliveries'],
];

/** The services of a setting, else of the stack file; undefined where there is neither. */
export function localServices(
  stackFile: string,
  listed: readonly string[] = [],
): readonly LocalService[] | undefined {
  if (listed.length > 0)
    return listed.map((entry) => {
      const at = entry.indexOf('=');
      return { name: entry.slice(0, at), url: entry.slice(at + 1) };
    });
  const stack = readStackFile(stackFile);
  if (Object.keys(stack).length === 0) return undefined;
  const services: unknown = Reflect.get(stack, 'services');
  if (typeof services !== 'object' || services === null)
    throw new Misuse(
      `${stackFile} lists no services: it is no stack file, or an earlier version of the software wrote it; then stop the stack and start it again (npm run down, npm run up)`,
    );
  const entries: [string, { readonly url: string }][] = Object.entries(services);
  const logs: unknown = Reflect.get(stack, 'logs');
  return entries.map(([name, { url }]) =>
    typeof logs === 'string' ? { name, url, log_file: join(logs, `${name}.log`) } : { name, url },
  );
}

/**
 * Brokers, Postgres and the node of a stack on this machine, by host:port: their names for
 * `ops restart`. A cluster has the ports of each instance.
 */
export function localParts(stackFile: string): ReadonlyMap<string, string> {
  const ports: unknown = Reflect.get(readStackFile(stackFile), 'ports');
  return new Map(
    Array.isArray(ports)
      ? ports.flatMap((each, at) => partsAt(each, `-${at + 1}`))
      : partsAt(ports, ''),
  );
}

function partsAt(ports: unknown, suffix: string): readonly (readonly [string, string])[] {
  const at = (name: string): string => `127.0.0.1:${String(Reflect.get(Object(ports), name))}`;
  return [
    [at('kafka'), `kafka${suffix}`],
    [at('postgres'), `postgres${suffix}`],
    // a cluster has one
    [at('node'), 'devnet'],
  ];
}

export interface Disk {
  readonly path: string;
  readonly free_bytes: number;
}

/** The disk with the data of the stack file's stack; null where there is none here. */
export function localDisk(stackFile: string): Disk | null {
  const path: unknown = Reflect.get(readStackFile(stackFile), 'data');
  if (typeof path !== 'string' || !existsSync(path)) return null;
  const { bavail, bsize } = statfsSync(path);
  return { path, free_bytes: bavail * bsize };
}

/** The health of a service, which is unreachable when it does not answer within `answer_ms`. */
export async function readService(
  { name, url, log_file }: LocalService,
  answer_ms: number,
): Promise<ServiceHealth> {
  const get = (path: string): Promise<string> => textAt(`${url}${path}`, answer_ms);
  try {
    const begun = Date.now() / 1_000;
    const [status, text] = await Promise.all([get('/status'), get('/metrics')]);
    const { [CLOCK]: clock, ...metrics } = metricsIn(text);
    // when it was read in between is not known
    const near = clock === undefined ? 0 : Math.min(Math.max(clock, begun), Date.now() / 1_000);
    // an older service has no notes
    const answered: ServiceStatus = { notes: [], ...JSON.parse(status) };
    const ready = answered.status === 'ready';
    const apart = clock === undefined ? {} : { [CLOCK]: clock - near };
    return { name, url, ready, ...answered, metrics: Object.assign(metrics, apart) };
  } catch (error) {
    const message = `${unreachableText(error, answer_ms)}; see ${log_file ?? 'its log'}`;
    const nothing = { phase: 'unknown', waits_for: null, eta_s: null, notes: [], metrics: {} };
    return { name, url, ready: false, status: 'unreachable', ...nothing, message };
  }
}

/** Whether it has stopped, or listens and is silent. */
function unreachableText(error: unknown, answer_ms: number): string {
  const { why, cause } = whyAway(error);
  if (why === 'refused') return 'nothing listens on its port: it is stopped or has crashed';
  if (why === 'silent')
    return `it did not answer within ${answer_ms / 1_000} s: it listens and is frozen or overloaded, or its machine is away`;
  return messageOf(cause);
}

async function textAt(url: string, answer_ms: number): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(answer_ms) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response.text();
}

const SAMPLE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm;

/** Sums of the samples that have the same label here. */
function metricsIn(text: string): Readonly<Record<string, number>> {
  const sums = new Map<string, number>();
  for (const [, metric, labels = '', value] of text.matchAll(SAMPLE)) {
    for (const [label, shown, by] of SHOWN) {
      if (shown !== metric) continue;
      const part =
        by === undefined ? undefined : new RegExp(`(?:^|,)${by}="([^"]*)"`).exec(labels)?.[1];
      const whole = part === undefined ? label : `${label} ${part}`;
      sums.set(whole, (sums.get(whole) ?? 0) + Number(value));
    }
  }
  return Object.fromEntries(sums);
}

const WIDTH = 100;

/**
 * For people: a row a service, with those that have not answered yet. Money and its times are left
 * out, and a part that is 0.
 */
export function servicesTable(
  services: readonly ServiceHealth[],
  late: readonly string[] = [],
): string {
  const rows = services.map((service) => {
    const details = Object.entries(service.metrics)
      .filter(([label, value]) => value !== 0 && !HIDDEN.test(label))
      .map(([label, value]) => `${label} ${valueText(value)}`);
    details.push(...deadText(service.metrics));
    const started = startedText(service.metrics[STARTED] ?? 0, Date.now() / 1_000);
    if (started !== '') details.unshift(started);
    return [service.name, stateCell(service), details.join(', ')];
  });
  const waiting = late.map((name) => [name, coloured('yellow', 'has not answered yet'), '']);
  return table(['SERVICE', 'STATE', 'DETAILS'], [...rows, ...waiting], WIDTH);
}

const HIDDEN =
  /^(?:log records|lease held|reserve|newest run|its age|oldest|deposits|held amount|dust below|minting closed|age of|cap used|clock ahead|started) ?/;

function stateCell({ status, phase, waits_for, eta_s }: ServiceHealth): string {
  if (status === 'ready')
    return coloured('green', phase === 'standing_by' ? 'ready, standing by' : 'ready');
  const wait = waits_for === null ? '' : ` for ${waits_for}`;
  const eta = eta_s === null ? '' : `, about ${eta_s} s left`;
  return coloured(status === 'working' ? 'yellow' : 'red', `${status}${wait}${eta}`);
}

/** Deposits that wait for a person's decision. */
export interface Waiting {
  readonly deposits: number;
  /** deposits of less than `dust_below` */
  readonly dust: number;
  /** micro-USDT that arrived for the deposits, and from which on none is dust */
  readonly amount: bigint;
  readonly dust_below: bigint;
}

/** From the treasury's metrics; instances show the same figures, so the largest is taken. */
export function waitingDeposits(services: readonly ServiceHealth[]): Waiting {
  const figure = (label: string): number =>
    Math.max(0, ...services.map(({ metrics }) => metrics[label] ?? 0));
  const amount = (label: string): bigint => BigInt(Math.round(figure(label)));
  return {
    deposits: figure('deposits needs_manual'),
    dust: figure('deposits dust'),
    amount: amount('held amount needs_manual'),
    dust_below: amount('dust below'),
  };
}

/** As a sentence: `1 deposit of 30.00 USDT waits for a person, and 47 of less than 0.01 USDT`. */
export function waitText({ deposits, dust, amount, dust_below: dustBelow }: Waiting): string {
  const of = amount === 0n ? '' : ` of ${money(amount)} USDT`;
  const many =
    deposits === 1
      ? `1 deposit${of} waits for a person`
      : `${deposits} deposits${of} wait for a person`;
  return dust === 0 ? many : `${many}, and ${dust} of less than ${money(dustBelow)} USDT`;
}

const RUN = 'newest run ';

/** The newest reserve run, age -1: there is none; undefined: no treasury says. */
export function newestRun(
  services: readonly ServiceHealth[],
): { readonly status: string | undefined; readonly age_seconds: number } | undefined {
  const metrics = runMetrics(services);
  if (metrics === undefined || !(AGE in metrics)) return undefined;
  const [status] =
    Object.entries(metrics).find(([label, value]) => label.startsWith(RUN) && value === 1) ?? [];
  return { status: status?.slice(RUN.length), age_seconds: metrics[AGE] ?? -1 };
}

const AGE = 'its age in seconds';

/** Metrics of the treasury that knows the newest run: one that has just started reads the log. */
export function runMetrics(
  services: readonly ServiceHealth[],
): ServiceHealth['metrics'] | undefined {
  const age = ({ [AGE]: seconds = -1 }: ServiceHealth['metrics']): number =>
    seconds < 0 ? Number.MAX_VALUE : seconds;
  const [newest] = services
    .map(({ metrics }) => metrics)
    .filter((metrics) => AGE in metrics || UNCOVERED in metrics)
    .toSorted((one, other) => age(one) - age(other));
  return newest;
}

/** Every figure of the newest run is there, except those that are 0. */
function amountOf(metrics: ServiceHealth['metrics'], figure: string): string {
  return money(BigInt(Math.round(metrics[`reserve ${figure}`] ?? 0)));
}

const RECORDS = 'log records ';

/** Records that had no effect since the projector's start: their writer had lost a race. */
function deadText(metrics: Readonly<Record<string, number>>): readonly string[] {
  const { [`${RECORDS}applied`]: applied = 0, [`${RECORDS}ignored`]: dead = 0 } = metrics;
  if (dead === 0) return [];
  const share = (100 * dead) / (applied + dead);
  return [`without effect ${dead} of ${applied + dead} records (${share.toFixed(1)} %)`];
}

function valueText(value: number): string {
  return Number.isInteger(value) ? `${value}` : value.toFixed(1);
}

/** Whether custody covers what it has to, by the treasury's newest run; undefined without a run. */
export function coverOf(
  services: readonly ServiceHealth[],
): { readonly line: string; readonly is_short: boolean } | undefined {
  const metrics = runMetrics(services);
  if (metrics === undefined || !(UNCOVERED in metrics)) return undefined;
  const usdt = (figure: string): string => amountOf(metrics, figure);
  const owed = `liability ${usdt('ledger_liability')}, minting ${usdt('minting')}, waiting ${usdt('waiting')}`;
  const is_short = (metrics[UNCOVERED] ?? 0) > 0;
  const cover = is_short ? `lacks ${usdt('uncovered')} USDT of` : 'covers';
  const isFrozen = (metrics['reserve frozen'] ?? 0) > 0;
  const frozen = isFrozen ? `, of which ${usdt('frozen')} are frozen,` : '';
  return {
    is_short,
    line: `custody of ${usdt('custody_reported')} USDT${frozen} ${cover} ${owed}`,
  };
}

export const UNCOVERED = 'reserve uncovered';

/** Why a service is not ready, and for how long. */
export function stateText({ status, waits_for, eta_s, message }: ServiceHealth): string {
  const wait = waits_for === null ? '' : ` for ${waits_for}`;
  const eta = eta_s === null ? '' : `, about ${eta_s} s left`;
  // the message begins with the name of its check and the state, and the code of the fault
  const why = (message ?? '')
    .replace(/^(?:[\w. -]+: )?(?:waiting|halted): /, '')
    .replace(/^kafka: /, '');
  return `${status.toUpperCase()}${wait}: ${why}${eta}`;
}
