/**
 * Reads one partition from an offset, without a consumer group. After any failure all connections
 * are opened anew, which also asks for the present leader: nothing depends on how kafkajs recovers.
 */
import { setTimeout as after } from 'node:timers/promises';
import type kafkajs from 'kafkajs';
import { Fault } from '../../process/errors.ts';
import {
  errorType,
  kafkaFault,
  NO_TOPIC,
  topicMissing,
  type FetchPosition,
  type Fetcher,
  type LogBatch,
} from '../port.ts';
import { clusterOf, disconnectNow, exchange, type Cluster } from './cluster.ts';
import { readBatches } from './record-batch.ts';
import { compactString, Cursor, int32, int64 } from './wire.ts';

const METADATA = { apiKey: 3, apiVersion: 12, apiName: 'Metadata' };
const FETCH = { apiKey: 1, apiVersion: 13, apiName: 'Fetch' };
const READ_COMMITTED = 1;
const TRIES = 5;
const BACK_OFF_MS = 100;
/** Beyond the wait for records; a frozen broker is given up then. */
const ANSWER_MS = 10_000;
/** For connecting, looking for the leader and asking it. kafkajs limits most of these steps. */
const ATTEMPT_MS = 30_000;

/** After it the leader is asked again which replica is the nearest. */
const NEAR_MS = 60_000;

/** The broker to read from, until a moment of `performance.now()`. */
interface Near {
  readonly broker: string;
  readonly until: number;
}

interface Fetched {
  /** the id of a nearer broker, which is to be asked instead; -1: none */
  readonly preferred: number;
  readonly batches: readonly LogBatch[];
}

/** Types of errors that this reader meets, by code. */
const TYPES: Readonly<Record<number, string>> = {
  1: 'OFFSET_OUT_OF_RANGE',
  3: NO_TOPIC,
  5: 'LEADER_NOT_AVAILABLE',
  6: 'NOT_LEADER_FOR_PARTITION',
  29: 'TOPIC_AUTHORIZATION_FAILED',
  100: 'UNKNOWN_TOPIC_ID',
};

class BrokerError extends Error {
  readonly type: string;

  constructor(code: number) {
    const type = TYPES[code] ?? `Kafka error ${code}`;
    super(type);
    this.type = type;
  }
}

/** Trying again does not help: the reader has to look at the log. */
const FINAL = new Set(['OFFSET_OUT_OF_RANGE', 'UNKNOWN_TOPIC_ID', 'TOPIC_AUTHORIZATION_FAILED']);

export class KafkajsFetcher implements Fetcher {
  readonly #kafka: kafkajs.Kafka;
  readonly #rack: string;
  /** by topic and partition */
  readonly #near = new Map<string, Near>();
  #cluster: Cluster | undefined;
  /** of that cluster: partitions that connect it beside each other close what another one opens */
  #connected: Promise<void> = Promise.resolve();
  #closed = false;
  readonly #attemptMs: number;

  /** `rack`: where this process runs; a leader elsewhere may name a nearer replica. */
  constructor(kafka: kafkajs.Kafka, rack = '', attempt_ms = ATTEMPT_MS) {
    this.#kafka = kafka;
    this.#rack = rack;
    this.#attemptMs = attempt_ms;
  }

