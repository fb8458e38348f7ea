/** `ops status`: how far the node, the log and every projection are, and how the services are. */
import { setTimeout as after } from 'node:timers/promises';
import { TOPICS } from '../../../schemas/topics.ts';
import { ChainNode } from '../../runtime/clt-node.ts';
import type { Kafka, KafkaSettings, LogEnd } from '../../runtime/kafka/port.ts';
import { Hosts } from '../../runtime/postgres/hosts.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import type { Config } from '../../runtime/process/config.ts';
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import {
  KAFKA,
  NODE,
  POSTGRES_READER,
  readSettings,
  STATUS_LIMITS,
  STATUS_SERVICES,
  type Limits,
} from '../config.ts';
import { jsonOf, kafkaOf, note, print, withReader } from '../connections.ts';
import { readQuarantine } from '../quarantine/quarantine.ts';
import { coloured, table } from '../text.ts';
import { timeout, type SharedArguments } from '../usage.ts';
import { readCertificates } from './certificates.ts';
import { attention, diskText } from './checks.ts';
import { lagOf, readLog, readMoving, readReplicaSeconds, type Position } from './positions.ts';
import { readPrimaries } from './postgres.ts';
import {
  localDisk,
  localServices,
  moneyLines,
  readServices,
  servicesTable,
  waitingDeposits,
  waitText,
  type Disk,
  type LocalService,
  type ServiceHealth,
} from './services.ts';

/** A part that did not answer is null. */
export interface Status {
  readonly node: { readonly height: number; readonly finalized_height: number } | null;
  readonly log: readonly LogEnd[] | null;
  readonly projections: readonly Position[] | null;
  /** null: nothing lists them */
  readonly services: readonly ServiceHealth[] | null;
  /** of a stack on this machine */
  readonly disk: Disk | null;
  /** a line for each thing that needs a person, by the list of checks */
  readonly attention: readonly string[];
}

export interface Sources {
  readonly node: ChainNode;
  readonly kafka: Kafka;
  readonly kafka_settings: KafkaSettings;
  readonly reader: Reader;
  /** of `reader` */
  readonly hosts: Hosts;
  /** undefined: nothing lists them */
  readonly services: readonly LocalService[] | undefined;
  readonly disk: Disk | null;
  /** addresses whose certificates are looked at where they have some */
  readonly urls: readonly string[];
  /** the connection string of `reader`, whose servers have certificates too */
  readonly postgres_url: string;
  readonly limits: Limits;
}

export const STATUS_SETTINGS = {
  ...KAFKA,
  ...POSTGRES_READER,
  ...NODE,
  ...STATUS_LIMITS,
  status_services: STATUS_SERVICES,
} as const;

const TOPIC_NAMES = TOPICS.map(({ name }) => name);
/** With the start and the end of the process about 10 s. */
const TIMEOUT_S = 8;
/** A person is told what is waited for after this time. */
const NOTE_MS = 2_000;

export async function status(args: SharedArguments): Promise<number> {
  const config = readSettings(STATUS_SETTINGS, args.stack);
  const result = await withReader(config, (reader) =>
    readStatus(sourcesOf(config, reader, args.stack), timeout(args, TIMEOUT_S), (text) =>
      note(text, args),
    ),
  );
  print(args.json === true ? jsonOf(result) : statusText(result));
  return result.attention.length === 0 ? 0 : 2;
}

/** Throws `Misuse` where the stack file is none. */
export function sourcesOf(
  config: Config<typeof STATUS_SETTINGS>,
  reader: Reader,
  stackFile: string,
): Sources {
  return {
    node: new ChainNode(config.node_url, new AbortController().signal),
    kafka: kafkaOf(config),
    kafka_settings: config,
    reader,
    hosts: Hosts.of(config.postgres_reader_url),
    services: localServices(stackFile, config.status_services),
    disk: localDisk(stackFile),
    urls: [config.node_url],
    postgres_url: config.postgres_reader_url,
    limits: config,
  };
}

/** Asks for `timeout_ms` at most; `say` is told what has not answered for some time. */
export async function readStatus(
  {
    node,
    kafka,
    kafka_settings,
    reader,
    hosts,
    services: local,
    disk,
    urls,
    postgres_url: postgresUrl,
    limits,
  }: Sources,
  timeout_ms = TIMEOUT_S * 1_000,
  say: (text: string) => void = () => undefined,
): Promise<Status> {
  const parts = new Parts(timeout_ms, say);
  // checkpoints first: read after the ends of the log they could lie beyond them
  const checkpoints = parts.ask('Postgres', () => readMoving(reader));
  const [chain, log, services, quarantine, replica_seconds, primaries, certificates] =
    await Promise.all([
      parts.ask('the CLT node', () => node.chain()),
      parts.ask('Kafka', async () => {
        await checkpoints;
        return readLog(kafka, TOPIC_NAMES, limits.status_lag_seconds);
      }),
      local === undefined ? null : readServices(local, timeout_ms / 2),
      parts.ask('Postgres', () => readQuarantine(reader)),
      parts.ask('Postgres', () => readReplicaSeconds(reader)),
      parts.ask('Postgres', () => readPrimaries(hosts, timeout_ms / 2)),
      readCertificates(kafka_settings, urls, postgresUrl, timeout_ms / 2),
    ]);
  const ends = log?.ends.toSorted(byTopic) ?? null;
  const projections =
    (await checkpoints)?.map((position) =>
      Object.assign(position, { lag: lagOf(position, ends) }),
    ) ?? null;
  const halting =
    quarantine
      ?.filter(({ state }) => state === 'halts')
      .map(({ projection, topic, partition, offset }) => ({
        projection,
        record: `${topic}/${partition}@${offset}`,
      })) ?? null;
  const heights =
    chain === null ? null : { height: chain.head.height, finalized_height: chain.finalized_height };
  const seen = {
    unanswered: parts.unanswered,
    node_height: heights?.height ?? null,
    projections,
    recent: log?.recent ?? null,
    replica_seconds,
    primaries,
    services,
    disk,
    halting,
    certificates,
  };
  return {
    node: heights,
    log: ends,
    projections,
    services,
    disk,
    attention: attention(seen, limits),
  };
}

