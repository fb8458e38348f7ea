/** `ops status`: how far the node, the log and every projection are, and how the services are. */
import { setTimeout as after } from 'node:timers/promises';
import type * as answers from '../../../schemas/operations-api/answers.ts';
import { TOPICS } from '../../../schemas/topics.ts';
import { ChainNode } from '../../runtime/clt-node.ts';
import { Fault, messageOf } from '../../runtime/process/errors.ts';
import { readTopicEnds } from '../../runtime/kafka/ends.ts';
import type { Kafka, LogEnd } from '../../runtime/kafka/port.ts';
import { Hosts } from '../../runtime/postgres/hosts.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { KAFKA, NODE, POSTGRES_READER, readSettings } from '../config.ts';
import { jsonOf, kafkaOf, print, withReader } from '../connections.ts';
import { coloured, table } from '../text.ts';
import type { SharedArguments } from '../usage.ts';
import { primariesFaults } from './postgres.ts';
import {
  coverOf,
  localDisk,
  localServices,
  readServices,
  moneyLines,
  servicesTable,
  stateText,
  waitingDeposits,
  waitText,
  type Disk,
  type LocalService,
  type ServiceHealth,
} from './services.ts';

export interface Position extends Omit<answers.Position, 'next_offset' | 'lag'> {
  readonly next_offset: bigint;
  readonly lag: bigint | null;
}

export interface Status {
  readonly node: { readonly height: number; readonly finalized_height: number } | null;
  readonly log: readonly LogEnd[] | null;
  readonly projections: readonly Position[] | null;
  /** null: there is no stack file that lists them */
  readonly services: readonly ServiceHealth[] | null;
  /** of a stack on this machine */
  readonly disk: Disk | null;
  /** a line for each part that does not answer, is not ready, is wrong, or mints nothing */
  readonly faults: readonly string[];
  /** a line for each thing that a person should look at, and that is no fault */
  readonly notes: readonly string[];
}

type Checkpoint = Omit<Position, 'lag' | 'rate'>;

const TOPIC_NAMES = TOPICS.map(({ name }) => name);
/** Between two reads of the checkpoints. */
const RATE_MS = 1_000;
/** Below this free room of the disk `ops status` warns, as the local stack does. */
const LOW_BYTES = 2 ** 30;

export async function status(args: SharedArguments): Promise<number> {
  const services = localServices(args.stack);
  const disk = localDisk(args.stack);
  const config = readSettings({ ...KAFKA, ...POSTGRES_READER, ...NODE }, args.stack);
  const node = new ChainNode(config.node_url, new AbortController().signal);
  const kafka = kafkaOf(config);
  const result = await withReader(config, (reader) =>
    readStatus(node, kafka, reader, services, disk, Hosts.of(config.postgres_reader_url)),
  );
  print(args.json === true ? jsonOf(result) : statusText(result));
  return result.faults.length === 0 ? 0 : 2;
}

/** A part that does not answer is null, with its reason among the faults. */
export async function readStatus(
  node: ChainNode,
  kafka: Kafka,
  reader: Reader,
  local: readonly LocalService[] | undefined,
  disk: Disk | null,
  hosts: Hosts,
): Promise<Status> {
  const faults: string[] = [];
  // checkpoints first: read after the ends of the log they could lie beyond them
  const [checkpoints, services, primaries] = await Promise.all([
    answered(() => readMoving(reader), faults),
    local === undefined ? null : readServices(local),
    primariesFaults(hosts),
  ]);
  faults.push(...primaries);
  const [chain, log] = await Promise.all([
    answered(() => node.chain(), faults),
    answered(() => readTopicEnds(kafka, TOPIC_NAMES), faults),
  ]);
  const projections =
    checkpoints?.map((position) => Object.assign(position, { lag: lagOf(position, log) })) ?? null;
  for (const service of services ?? []) {
    if (service.status !== 'ready') faults.push(`${service.name}: ${stateText(service)}`);
    else if (service.message !== null) faults.push(`${service.name}: ${service.message}`);
  }
  if (disk !== null && disk.free_bytes < LOW_BYTES)
    faults.push(`disk: ${diskText(disk)}; when it is full the servers stop: make room`);
  const cover = coverOf(services ?? []);
  if (cover?.is_short === true) faults.push(`reserve: ${cover.line}: nothing is minted`);
  for (const { projection, topic, partition, lag } of projections ?? []) {
    if (lag !== null && lag < 0n)
      faults.push(
        `${topic}/${partition} ends ${-lag} records before what ${projection} has applied: its end was lost or it was created again; see /status of the projector`,
      );
  }
  const head =
    chain === null ? null : { height: chain.head.height, finalized_height: chain.finalized_height };
  const ends = log?.toSorted(byTopic) ?? null;
  return {
    node: head,
    log: ends,
    projections,
    services,
    disk,
    faults,
    notes: notesOf(services ?? []),
  };
}

