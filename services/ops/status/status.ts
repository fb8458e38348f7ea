/** `ops status`: how far the node, the log and every projection are, and how the services are. */
import { setTimeout as after } from 'node:timers/promises';
import { TOPICS } from '../../../schemas/topics.ts';
import { ChainNode } from '../../runtime/clt-node.ts';
import type { Kafka, KafkaSettings, LogEnd } from '../../runtime/kafka/port.ts';
import { Hosts } from '../../runtime/postgres/hosts.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import type { Config } from '../../runtime/process/config.ts';
import {
  KAFKA,
  NODE,
  POSTGRES_READER,
  readSettings,
  STATUS_LIMITS,
  STATUS_SERVICES,
  type Limits,
} from '../config.ts';
import { jsonOf, kafkaOf, print, withReader } from '../connections.ts';
import { assertSupervised } from '../local/parts.ts';
import { readQuarantine } from '../quarantine/quarantine.ts';
import { coloured, table } from '../text.ts';
import { timeout, type SharedArguments } from '../usage.ts';
import { readCertificates } from './certificates.ts';
import { withReason } from './away.ts';
import { attention, diskText } from './checks.ts';
import { moneyLines, moneyOf, readQueue, type Money } from './money.ts';
import { ageOf, Parts } from './parts.ts';
import { lagOf, readLog, readMoving, readReplicaSeconds, type Position } from './positions.ts';
import {
  brokerRows,
  reachBrokers,
  readBrokers,
  readHosts,
  serversTable,
  unansweredLines,
  type Server,
} from './servers.ts';
import {
  localDisk,
  localParts,
  localServices,
  readService,
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
  /** brokers and hosts of Postgres; null: nothing is known of them yet */
  readonly servers: readonly Server[] | null;
  /** null: nothing lists them */
  readonly services: readonly ServiceHealth[] | null;
  readonly money: Money;
  /** of a stack on this machine */
  readonly disk: Disk | null;
  /** since each part was read, of the services the first one; null: it did not answer */
  readonly age_seconds: Readonly<
    Record<'node' | 'log' | 'projections' | 'services', number | null>
  >;
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
  /** names of brokers, Postgres and the node of a stack on this machine, by host:port */
  readonly parts: ReadonlyMap<string, string>;
  /** Throws a fault where a stack on this machine has ended without being stopped. */
  readonly supervised: () => Promise<void>;
  readonly node_url: string;
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
/** A person sees what is known by then, and the rest when it is there. */
const KNOWN_MS = 2_000;
/** Names of the parts besides the services. */
const NODE_PART = 'the CLT node';
const POSTGRES_PART = 'Postgres';
const KAFKA_PART = 'Kafka';
export async function status(args: SharedArguments): Promise<number> {
  const config = readSettings(STATUS_SETTINGS, args.stack);
  const last = await withReader(config, async (reader) => {
    const timeout_ms = timeout(args, TIMEOUT_S);
    const sources = sourcesOf(config, reader, args.stack, timeout_ms);
    const { answered, known } = look(sources, timeout_ms);
    await answered(args.json === true ? undefined : KNOWN_MS);
    const first = known();
    print(args.json === true ? jsonOf(first.read) : screenText(first));
    if (first.waits_for.size === 0) return first;
    await answered();
    const all = known();
    print(`\n${screenText(all, first)}`);
    return all;
  });
  return last.read.attention.length === 0 ? 0 : 2;
}

/** Throws `Misuse` where the stack file is none. */
export function sourcesOf(
  config: Config<typeof STATUS_SETTINGS>,
  reader: Reader,
  stackFile: string,
  timeout_ms = TIMEOUT_S * 1_000,
): Sources {
  return {
    // so that it is late itself, and says why
    node: new ChainNode(config.node_url, new AbortController().signal, timeout_ms / 2),
    kafka: kafkaOf(config),
    kafka_settings: config,
    reader,
    hosts: Hosts.of(config.postgres_reader_url),
    services: localServices(stackFile, config.status_services),
    disk: localDisk(stackFile),
    parts: localParts(stackFile),
    // where all services are named, they are those of another stack
    supervised: async () => {
      if ((config.status_services ?? []).length === 0) await assertSupervised(stackFile);
    },
    node_url: config.node_url,
    urls: [config.node_url],
    postgres_url: config.postgres_reader_url,
    limits: config,
  };
}

/** Asks for `timeout_ms` at most. */
export async function readStatus(
  sources: Sources,
  timeout_ms = TIMEOUT_S * 1_000,
): Promise<Status> {
  const { answered, known } = look(sources, timeout_ms);
  await answered();
  return known().read;
}

/** All that has answered so far. */
export interface Known {
  readonly read: Status;
  /** parts that may still answer */
  readonly waits_for: ReadonlySet<string>;
  /** names of all services that were asked */
  readonly services: readonly string[];
}

interface Look {
  /** resolves when all have answered or are late, after `wait_ms` at most */
  readonly answered: (wait_ms?: number) => Promise<void>;
  readonly known: () => Known;
}

/** Asks each part for `timeout_ms` at most. */
function look(sources: Sources, timeout_ms: number): Look {
  const { node, kafka, kafka_settings, reader, hosts, urls, limits, disk } = sources;
  const { postgres_url: postgresUrl } = sources;
  const parts = new Parts(timeout_ms);
  // the first line, since it explains the others
  parts.ask('the supervisor', sources.supervised);
  const chain = parts.ask(NODE_PART, () =>
    node.chain().catch((error: unknown) => {
      throw withReason(error, timeout_ms / 2, {
        part: sources.parts.get(new URL(sources.node_url).host),
        account: 'the account',
        authority: 'NODE_EXTRA_CA_CERTS',
      });
    }),
  );
  const checkpoints = parts.ask(POSTGRES_PART, () => readMoving(reader));
  const log = parts.ask(KAFKA_PART, async () => {
    // checkpoints that are read after the ends of the log can lie beyond them
    await Promise.race([checkpoints.end, after(timeout_ms / 2, undefined, { ref: false })]);
    const fits = !checkpoints.is_open;
    const { ends, recent } = await readLog(kafka, TOPIC_NAMES, limits.status_lag_seconds);
    return { ends: ends.toSorted(byTopic), recent, fits };
  });
  const asked = sources.services?.map((service) =>
    parts.ask(service.name, () => readService(service, timeout_ms / 2)),
  );
  const quarantine = parts.ask(POSTGRES_PART, () => readQuarantine(reader));
  const queue = parts.ask(POSTGRES_PART, () => readQueue(reader, Date.now()));
  const replica_seconds = parts.ask(POSTGRES_PART, () => readReplicaSeconds(reader));
  const postgres = parts.ask(POSTGRES_PART, () => readHosts(hosts, timeout_ms / 2, sources.parts));
  const brokers = parts.ask(KAFKA_PART, () => readBrokers(kafka));
  const away = parts.ask(KAFKA_PART, () =>
    reachBrokers(kafka_settings, timeout_ms / 2, sources.parts),
  );
  const certificates = parts.ask('certificates', () =>
    readCertificates(kafka_settings, urls, postgresUrl, timeout_ms / 2),
  );

  function known(): Known {
    const ends = log.value?.ends ?? null;
    const projections =
      checkpoints.value?.map((position) => ({
        ...position,
        lag: log.value?.fits === true ? lagOf(position, ends) : null,
      })) ?? null;
    const services = asked?.flatMap(({ value }) => value ?? []) ?? null;
    const halting =
      quarantine.value
        ?.filter(({ state }) => state === 'halts')
        .map(({ projection, topic, partition, offset }) => ({
          projection,
          record: `${topic}/${partition}@${offset}`,
        })) ?? null;
    const heights =
      chain.value === null
        ? null
        : { height: chain.value.head.height, finalized_height: chain.value.finalized_height };
    const servers = [...brokerRows(brokers.value, away.value), ...(postgres.value ?? [])];
    const seen = {
      unanswered: unansweredLines(parts.unanswered, servers, {
        [KAFKA_PART]: { kind: 'kafka', count: kafka_settings.kafka_brokers.length },
        [POSTGRES_PART]: { kind: 'postgres', count: hosts.names.length },
      }),
      node_height: heights?.height ?? null,
      log: ends,
      projections,
      recent: log.value?.recent ?? null,
      replica_seconds: replica_seconds.value,
      servers,
      services,
      disk,
      halting,
      certificates: certificates.value ?? [],
    };
    return {
      read: {
        node: heights,
        log: ends,
        projections,
        servers: servers.length === 0 ? null : servers,
        services,
        money: moneyOf(services ?? [], queue.value ?? undefined),
        disk,
        age_seconds: {
          node: ageOf([chain]),
          log: ageOf([log]),
          projections: ageOf([checkpoints]),
          services: ageOf(asked ?? []),
        },
        attention: attention(seen, limits),
      },
      waits_for: parts.open(),
      services: asked?.map(({ of }) => of) ?? [],
    };
  }
  return { answered: (wait_ms) => parts.answered(wait_ms), known };
}

function byTopic(a: LogEnd, b: LogEnd): number {
  return TOPIC_NAMES.indexOf(a.topic) - TOPIC_NAMES.indexOf(b.topic) || a.partition - b.partition;
}

/** Younger figures are of now, for a person. */
const OLD_S = 5;

/**
 * For people: while all is well a screen of 100 columns and 40 rows. While a part may answer, the
 * first line says so, instead of a verdict. A screen after one printed `before` has only the parts
 * for which that one waited, and of the list what has changed.
 */
export function screenText(known: Known, before?: Known): string {
  const { servers, services, attention: lines, age_seconds: ageSeconds } = known.read;
  const isNew = (part: string): boolean => before === undefined || before.waits_for.has(part);
  const shown = (services ?? []).filter(({ name }) => isNew(name));
  const late = known.services.filter((name) => known.waits_for.has(name));
  const servicesAge = old(ageSeconds.services, (age) => [
    `the oldest of these figures are ${age} s old`,
  ]);
  const money = moneyLines(known.read.money);
  const sections: readonly (readonly [parts: readonly string[], text: readonly string[]])[] = [
    [[NODE_PART], [chainText(known)]],
    [
      [POSTGRES_PART, KAFKA_PART],
      servers === null ? [] : ['', serversTable(servers, Date.now() / 1_000)],
    ],
    [
      known.services,
      known.services.length === 0 ? [] : ['', servicesTable(shown, late), ...servicesAge],
    ],
    [
      [POSTGRES_PART, KAFKA_PART],
      ['', ...projectionsText(known)],
    ],
    [[...known.services, POSTGRES_PART], money.length === 0 ? [] : [...money, ...servicesAge]],
  ];
  return [
    summary(known),
    ...sections.flatMap(([parts, text]) => (parts.some(isNew) ? text : [])),
    ...attentionText(lines, before?.read.attention ?? []),
  ].join('\n');
}

/** The lines that were not printed before, how many of those still hold, and which do not. */
function attentionText(lines: readonly string[], before: readonly string[]): readonly string[] {
  const added = lines.filter((line) => !before.includes(line));
  const left = lines.length - added.length;
  const gone = before.filter((line) => !lines.includes(line));
  if (lines.length + gone.length === 0) return [];
  return [
    '',
    coloured('bold', 'NEEDS ATTENTION'),
    ...added.map((line) => `${coloured('red', '!')} ${line}`),
    ...(left === 0 ? [] : [`and as above: ${left} ${left === 1 ? 'line' : 'lines'}`]),
    ...gone.map((line) => `no longer: ${line}`),
  ];
}

/** The lines about an age that a person has to know. */
function old(age: number | null, lines: (age: number) => readonly string[]): readonly string[] {
  return age === null || age < OLD_S ? [] : lines(Math.round(age));
}

function chainText({
  read: { node, disk, age_seconds: ageSeconds },
  waits_for: waitsFor,
}: Known): string {
  const chain =
    node === null
      ? waitsFor.has(NODE_PART)
        ? 'has not answered yet'
        : 'does not answer'
      : `height ${node.height}, final up to ${node.finalized_height}`;
  const age = old(ageSeconds.node, (seconds) => [` (${seconds} s ago)`]).join('');
  const free = disk === null ? '' : `; disk: ${diskText(disk)}`;
  return `chain: ${chain}${age}${free}`;
}

function projectionsText({ read, waits_for: waitsFor }: Known): readonly string[] {
  const { projections, age_seconds: ageSeconds } = read;
  if (projections === null)
    return [
      `projections: Postgres ${waitsFor.has(POSTGRES_PART) ? 'has not answered yet' : 'does not answer'}`,
    ];
  const apart = (ageSeconds.projections ?? 0) - (ageSeconds.log ?? ageSeconds.projections ?? 0);
  return [
    projectionsTable(projections),
    ...(waitsFor.has(KAFKA_PART) ? ['BEHIND is not known: Kafka has not answered yet'] : []),
    ...old(ageSeconds.projections, (age) => [`RECORDS are those of ${age} s ago`]),
    ...old(apart, (age) => [
      `the ends of the log were read ${age} s later than RECORDS: BEHIND may be too high`,
    ]),
  ];
}

function summary({ read, waits_for: waitsFor, services: asked }: Known): string {
  const { projections, services, attention: lines } = read;
  const ready = services?.filter((service) => service.status === 'ready').length;
  const parts = [
    ready === undefined ? 'services unknown' : `${ready} of ${asked.length} services ready`,
    projections === null ? 'projections unknown' : behindText(projections),
    // a treasury that is away counts none
    services?.some(({ metrics }) => 'deposits needs_manual' in metrics) === true
      ? waitText(waitingDeposits(services))
      : 'waiting deposits unknown',
  ];
  return `${verdict(waitsFor, lines)}  ${parts.join(', ')}`;
}

function verdict(waitsFor: ReadonlySet<string>, lines: readonly string[]): string {
  if (waitsFor.size > 0)
    return coloured('yellow', `NOT ALL IS KNOWN YET, waiting for ${[...waitsFor].join(', ')}:`);
  return lines.length === 0
    ? coloured('green', 'ALL WELL')
    : coloured('red', `NEEDS ATTENTION: ${lines.length}`);
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