/** Questions to servers, each with the same deadline. */
class Parts {
  readonly unanswered: string[] = [];
  readonly #deadline: Promise<unknown>;
  readonly #timeoutMs: number;
  readonly #open = new Set<string>();

  constructor(timeout_ms: number, say: (text: string) => void) {
    this.#timeoutMs = timeout_ms;
    this.#deadline = after(timeout_ms, undefined, { ref: false });
    setTimeout(() => {
      if (this.#open.size > 0) say(`waiting for ${[...this.#open].join(', ')}`);
    }, NOTE_MS).unref();
  }

  /** Null when it did not answer: then `unanswered` has the reason. */
  async ask<Value>(of: string, ask: () => Promise<Value>): Promise<Value | null> {
    this.#open.add(of);
    try {
      return await Promise.race([ask(), this.#deadline.then(() => this.#late(of))]);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (!this.unanswered.includes(messageOf(error))) this.unanswered.push(messageOf(error));
      return null;
    } finally {
      this.#open.delete(of);
    }
  }

  #late(of: string): never {
    const seconds = this.#timeoutMs / 1_000;
    throw new Fault(
      'timeout',
      `${of} did not answer within ${seconds} s: --timeout gives it longer`,
      {
        retry: true,
      },
    );
  }
}

function byTopic(a: LogEnd, b: LogEnd): number {
  return TOPIC_NAMES.indexOf(a.topic) - TOPIC_NAMES.indexOf(b.topic) || a.partition - b.partition;
}

/** For people: what a screen of 100 columns and 40 rows holds. */
function statusText(shown: Status): string {
  const { node, projections, services, disk, attention: lines } = shown;
  const chain =
    node === null
      ? 'does not answer'
      : `height ${node.height}, final up to ${node.finalized_height}`;
  const free = disk === null ? '' : `; disk: ${diskText(disk)}`;
  return [
    summary(shown),
    `chain: ${chain}${free}`,
    ...(services === null || services.length === 0 ? [] : ['', servicesTable(services)]),
    '',
    projections === null ? 'projections: Postgres does not answer' : projectionsTable(projections),
    ...moneyLines(services ?? []),
    ...(lines.length === 0 ? [] : ['', coloured('bold', 'NEEDS ATTENTION')]),
    ...lines.map((line) => `${coloured('red', '!')} ${line}`),
  ].join('\n');
}

function summary({ projections, services, attention: lines }: Status): string {
  const ready = services?.filter((service) => service.status === 'ready').length;
  const parts = [
    ready === undefined ? 'services unknown' : `${ready} of ${services?.length} services ready`,
    projections === null ? 'projections unknown' : behindText(projections),
    // a treasury that is away counts none
    services?.some(({ metrics }) => 'deposits needs_manual' in metrics) === true
      ? waitText(waitingDeposits(services))
      : 'waiting deposits unknown',
  ];
  const state =
    lines.length === 0
      ? coloured('green', 'ALL WELL')
      : coloured('red', `NEEDS ATTENTION: ${lines.length}`);
  return `${state}  ${parts.join(', ')}`;
}

function behindText(projections: readonly Position[]): string {
  const behind = lagText(projections);
  if (behind === 'unknown') return 'lag of projections unknown';
  return behind === '0' ? 'projections up to date' : `projections ${behind} records behind`;
}

function lagText(positions: readonly Position[]): string {
  if (positions.some(({ lag }) => lag === null)) return 'unknown';
  return String(positions.reduce((sum, { lag }) => sum + (lag ?? 0n), 0n));
}

/** A row a projection, over all partitions that it reads. */
function projectionsTable(projections: readonly Position[]): string {
  const rows = Map.groupBy(projections, ({ projection, version }) => `${projection} v${version}`)
    .entries()
    .map(([name, positions]) => [
      name,
      String(positions.length),
      String(positions.reduce((sum, { next_offset: nextOffset }) => sum + nextOffset, 0n)),
      lagText(positions),
      String(positions.reduce((sum, { rate }) => sum + rate, 0)),
      String(
        Math.round(Math.min(...positions.map(({ idle_seconds: idleSeconds }) => idleSeconds))),
      ),
      positions.some(({ loading }) => loading) ? coloured('yellow', 'loading: no indexes yet') : '',
    ]);
  return table(
    ['PROJECTION', 'PARTITIONS', 'RECORDS', 'BEHIND', 'PER SECOND', 'MOVED S AGO', ''],
    [...rows],
  );
}
