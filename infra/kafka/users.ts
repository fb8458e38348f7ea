/**
 * Gives users their passwords: AlterUserScramCredentials, a request that kafkajs 2.2.4 does not
 * know, sent over its connections. Connections that are open stay. Sources:
 * https://kafka.apache.org/protocol (key 51, version 0), RFC 5802 (salted password).
 */
import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { createRequire } from 'node:module';
import type { Kafka } from 'kafkajs';

const require = createRequire(import.meta.url);
const Encoder: new () => {
  writeBuffer(bytes: Buffer): unknown;
} = require('kafkajs/src/protocol/encoder');

const REQUEST = { apiKey: 51, apiVersion: 0, apiName: 'AlterUserScramCredentials' };
const SCRAM_SHA_512 = 2;
/** The least that Kafka takes; the passwords are random. */
const ITERATIONS = 4_096;
const HASH_BYTES = 64;
const SALT_BYTES = 32;
const NO_TAGS = Buffer.of(0);

/** The used part of kafkajs' clusters. */
interface Cluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  findControllerBroker(): Promise<{
    readonly connectionPool: { send(exchange: object): Promise<Buffer> };
  }>;
}

/** Passwords by name. Throws when Kafka refuses one. */
export async function setPasswords(
  kafka: Kafka,
  users: Readonly<Record<string, string>>,
): Promise<void> {
  const cluster = clusterOf(kafka);
  await cluster.connect();
  try {
    await cluster.refreshMetadata();
    const { connectionPool } = await cluster.findControllerBroker();
    // kafkajs writes the older header, which lacks the tagged fields
    const body = new Encoder().writeBuffer(Buffer.concat([NO_TAGS, requestBody(users)]));
    const answer = await connectionPool.send({
      request: { ...REQUEST, encode: () => Promise.resolve(body) },
      response: {
        decode: (payload: Buffer) => Promise.resolve(payload),
        parse: (payload: Buffer) => Promise.resolve(payload),
      },
    });
    const refused = refusals(answer);
    if (refused.length > 0)
      throw new Error(
        `Kafka did not take the passwords of ${refused.join(', ')}: the account that gives ` +
          'passwords has to be one of super.users',
      );
  } finally {
    await cluster.disconnect();
  }
}

function clusterOf(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create: ((options: object) => Cluster) | undefined = symbol && Reflect.get(kafka, symbol);
  if (create === undefined)
    throw new Error('this is not kafkajs 2.2.4: look how its clusters are made');
  return create({ allowAutoTopicCreation: false, metadataMaxAge: 60_000 });
}

/** No deletions, then an upsertion for each user. */
function requestBody(users: Readonly<Record<string, string>>): Buffer {
  const upsertions = Object.entries(users).map(([name, password]) => {
    const salt = randomBytes(SALT_BYTES);
    const salted = pbkdf2Sync(password, salt, ITERATIONS, HASH_BYTES, 'sha512');
    const numbers = Buffer.alloc(5);
    numbers.writeInt8(SCRAM_SHA_512, 0);
    numbers.writeInt32BE(ITERATIONS, 1);
    return Buffer.concat([
      compact(Buffer.from(name)),
      numbers,
      compact(salt),
      compact(salted),
      NO_TAGS,
    ]);
  });
  const counts = [Buffer.of(1), varint(upsertions.length + 1)];
  return Buffer.concat([...counts, ...upsertions, NO_TAGS]);
}

/** Bytes after their length plus one. */
function compact(bytes: Buffer): Buffer {
  return Buffer.concat([varint(bytes.length + 1), bytes]);
}

function varint(value: number): Buffer {
  return value < 0x80
    ? Buffer.of(value)
    : Buffer.concat([Buffer.of((value & 0x7f) | 0x80), varint(value >>> 7)]);
}

/** Users whose passwords were not taken, each with the reason, of an answer. */
function refusals(answer: Buffer): readonly string[] {
  // tagged fields of the header, throttle time
  let at = 5;
  const unsigned = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = answer.readUInt8(at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const text = (): string => {
    const length = Math.max(0, unsigned() - 1);
    return answer.toString('utf8', at, (at += length));
  };
  const refused: string[] = [];
  const results = unsigned() - 1;
  for (let result = 0; result < results; result++) {
    const name = text();
    const code = answer.readInt16BE(at);
    at += 2;
    const message = text();
    // its tagged fields
    at += 1;
    if (code !== 0) refused.push(`${name} (error ${code}: ${message})`);
  }
  return refused;
}
