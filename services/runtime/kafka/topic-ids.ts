/**
 * Which topic it is: Kafka gives each creation of a topic an id, by which one deleted and created again under its name is told from the one before. kafkajs
 * 2.2.4 fetches by name and never asks for the id, so the one request that tells it (Metadata, version 12) is sent here over connections of kafkajs' own.
 */
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { Bug, Fault } from '../process/errors.ts';
import { kafkaFault } from './topics.ts';

const METADATA = { apiKey: 3, apiVersion: 12, apiName: 'Metadata' };
const UNKNOWN_TOPIC = 3;

const Encoder: new () => { writeBuffer(bytes: Buffer): unknown } = createRequire(import.meta.url)(
  'kafkajs/src/protocol/encoder',
);

/** The part of kafkajs' clusters that is used. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  readonly brokerPool: {
    findConnectedBroker(): Promise<{
      readonly connectionPool: { send(exchange: Exchange): Promise<Described> };
    }>;
  };
}

interface Exchange {
  readonly request: typeof METADATA & { encode(): Promise<unknown> };
  readonly response: {
    decode(payload: Buffer): Promise<Described>;
    parse(described: Described): Promise<Described>;
  };
}

interface Described {
  readonly error: number;
  readonly id: string;
}

export class TopicIds {
  readonly #cluster: Cluster;

  constructor(kafka: Kafka) {
    this.#cluster = clusterOf(kafka);
  }

  /** The id as 32 hex digits. Throws a fault with retry while no broker answers or the topic does not exist. */
  async idOf(topic: string): Promise<string> {
    try {
      await this.#cluster.connect();
      const { connectionPool } = await this.#cluster.brokerPool.findConnectedBroker();
      const { error, id } = await connectionPool.send({
        request: {
          ...METADATA,
          encode: () => Promise.resolve(new Encoder().writeBuffer(encode(topic))),
        },
        response: {
          decode: (payload) => Promise.resolve(decode(payload)),
          parse: (described) => Promise.resolve(described),
        },
      });
      if (error === 0) return id;
      throw new Fault(
        'kafka',
        error === UNKNOWN_TOPIC
          ? `topic ${topic} does not exist`
          : `topic ${topic}: Kafka error ${error}`,
        {
          retry: true,
        },
      );
    } catch (cause) {
      throw kafkaFault(`the brokers did not tell the id of topic ${topic}`, cause);
    }
  }

  async disconnect(): Promise<void> {
    await this.#cluster.disconnect();
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

/** Tags of the header, then one topic by name, nothing to be created, no authorisations. */
function encode(topic: string): Buffer {
  const name = Buffer.from(topic);
  const length = name.length + 1;
  const size = length < 128 ? [length] : [(length & 127) | 128, length >> 7];
  return Buffer.concat([
    Buffer.from([0, 2]),
    Buffer.alloc(16),
    Buffer.from(size),
    name,
    Buffer.from([0, 0, 0, 0]),
  ]);
}

function decode(payload: Buffer): Described {
  let at = 0;
  const size = (): number => {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = payload.readUInt8(at++);
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const skip = (bytes: number): void => {
    at += bytes;
  };
  const skipText = (): void => skip(Math.max(0, size() - 1));
  const skipTags = (): void => {
    for (let tags = size(); tags > 0; tags--) {
      size();
      skip(size());
    }
  };
  skipTags();
  skip(4);
  for (let brokers = size() - 1; brokers > 0; brokers--) {
    skip(4);
    skipText();
    skip(4);
    skipText();
    skipTags();
  }
  skipText();
  skip(4);
  size();
  const error = payload.readInt16BE(at);
  skip(2);
  skipText();
  return { error, id: payload.toString('hex', at, at + 16) };
}
