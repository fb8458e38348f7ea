/**
 * Topic ids: Kafka gives each creation of a topic an id of its own, which tells a topic that was
 * deleted and created again from the one before. kafkajs 2.2.4 fetches by name and never asks for
 * the id, so this file sends the request (Metadata, version 12) over connections of kafkajs.
 * Source: https://kafka.apache.org/protocol#The_Messages_Metadata
 */
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';
import { Bug, Fault } from '../process/errors.ts';
import { kafkaFault } from './client.ts';

const METADATA = { apiKey: 3, apiVersion: 12, apiName: 'Metadata' };
const UNKNOWN_TOPIC = 3;

/** The part of kafkajs' clusters that is used. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  readonly brokerPool: {
    findConnectedBroker(): Promise<{
      readonly connectionPool: { send(exchange: Exchange): Promise<TopicMetadata> };
    }>;
  };
}

interface Exchange {
  readonly request: typeof METADATA & { encode(): Promise<Encoder> };
  readonly response: {
    decode(payload: Buffer): Promise<TopicMetadata>;
    parse(metadata: TopicMetadata): Promise<TopicMetadata>;
  };
}

interface TopicMetadata {
  readonly error: number;
  readonly id: string;
}

/** The used parts of kafkajs' wire format; `UVarInt` lengths are those of compact types. */
interface Encoder {
  writeUVarInt(value: number): Encoder;
  writeBuffer(bytes: Buffer): Encoder;
  writeUVarIntString(text: string): Encoder;
}

interface Decoder {
  forward(bytes: number): void;
  readInt16(): number;
  readBytes(length: number): Buffer;
  readUVarInt(): number;
  readUVarIntString(): string | null;
  readUVarIntArray(read: () => void): unknown;
  readTaggedFields(): unknown;
}

const require = createRequire(import.meta.url);
const NewEncoder: new () => Encoder = require('kafkajs/src/protocol/encoder');
const NewDecoder: new (bytes: Buffer) => Decoder = require('kafkajs/src/protocol/decoder');

export class TopicIds {
  readonly #cluster: Cluster;

  constructor(kafka: Kafka) {
    this.#cluster = clusterOf(kafka);
  }

  /** 32 hex digits. Throws a fault with retry while no broker answers or there is no such topic. */
  async idOf(topic: string): Promise<string> {
    try {
      await this.#cluster.connect();
      const { connectionPool } = await this.#cluster.brokerPool.findConnectedBroker();
      const { error, id } = await connectionPool.send({
        request: { ...METADATA, encode: () => Promise.resolve(encode(topic)) },
        response: {
          decode: (payload) => Promise.resolve(decode(payload)),
          parse: (metadata) => Promise.resolve(metadata),
        },
      });
      if (error === 0) return id;
      const why = error === UNKNOWN_TOPIC ? 'does not exist' : `has Kafka error ${error}`;
      throw new Fault('kafka', `topic ${topic} ${why}`, { retry: true });
    } catch (cause) {
      throw kafkaFault(`the brokers did not answer with the id of topic ${topic}`, cause);
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

/** Tagged fields of the header, one topic by name, no creation, no authorised operations. */
function encode(topic: string): Encoder {
  return new NewEncoder()
    .writeUVarInt(0)
    .writeUVarInt(2)
    .writeBuffer(Buffer.alloc(16))
    .writeUVarIntString(topic)
    .writeBuffer(Buffer.alloc(4));
}

function decode(payload: Buffer): TopicMetadata {
  const decoder = new NewDecoder(payload);
  decoder.readTaggedFields();
  decoder.forward(4); // throttle time
  decoder.readUVarIntArray(() => {
    decoder.forward(4); // broker id
    decoder.readUVarIntString();
    decoder.forward(4); // port
    decoder.readUVarIntString();
    decoder.readTaggedFields();
  });
  decoder.readUVarIntString(); // cluster id
  decoder.forward(4); // controller id
  decoder.readUVarInt(); // number of topics
  const error = decoder.readInt16();
  decoder.readUVarIntString();
  return { error, id: decoder.readBytes(16).toString('hex') };
}
