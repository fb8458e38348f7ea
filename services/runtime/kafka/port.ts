/**
 * The port of the Kafka client: every verb that this system asks of one. The client stands behind
 * it in a folder of its own. Errors are those of the client, whose type `errorType` names;
 * `kafkaFault` makes faults of them.
 */
import type { Socket } from 'node:net';
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import { Bug, Fault, messageOf } from '../process/errors.ts';
import { LogLost } from './position.ts';
import type { LogEntry, LogRecord } from './record.ts';
import type { KafkaOptions } from '../process/kafka-settings.ts';

export interface Kafka {
  /** the least number of replicas of a topic */
  readonly replication_min: number;
  /** before the names of topics and groups on the wire, for messages; no caller adds it */
  readonly prefix: string;
  /** Asks the brokers; connects at the first question. */
  admin(): Admin;
  /** An idempotent producer: one session of sequence numbers. */
  appender(): Appender;
  /** Reads single partitions; connects at the first fetch. */
  fetcher(): Fetcher;
  share(options: ShareOptions): Share;
}

/** Opens a connection to a broker. */
export type SocketFactory = (to: {
  readonly host: string;
  readonly port: number;
  readonly onConnect: () => void;
}) => Socket;

export interface Admin {
  clusterId(): Promise<string>;
  /** Resolves when one broker of the settings has taken a connection and said what it can do. */
  connect(): Promise<void>;
  /** host:port by id; undefined: it has a replica of a topic, and is not in the cluster now */
  brokers(): Promise<ReadonlyMap<number, string | undefined>>;
  topicNames(): Promise<readonly string[]>;
  /** by partition; throws `topic_missing` for a topic that does not exist */
  ends(topic: string): Promise<readonly LogEnd[]>;
  /** the first offset of each partition whose record is not older, Unix milliseconds */
  offsetsAt(topic: string, time: number): Promise<ReadonlyMap<number, bigint>>;
  /** Creates topics; one that exists already is left as it is. */
  createTopics(topics: readonly NewTopic[]): Promise<void>;
  /** the named settings; throws `topic_missing` for a topic that does not exist */
  describeTopic(topic: string, settings: readonly string[]): Promise<TopicDescription>;
  disconnect(): Promise<void>;
}

export interface LogEnd {
  readonly topic: string;
  readonly partition: number;
  readonly low: bigint;
  /** offset of the next record to be written; below the first open transaction */
  readonly high: bigint;
}

export interface NewTopic {
  readonly name: string;
  readonly partitions: number;
  /** undefined: as the broker is set */
  readonly replicas: number | undefined;
  readonly config: Readonly<Record<string, string>>;
}

export interface TopicDescription {
  /** of each partition */
  readonly partitions: readonly {
    /** -1: none */
    readonly leader: number;
    readonly replicas: number;
    readonly in_sync: number;
  }[];
  readonly config: ReadonlyMap<string, string>;
}

export interface Appender {
  connect(): Promise<void>;
  /**
   * Appends the entries as one batch, acknowledged by all replicas in sync. After a failure the
   * same batch may be sent again, and no other.
   */
  append(topic: string, partition: number, entries: readonly LogEntry[]): Promise<Appended>;
  disconnect(): Promise<void>;
}

export interface Appended {
  /** of the first record */
  readonly offset: bigint;
  /** of the batch on the wire, which may be compressed; without keys and headers if it is not */
  readonly bytes: number;
}

export interface Fetcher {
  /** 32 hex digits. Throws a fault with retry while no broker answers, and `topic_missing`. */
  topicId(topic: string): Promise<string>;
  /**
   * The batches from the one that holds `offset` on, none when the log ends there. Retries lost
   * connections and changes of the leader a few times. Throws an error of type OFFSET_OUT_OF_RANGE,
   * or UNKNOWN_TOPIC_ID when the topic has another id.
   */
  fetch(position: FetchPosition): Promise<readonly LogBatch[]>;
  /** Ends a fetch in flight. */
  disconnect(): Promise<void>;
}

export interface FetchPosition {
  readonly topic: string;
  readonly topic_id: string;
  readonly partition: number;
  readonly offset: bigint;
  /** of one answer; a larger batch comes alone */
  readonly bytes_max: number;
  /** the longest wait for a record at the end of the log */
  readonly wait_ms: number;
}

/** Consecutive offsets that one leader appended together. */
export interface LogBatch {
  readonly base_offset: bigint;
  readonly last_offset: bigint;
  readonly leader_epoch: number;
  /** empty for a control batch and for those of an aborted transaction: they have no effect */
  readonly records: readonly LogRecord[];
  /** the batch marks the end of a transaction, or was aborted */
  readonly is_void: boolean;
}

