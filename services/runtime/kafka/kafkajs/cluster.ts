/**
 * Requests that kafkajs 2.2.4 does not know, sent over its connections: Metadata 12, which names
 * the ids of topics, and Fetch 13, which reads by them. Kafka gives each creation of a topic an id
 * of its own, so a topic that was deleted and created again is never taken for the one before.
 * Source: https://kafka.apache.org/protocol
 */
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
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

/** Connections of their own, opened when they are needed. */
export function clusterOf(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create: unknown = symbol === undefined ? undefined : Reflect.get(kafka, symbol);
  if (typeof create !== 'function')
    throw new Bug('this is not kafkajs 2.2.4: look how its clusters are made');
  return create({ allowAutoTopicCreation: false });
}

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
