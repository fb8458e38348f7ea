/**
 * Requests that kafkajs 2.2.4 does not know, sent over its connections: Metadata 12, which names
 * the ids of topics, and Fetch 13, which reads by them. Kafka gives each creation of a topic an id
 * of its own, so a topic that was deleted and created again is never taken for the one before.
 * Source: https://kafka.apache.org/protocol
 */
import { createRequire } from 'node:module';
import type { Kafka, Producer, ProducerConfig } from 'kafkajs';
import { Bug } from '../../process/errors.ts';

/** The used part of kafkajs' clusters: brokers, their connections and the leaders of partitions. */
export interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  addTargetTopic(topic: string): Promise<void>;
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Record<string, number[]>;
  findBroker(broker: { readonly nodeId: string }): Promise<Broker>;
  readonly brokerPool: {
    readonly brokers: Readonly<Record<string, Broker>>;
    readonly seedBroker: Broker | undefined;
    findConnectedBroker(): Promise<Broker>;
  };
}

export interface Broker {
  readonly connectionPool: {
    readonly pool: readonly Connection[];
    send<Answer>(exchange: Exchange<Answer>): Promise<Answer>;
  };
}

interface Connection {
  readonly socket?: { destroy(): void };
  rejectRequests(error: Error): void;
}

interface Exchange<Answer> {
  readonly request: {
    readonly apiKey: number;
    readonly apiVersion: number;
    readonly apiName: string;
    encode(): Promise<unknown>;
  };
  readonly response: {
    decode(payload: Buffer): Promise<Answer>;
    parse(answer: Answer): Promise<Answer>;
  };
}

const require = createRequire(import.meta.url);
const Encoder: new () => {
  writeBuffer(bytes: Buffer): unknown;
} = require('kafkajs/src/protocol/encoder');

type CreateCluster = (options: object) => Cluster;

/** Connections of their own, opened when they are needed. */
export function clusterOf(kafka: Kafka): Cluster {
  return createCluster(kafka).create({ allowAutoTopicCreation: false });
}

/** A producer, and its connections. */
export function producerOf(
  kafka: Kafka,
  options: ProducerConfig,
): { readonly producer: Producer; readonly cluster: Cluster } {
  const { symbol, create } = createCluster(kafka);
  const clusters: Cluster[] = [];
  const observed: Kafka = Object.create(kafka, {
    [symbol]: {
      value: (given: object): Cluster => {
        const made = create(given);
        clusters.push(made);
        return made;
      },
    },
  });
  const producer = observed.producer(options);
  const [cluster] = clusters;
  if (cluster === undefined) throw new Bug(OTHER_KAFKAJS);
  return { producer, cluster };
}

function createCluster(kafka: Kafka): {
  readonly symbol: symbol;
  readonly create: CreateCluster;
} {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create: CreateCluster | undefined = symbol && Reflect.get(kafka, symbol);
  if (symbol === undefined || typeof create !== 'function') throw new Bug(OTHER_KAFKAJS);
  return { symbol, create };
}

const OTHER_KAFKAJS = 'this is not kafkajs 2.2.4: look how its clusters are made';

/** Closes all connections at once: whatever is in flight fails. */
export async function disconnectNow(cluster: Cluster): Promise<void> {
  const { brokers, seedBroker } = cluster.brokerPool;
  for (const broker of new Set([...Object.values(brokers), seedBroker])) {
    for (const connection of broker?.connectionPool.pool ?? []) {
      connection.rejectRequests(new Error('the connection was closed'));
      connection.socket?.destroy();
    }
  }
  await cluster.disconnect();
}

/** Sends a request of a flexible version, of which `body` begins after the header. */
export function exchange<Answer>(
  broker: Broker,
  api: { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string },
  body: Buffer,
  decode: (payload: Buffer) => Answer | Promise<Answer>,
): Promise<Answer> {
  // kafkajs writes the older header, which lacks the tagged fields
  const encoded = new Encoder().writeBuffer(Buffer.concat([NO_TAGS, body]));
  return broker.connectionPool.send({
    request: { ...api, encode: () => Promise.resolve(encoded) },
    response: {
      decode: async (payload) => await decode(payload),
      parse: (answer) => Promise.resolve(answer),
    },
  });
}

const NO_TAGS = Buffer.of(0);