/** A member's state as it says it when it joins. */
export type Claim = 'holder' | 'standby' | 'halted';

/**
 * The member that gets all partitions: the one that has them, else one that can work, else any.
 * A word that is not known is one of another version, which can work.
 */
export function holderAmong<Member extends { readonly memberId: string; readonly said: string }>(
  members: readonly Member[],
): Member | undefined {
  const rank = ({ said }: Member): number => (said === 'holder' ? 0 : said === 'halted' ? 2 : 1);
  const [first] = members.toSorted(
    (one, other) => rank(one) - rank(other) || (one.memberId < other.memberId ? -1 : 1),
  );
  return first;
}

/** Work by partition, shared by the members of a consumer group. Nothing is read through it. */
export interface ShareOptions {
  readonly group_id: string;
  readonly topics: readonly string[];
  /** after this silence a member loses its partitions; the brokers must allow it */
  readonly session_ms: number;
  /** Asked at each join: one member gets all partitions. Without it they are spread over all. */
  readonly claim?: (() => Claim) | undefined;
  /**
   * undefined: not a member, or the group is rebalancing. `sent_ms` ago the request was sent that
   * the brokers have answered with it.
   */
  readonly onAssigned: (partitions: Assigned | undefined, sent_ms: number) => void;
  /** at each heartbeat that the brokers acknowledge, several times a session */
  readonly onHeld?: ((sent_ms: number) => void) | undefined;
  /** the client has given up its membership, after it had joined */
  readonly onLeft: (error: Error) => void;
}

/** partitions, by topic */
export type Assigned = ReadonlyMap<string, readonly number[]>;

export interface Share {
  /** Resolves when it is a member; throws when the group refuses it or does not answer. */
  join(): Promise<void>;
  /** Commits an offset, for lag tools. */
  commit(topic: string, partition: number, nextOffset: bigint): Promise<void>;
  /** Leaves the group, so that others take over at once. */
  disconnect(): Promise<void>;
}

/** The type of Kafka's protocol error, however deep the client has wrapped it. */
export function errorType(error: unknown): string | undefined {
  for (
    let at: unknown = error, depth = 0;
    typeof at === 'object' && at !== null && depth < 8;
    depth++
  ) {
    if ('type' in at && typeof at.type === 'string') return at.type;
    at = 'cause' in at ? at.cause : undefined;
  }
  return undefined;
}

/** An error of the client as a fault with retry. Faults, bugs and `LogLost` pass unchanged. */
export function kafkaFault(what: string, cause: unknown): Error {
  if (cause instanceof Fault || cause instanceof Bug || cause instanceof LogLost) return cause;
  const said = messageOf(cause);
  if (/^SASL .* authentication failed/.test(said)) {
    const shown = `the Kafka brokers refuse the account of this service: ${said}; its name and password have to be those that the brokers know (APP_KAFKA_USERNAME, APP_KAFKA_PASSWORD): correct them, and start it again`;
    return new Fault('kafka', shown, { retry: true, shown, cause });
  }
  return new Fault('kafka', `${what}: ${said}`, { retry: true, cause });
}

/** Kafka's error for a topic that does not exist. */
export const NO_TOPIC = 'UNKNOWN_TOPIC_OR_PARTITION';

/** The brokers answer and have no such topic, by its name on the wire. It may come back. */
export function topicMissing(topic: string, cause: unknown): Fault {
  const remedy = topic.endsWith(CHAIN_BLOCKS.name)
    ? 'npx ops restart chain-ingester writes it again from the node; services that halt then say how they go on'
    : 'restore it from a backup before any service is started again, which would make an empty one (docs/operations/backup.md: A deleted topic)';
  const shown = `the Kafka brokers have no topic ${topic}. What to do: ${remedy}`;
  return new Fault('topic_missing', shown, { retry: true, shown, cause });
}

/** Why the brokers are waited for: the fault where it tells, else for how long they are silent. */
export function brokersSilent(ms: number, fault?: Fault): Fault {
  if (fault?.shown !== undefined) return fault;
  const shown = `the Kafka brokers have not answered for ${Math.round(ms)} ms: look whether they run`;
  return new Fault('kafka', shown, { retry: true, shown, cause: fault });
}

/** How the brokers are reached. */
export interface KafkaSettings extends KafkaOptions {
  /** host:port of at least one broker */
  readonly kafka_brokers: readonly string[];
  /** smaller batches are not compressed */
  readonly compressed_bytes_min?: number | undefined;
  /** how often a request is tried again; 5 when not given */
  readonly retries?: number;
  /** opens connections; by default to the address that a broker advertises */
  readonly socket_factory?: SocketFactory;
}
