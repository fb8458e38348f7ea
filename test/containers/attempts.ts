/**
 * The program of a thief in a container, given to Node as text: `own|none HOST:PORT TOPIC...`.
 * With the account of the container or without one it appends to each topic, makes a topic and
 * gives itself a right. It prints how each attempt ended: `done`, or the name of an error.
 */
import { readFileSync } from 'node:fs';
import kafkajs, { Kafka, logLevel, type SASLOptions } from 'kafkajs';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const { APP_KAFKA_USERNAME: username = '', APP_KAFKA_PASSWORD_FILE: file = '' } = process.env;
const [, account, broker = '', ...topics] = process.argv;
const password = readFileSync(file, 'utf8').trim();
const sasl: SASLOptions = { mechanism: 'scram-sha-512', username, password };
const kafka = new Kafka({
  brokers: [broker],
  logLevel: logLevel.NOTHING,
  // a busy broker fails for a moment; one that hangs up on a stranger does so each time
  ...(account === 'own' ? { sasl, retry: { retries: 20 } } : { retry: { retries: 0 } }),
});

async function append(topic: string): Promise<string> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  try {
    await producer.connect();
    await producer.send({ topic, messages: [{ value: 'forged' }] });
    return 'done';
  } finally {
    await producer.disconnect();
  }
}

async function administer(work: (admin: kafkajs.Admin) => Promise<unknown>): Promise<string> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    await work(admin);
    return 'done';
  } finally {
    await admin.disconnect();
  }
}

const EVERYTHING = {
  principal: `User:${username}`,
  host: '*',
  permissionType: AclPermissionTypes.ALLOW,
  operation: AclOperationTypes.ALL,
  resourceType: AclResourceTypes.TOPIC,
  resourceName: '*',
  resourcePatternType: ResourcePatternTypes.LITERAL,
};

/** The type that Kafka gives an error, or else its name. */
function nameOf(error: unknown): string {
  if (error instanceof kafkajs.KafkaJSNumberOfRetriesExceeded) return nameOf(error.cause);
  if (error instanceof kafkajs.KafkaJSAggregateError) return nameOf(error.errors[0]);
  if (error instanceof kafkajs.KafkaJSProtocolError) return error.type;
  return error instanceof Error ? error.name : String(error);
}

const ended: Record<string, string> = {};
for (const topic of topics) ended[topic] = await append(topic).catch(nameOf);
ended['a topic'] = await administer((admin) =>
  admin.createTopics({ topics: [{ topic: 'mine' }] }),
).catch(nameOf);
ended['a right'] = await administer((admin) => admin.createAcls({ acl: [EVERYTHING] })).catch(
  nameOf,
);
// a client that lost its connection may stay open
process.stdout.write(JSON.stringify(ended), () => process.exit());