  async topicId(topic: string): Promise<string> {
    try {
      return await this.#attempt(async (cluster) => {
        const broker = await cluster.brokerPool.findConnectedBroker();
        return await exchange(broker, METADATA, metadataRequest(topic), (payload) => {
          const { error, id } = metadataOf(payload);
          if (error === 0) return id;
          const cause = new BrokerError(error);
          if (cause.type === NO_TOPIC) throw topicMissing(topic, cause);
          throw new Fault('kafka', `topic ${topic} has Kafka error ${error}`, {
            retry: true,
            cause,
          });
        });
      });
    } catch (cause) {
      throw kafkaFault(`the brokers did not answer with the id of topic ${topic}`, cause);
    }
  }

  async fetch(position: FetchPosition): Promise<readonly LogBatch[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#attempt((cluster) => this.#read(cluster, position));
      } catch (error) {
        const type = errorType(error) ?? '';
        if (this.#closed || FINAL.has(type)) throw error;
        if (tries === TRIES) throw type === NO_TOPIC ? topicMissing(position.topic, error) : error;
      }
      await after(BACK_OFF_MS * 2 ** (tries - 1));
    }
  }

  async disconnect(): Promise<void> {
    this.#closed = true;
    await this.#drop();
  }

  /** Asks the near replica that the leader has named, and the leader where that one fails. */
  async #read(cluster: Cluster, position: FetchPosition): Promise<readonly LogBatch[]> {
    const { topic, partition } = position;
    await cluster.addTargetTopic(topic);
    const [leader] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
    if (leader === undefined || leader === '-1') throw new BrokerError(5);
    if (this.#rack === '') return (await fetchFrom(cluster, leader, position, '')).batches;
    const key = `${topic}/${partition}`;
    let near = this.#near.get(key);
    if (near === undefined || near.until < performance.now()) {
      const { batches, preferred } = await fetchFrom(cluster, leader, position, this.#rack);
      if (preferred === -1) return batches;
      near = { broker: String(preferred), until: performance.now() + NEAR_MS };
      this.#near.set(key, near);
    }
    try {
      return (await fetchFrom(cluster, near.broker, position, '')).batches;
    } catch (error) {
      if (this.#closed || near.broker === leader) throw error;
      // it may be away, or not have the record yet: only the leader knows the end of the log
      this.#near.set(key, { broker: leader, until: performance.now() + NEAR_MS });
      return (await fetchFrom(cluster, leader, position, '')).batches;
    }
  }

  async #attempt<Answer>(ask: (cluster: Cluster) => Promise<Answer>): Promise<Answer> {
    if (this.#closed) throw new Error('the reader is closed');
    if (this.#cluster === undefined) {
      this.#cluster = clusterOf(this.#kafka);
      this.#connected = this.#cluster.connect();
    }
    const [cluster, connected] = [this.#cluster, this.#connected];
    try {
      const asked = connected.then(() => ask(cluster));
      return await within(this.#attemptMs, 'the brokers', asked);
    } catch (error) {
      if (!(error instanceof Fault) && this.#cluster === cluster) void this.#drop();
      throw error;
    } finally {
      // connections may have been opened after those of a dropped cluster were closed
      if (this.#cluster !== cluster) void disconnectNow(cluster).catch(() => undefined);
    }
  }

  async #drop(): Promise<void> {
    const cluster = this.#cluster;
    this.#cluster = undefined;
    // connections that fail to close are gone
    if (cluster !== undefined) await disconnectNow(cluster).catch(() => undefined);
  }
}

async function fetchFrom(
  cluster: Cluster,
  nodeId: string,
  position: FetchPosition,
  rack: string,
): Promise<Fetched> {
  const broker = await cluster.findBroker({ nodeId });
  const answer = exchange(broker, FETCH, fetchRequest(position, rack), fetched);
  return await within(position.wait_ms + ANSWER_MS, `broker ${nodeId}`, answer);
}

async function within<Answer>(ms: number, who: string, answer: Promise<Answer>): Promise<Answer> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no answer from ${who} within ${ms} ms`)),
    ms,
  );
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** One topic by name, no creation, no authorised operations. */
function metadataRequest(topic: string): Buffer {
  return Buffer.concat([
    Buffer.of(2),
    Buffer.alloc(16),
    compactString(topic),
    Buffer.from([0, 0, 0, 0]),
  ]);
}

function metadataOf(payload: Buffer): { readonly error: number; readonly id: string } {
  const cursor = new Cursor(payload);
  cursor.skipTags();
  cursor.skip(4); // throttle time
  cursor.array(() => {
    cursor.skip(4); // broker id
    cursor.skipCompact();
    cursor.skip(4); // port
    cursor.skipCompact();
    cursor.skipTags();
  });
  cursor.skipCompact(); // cluster id
  cursor.skip(4); // controller id
  cursor.uvarint(); // number of topics
  const error = cursor.int16();
  cursor.skipCompact();
  return { error, id: cursor.bytes(16).toString('hex') };
}

function fetchRequest(position: FetchPosition, rack: string): Buffer {
  const { topic_id: id, partition, offset, bytes_max: bytesMax, wait_ms: waitMs } = position;
  return Buffer.concat([
    int32(-1), // not a replica
    int32(waitMs),
    int32(1), // least bytes
    int32(bytesMax),
    Buffer.of(READ_COMMITTED),
    int32(0), // no session
    int32(-1),
    Buffer.of(2), // one topic
    Buffer.from(id, 'hex'),
    Buffer.of(2), // one partition
    int32(partition),
    int32(-1), // any leader epoch
    int64(offset),
    int32(-1), // the epoch of the last batch is compared by the reader
    int64(-1n),
    int32(bytesMax),
    Buffer.of(0, 0, 1), // no tagged fields, no forgotten topics
    compactString(rack),
    Buffer.of(0),
  ]);
}

async function fetched(payload: Buffer): Promise<Fetched> {
  const cursor = new Cursor(payload);
  cursor.skipTags();
  cursor.skip(4); // throttle time
  const error = cursor.int16();
  if (error !== 0) throw new BrokerError(error);
  cursor.skip(4); // session
  cursor.uvarint(); // number of topics
  cursor.skip(16); // topic id
  cursor.uvarint(); // number of partitions
  cursor.skip(4); // partition
  const partitionError = cursor.int16();
  if (partitionError !== 0) throw new BrokerError(partitionError);
  cursor.skip(24); // high watermark, last stable offset, begin of the log
  const aborted = cursor.array(() => {
    const transaction = { producer_id: cursor.int64(), first_offset: cursor.int64() };
    cursor.skipTags();
    return transaction;
  });
  const preferred = cursor.int32();
  const bytes = cursor.bytes(Math.max(0, cursor.uvarint() - 1));
  return { preferred, batches: await readBatches(bytes, aborted) };
}
