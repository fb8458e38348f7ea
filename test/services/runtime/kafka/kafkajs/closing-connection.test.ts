/** A connection of kafkajs that is closing, on a socket that never answers. */
import { createRequire } from 'node:module';
import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { openKafkajs } from '../../../../../services/runtime/kafka/kafkajs/client.ts';
import { silentLog } from '../../../../support/kafka.ts';
import { HANG_MS } from '../../../../support/limits.ts';

interface Connection {
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  send(exchange: unknown): Promise<unknown>;
}

const require = createRequire(import.meta.url);
const KafkajsConnection: new (
  options: object,
) => Connection = require('kafkajs/src/network/connection');
const Encoder: new () => object = require('kafkajs/src/protocol/encoder');

class SilentSocket extends EventEmitter {
  readonly setKeepAlive = (): void => undefined;
  readonly unref = (): void => undefined;
  readonly write = (): void => undefined;
  readonly end = (): void => undefined;
}

const quiet = (): void => undefined;

/** Connected to a broker that never answers. */
async function connected(): Promise<Connection> {
  openKafkajs({ kafka_brokers: ['nowhere:1'] }, 'test', silentLog());
  const connection = new KafkajsConnection({
    host: 'nowhere',
    port: 1,
    logger: { namespace: () => ({ debug: quiet, error: quiet, warn: quiet }) },
    requestTimeout: HANG_MS,
    connectionTimeout: HANG_MS,
    socketFactory: ({ onConnect }: { readonly onConnect: () => void }) => {
      queueMicrotask(onConnect);
      return new SilentSocket();
    },
  });
  await connection.connect();
  return connection;
}

const REQUEST = {
  request: {
    apiKey: 18,
    apiVersion: 0,
    apiName: 'ApiVersions',
    encode: () => Promise.resolve(new Encoder()),
  },
  response: {},
};

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const later = new Promise((resolve) => setImmediate(resolve, 'later'));
  const settled = promise.then(
    () => 'settled',
    () => 'settled',
  );
  return (await Promise.race([settled, later])) === 'settled';
}

test.each(Array.from({ length: 8 }, (_, steps) => steps))(
  'no request is left to wait when its connection closes %d steps after it was begun',
  async (steps) => {
    const connection = await connected();
    const sent = connection.send(REQUEST);
    for (let step = 0; step < steps; step++) await Promise.resolve();
    const isClosed = await isSettled(connection.disconnect());
    // a request that was sent holds the connection open until its answer or timeout
    expect(await isSettled(sent)).toBe(isClosed);
  },
);