function notesOf(services: readonly ServiceHealth[]): readonly string[] {
  const waiting = waitingDeposits(services);
  return [
    ...services.flatMap(({ name, notes }) => notes.map((note) => `${name}: ${note}`)),
    // dust alone asks for nobody: strangers send it at will
    ...(waiting.deposits === 0 ? [] : [`${waitText(waiting)}: ops deposit list`]),
  ];
}

function byTopic(a: LogEnd, b: LogEnd): number {
  return TOPIC_NAMES.indexOf(a.topic) - TOPIC_NAMES.indexOf(b.topic) || a.partition - b.partition;
}

async function answered<Value>(ask: () => Promise<Value>, faults: string[]): Promise<Value | null> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    faults.push(messageOf(error));
    return null;
  }
}

/** Reads twice, for the rate. */
async function readMoving(reader: Reader): Promise<readonly Omit<Position, 'lag'>[]> {
  const before = new Map(
    (await readPositions(reader)).map((position) => [nameOf(position), position.next_offset]),
  );
  const begun = performance.now();
  await after(RATE_MS);
  const positions = await readPositions(reader);
  const seconds = (performance.now() - begun) / 1_000;
  return positions.map((position) => {
    const moved = position.next_offset - (before.get(nameOf(position)) ?? position.next_offset);
    return Object.assign(position, { rate: Math.round(Number(moved) / seconds) });
  });
}

function nameOf({ projection, version, topic, partition }: Checkpoint): string {
  return `${projection} ${version} ${topic}/${partition}`;
}

async function readPositions(reader: Reader): Promise<readonly Checkpoint[]> {
  const rows = await reader.rows({
    name: 'ops_positions',
    text: `SELECT c.projection, c.version, c.topic, c.partition, c.next_offset, round(extract(epoch FROM now() - c.updated_at), 1),
                  p.projection IS NOT NULL AND p.indexed_at IS NULL
             FROM projector.checkpoints c LEFT JOIN projector.projections p ON p.projection = c.projection
            WHERE p.beside IS NULL
            ORDER BY c.projection, c.version, c.topic, c.partition`,
    values: [],
  });
  return rows.map(([projection, version, topic, partition, next, idle, isLoading]) => ({
    projection: projection ?? '',
    version: Number(version),
    topic: topic ?? '',
    partition: Number(partition),
    next_offset: BigInt(next ?? 0),
    idle_seconds: Number(idle),
    loading: isLoading === 't',
  }));
}

function lagOf(
  { topic, partition, next_offset: nextOffset }: Checkpoint,
  log: readonly LogEnd[] | null,
): bigint | null {
  const end = log?.find((entry) => entry.topic === topic && entry.partition === partition);
  return end === undefined ? null : end.high - nextOffset;
}

function diskText({ path, free_bytes: freeBytes }: Disk): string {
  return `${Math.floor(freeBytes / 2 ** 20)} MB free at ${path}`;
}

/** For people: what a screen of 100 columns and 40 rows holds. */
function statusText({ node, projections, services, disk, faults, notes }: Status): string {
  const chain =
    node === null
      ? 'does not answer'
      : `height ${node.height}, final up to ${node.finalized_height}`;
  const free = disk === null ? '' : `; disk: ${diskText(disk)}`;
  return [
    summary({ projections, services, faults, notes }),
    `chain: ${chain}${free}`,
    ...(services === null || services.length === 0 ? [] : ['', servicesTable(services)]),
    '',
    projections === null ? 'projections: Postgres does not answer' : projectionsTable(projections),
    ...moneyLines(services ?? []),
    ...(faults.length + notes.length === 0 ? [] : ['', coloured('bold', 'NEEDS ATTENTION')]),
    ...faults.map((fault) => `${coloured('red', '!')} ${fault}`),
    ...notes.map((note) => `${coloured('yellow', '!')} ${note}`),
  ].join('\n');
}

function summary({
  projections,
  services,
  faults,
  notes,
}: Pick<Status, 'projections' | 'services' | 'faults' | 'notes'>): string {
  const ready = services?.filter((service) => service.status === 'ready').length;
  const parts = [
    ready === undefined ? 'services unknown' : `${ready} of ${services?.length} services ready`,
    projections === null ? 'projections unknown' : behindText(projections),
    waitText(waitingDeposits(services ?? [])),
  ];
  const attention = faults.length + notes.length;
  const state =
    attention === 0
      ? coloured('green', 'ALL WELL')
      : coloured(
          faults.length === 0 ? 'yellow' : 'red',
          `${attention} NEED${attention === 1 ? 'S' : ''} ATTENTION`,
        );
  return `${state}  ${parts.join(', ')}`;
}

function behindText(projections: readonly Position[]): string {
  const behind = lagText(projections);
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
