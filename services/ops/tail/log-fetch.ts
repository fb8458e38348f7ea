/**
 * Fetches partitions from where they are asked for, as bytes, without a consumer group: nobody has to be waited for, nothing is left behind, and where reading
 * stands is known to nobody but the caller. The requests go over kafkajs' own connections, as those of `topic-ids.ts`.
 */
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { Bug, Fault } from '../../runtime/process/errors.ts';
import { kafkaFault } from '../../runtime/kafka/topics.ts';

const FETCH = { apiKey: 1, apiVersion: 4, apiName: 'Fetch' };
const WAIT_MS = 500;
const OFFSET_OUT_OF_RANGE = 1;

const Encoder: new () => { writeBuffer(bytes: Buffer): unknown } = createRequire(import.meta.url)(
  'kafkajs/src/protocol/encoder',
);

/** The part of kafkajs' clusters that is used. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  refreshMetadata(): Promise<void>;
  findLeaderForPartitions(
    topic: string,
    partitions: readonly number[],
  ): Readonly<Record<string, readonly number[]>>;
  findBroker(node: {
    readonly nodeId: string;
  }): Promise<{ readonly connectionPool: { send(exchange: Exchange): Promise<Answered> } }>;
}

interface Exchange {
  readonly request: typeof FETCH & { encode(): Promise<unknown> };
  readonly response: {
    decode(payload: Buffer): Promise<Answered>;
    parse(answered: Answered): Promise<Answered>;
  };
}

interface Answered {
  readonly partitions: readonly {
    readonly partition: number;
    readonly error: number;
    readonly records: Buffer;
  }[];
}

export interface Fetched {
  readonly partition: number;
  /** record batches; empty while there is nothing new. Undefined: the log does not have the place that was asked for */
  readonly records: Buffer | undefined;
}

export class LogFetch {
  readonly #cluster: Cluster;
  readonly #topic: string;
  readonly #bytesMax: number;
  #isConnected = false;

  /** `bytesMax` of one answer; a larger batch still comes, alone. */
  constructor(kafka: Kafka, topic: string, bytesMax: number) {
    this.#cluster = clusterOf(kafka);
    this.#topic = topic;
    this.#bytesMax = bytesMax;
  }

  /**
   * What stands in these partitions from these offsets on; waits a moment for it while there is nothing. Throws a fault with retry while a broker is away: asking
   * again finds the new leader.
   */
  async fetch(places: ReadonlyMap<number, bigint>): Promise<readonly Fetched[]> {
    try {
      if (!this.#isConnected) await this.#connect();
      const leaders = this.#cluster.findLeaderForPartitions(this.#topic, [...places.keys()]);
      const answers = await Promise.all(
        Object.entries(leaders).map(([nodeId, partitions]) =>
          this.#ask(nodeId, partitions, places),
        ),
      );
      return answers.flat();
    } catch (cause) {
      this.#isConnected = false;
      throw kafkaFault(`records of ${this.#topic} were not fetched`, cause);
    }
  }

  async close(): Promise<void> {
    await this.#cluster.disconnect();
  }

  async #connect(): Promise<void> {
    await this.#cluster.connect();
    await this.#cluster.addTargetTopic(this.#topic);
    await this.#cluster.refreshMetadata();
    this.#isConnected = true;
  }

  async #ask(
    nodeId: string,
    partitions: readonly number[],
    places: ReadonlyMap<number, bigint>,
  ): Promise<readonly Fetched[]> {
    const { connectionPool } = await this.#cluster.findBroker({ nodeId });
    const bytes = encode(
      this.#topic,
      partitions.map((partition) => [partition, places.get(partition) ?? 0n] as const),
      this.#bytesMax,
    );
    const answered = await connectionPool.send({
      request: { ...FETCH, encode: () => Promise.resolve(new Encoder().writeBuffer(bytes)) },
      response: {
        decode: (payload) => Promise.resolve(decode(payload)),
        parse: (answer) => Promise.resolve(answer),
      },
    });
    return answered.partitions.map(({ partition, error, records }) => {
      if (error === OFFSET_OUT_OF_RANGE) return { partition, records: undefined };
      if (error !== 0)
        throw new Fault('kafka', `${this.#topic}/${partition}: Kafka error ${error}`, {
          retry: true,
        });
      return { partition, records };
    });
  }
}

function clusterOf(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create: unknown = symbol === undefined ? undefined : Reflect.get(kafka, symbol);
  if (typeof create !== 'function')
    throw new Bug('this is not kafkajs 2.2.4: look how its clusters are made');
  return create({ allowAutoTopicCreation: false });
}

/** No replica, a wait, one byte at least, the most of all, uncommitted records too; then the topic and its partitions. */
function encode(
  topic: string,
  places: readonly (readonly [partition: number, offset: bigint])[],
  bytesMax: number,
): Buffer {
  const name = Buffer.from(topic);
  const head = Buffer.alloc(21);
  head.writeInt32BE(-1, 0);
  head.writeInt32BE(WAIT_MS, 4);
  head.writeInt32BE(1, 8);
  head.writeInt32BE(bytesMax, 12);
  head.writeInt8(0, 16);
  head.writeInt32BE(1, 17);
  const length = Buffer.alloc(2);
  length.writeInt16BE(name.length);
  const parts = Buffer.alloc(4 + places.length * 16);
  parts.writeInt32BE(places.length, 0);
  for (const [at, [partition, offset]] of places.entries()) {
    parts.writeInt32BE(partition, 4 + at * 16);
    parts.writeBigInt64BE(offset, 8 + at * 16);
    parts.writeInt32BE(bytesMax, 16 + at * 16);
  }
  return Buffer.concat([head, length, name, parts]);
}

function decode(payload: Buffer): Answered {
  // the throttle time, and the one topic that was asked for
  let at = 8;
  at += 2 + payload.readInt16BE(at);
  const partitions: Answered['partitions'][number][] = [];
  const count = payload.readInt32BE(at);
  at += 4;
  for (let read = 0; read < count; read++) {
    const partition = payload.readInt32BE(at);
    const error = payload.readInt16BE(at + 4);
    // after the two ends: what was aborted
    const aborted = payload.readInt32BE(at + 22);
    at += 26 + Math.max(0, aborted) * 16;
    const length = Math.max(0, payload.readInt32BE(at));
    at += 4;
    partitions.push({ partition, error, records: payload.subarray(at, at + length) });
    at += length;
  }
  return { partitions };
}
