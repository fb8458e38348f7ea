/**
 * Gives a cluster with an authorizer the topics, and every principal its password and its rights,
 * and takes from it those that it had before and does not need. In
 * containers at each start: `node infra/kafka/settle.ts FOLDER HOST:PORT...`, with all brokers, as
 * the administrator where the connection is encrypted, and else without an account.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import kafkajs, { Kafka, logLevel, type KafkaConfig } from 'kafkajs';
import { ADMINISTRATOR } from '../cluster/kafka.ts';
import { runSettling } from '../settling.ts';
import { aclsOf, kafkaPasswordFile, RIGHTS, type Operation } from './acls.ts';
import { newTopics, type Layout } from './topics.ts';
import { setPasswords } from './users.ts';

const {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  KafkaJSAggregateError,
  KafkaJSError,
  KafkaJSNumberOfRetriesExceeded,
  KafkaJSProtocolError,
  ResourcePatternTypes,
} = kafkajs;

const OPERATIONS: Readonly<Record<Operation, kafkajs.AclOperationTypes>> = {
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
  Describe: AclOperationTypes.DESCRIBE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
};

const POLL_MS = 100;
const SETTLE_MS = 600_000;

type Connection = Pick<KafkaConfig, 'ssl' | 'sasl' | 'socketFactory'> & {
  readonly brokers: string[];
};

/**
 * As an administrator, when all `brokers` live. Makes nothing that is there already. Tries again
 * for ten minutes when a broker does not answer: it is listed a moment before it listens.
 * `users`: passwords by name.
 */
export async function settleKafka(
  connection: Connection,
  layout: Layout,
  users: Readonly<Record<string, string>> = {},
): Promise<void> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    try {
      return await settleOnce(connection, layout, users);
    } catch (error) {
      if (!isPassing(error) || performance.now() > deadline) throw error;
    }
    await pause(POLL_MS);
  }
}

/** Whether an error may be gone at the next try. */
export function isPassing(error: unknown): boolean {
  if (error instanceof KafkaJSNumberOfRetriesExceeded) return isPassing(error.cause);
  if (error instanceof KafkaJSAggregateError) return error.errors.every(isPassing);
  // a broker that was silent for its session is missing until it is heard again
  if (error instanceof KafkaJSProtocolError && error.type === 'INVALID_REPLICATION_FACTOR')
    return true;
  return error instanceof KafkaJSError && error.retriable;
}

async function settleOnce(
  connection: Connection,
  layout: Layout,
  users: Readonly<Record<string, string>>,
): Promise<void> {
  const kafka = new Kafka({ ...connection, clientId: 'settle', logLevel: logLevel.NOTHING });
  if (Object.keys(users).length > 0) await setPasswords(kafka, users);
  const admin = kafka.admin();
  await admin.connect();
  try {
    const existing = new Set(await admin.listTopics());
    const missing = newTopics(layout).filter(({ name }) => !existing.has(name));
    if (missing.length > 0) {
      // with fewer brokers a topic could not have as many replicas
      while ((await admin.describeCluster()).brokers.length < connection.brokers.length)
        await pause(POLL_MS);
      await admin.createTopics({
        topics: missing.map(({ name, partitions, config }) => ({
          topic: name,
          numPartitions: partitions,
          replicationFactor: layout.replicas,
          configEntries: Object.entries(config).map(([entry, value]) => ({ name: entry, value })),
        })),
      });
    }
    const acl = RIGHTS.flatMap((rights) => aclsOf(rights, layout.prefix)).flatMap((right) =>
      right.operations.map((operation) => ({
        principal: `User:${right.principal}`,
        host: '*',
        permissionType: AclPermissionTypes.ALLOW,
        operation: OPERATIONS[operation],
        resourceType: right.resource === 'topic' ? AclResourceTypes.TOPIC : AclResourceTypes.GROUP,
        resourceName: right.name,
        resourcePatternType: right.is_prefix
          ? ResourcePatternTypes.PREFIXED
          : ResourcePatternTypes.LITERAL,
      })),
    );
    const keys = new Set(acl.map(keyOf));
    for (;;) {
      // again each time: an earlier version that settles now takes what it does not know
      await admin.createAcls({ acl });
      const { resources } = await admin.describeAcls(ALL_ACLS);
      const known = resources.flatMap(({ acls, ...on }) => acls.map((to) => ({ ...on, ...to })));
      const others = known.filter(
        (entry) => isOfService(entry, layout.prefix) && !keys.has(keyOf(entry)),
      );
      // a broker knows them a moment after they are created or deleted
      if (others.length === 0 && keys.isSubsetOf(new Set(known.map(keyOf)))) break;
      if (others.length > 0) await admin.deleteAcls({ filters: others });
      await pause(POLL_MS);
    }
  } finally {
    await admin.disconnect();
  }
}

const ALL_ACLS = {
  resourceType: AclResourceTypes.ANY,
  resourcePatternType: ResourcePatternTypes.ANY,
  operation: AclOperationTypes.ANY,
  permissionType: AclPermissionTypes.ANY,
};

const SERVICES = new Set(RIGHTS.map(({ principal }) => `User:${principal}`));

/** Whether a rule allows a service something, and is of the log with this prefix. */
function isOfService(acl: kafkajs.AclEntry, prefix: string): boolean {
  const { principal, permissionType, resourceName } = acl;
  const isAllowed = permissionType === AclPermissionTypes.ALLOW;
  return isAllowed && SERVICES.has(principal) && resourceName.startsWith(prefix);
}

function keyOf(acl: kafkajs.AclEntry): string {
  const { principal, host, operation, resourceType, resourcePatternType, resourceName } = acl;
  return JSON.stringify([
    principal,
    host,
    operation,
    resourceType,
    resourcePatternType,
    resourceName,
  ]);
}

function administrator(authority: string, password: string): Pick<Connection, 'ssl' | 'sasl'> {
  return {
    ssl: { ca: readFileSync(authority, 'utf8') },
    sasl: { mechanism: 'scram-sha-512', username: ADMINISTRATOR, password },
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const names = RIGHTS.map(({ principal }) => principal);
  await runSettling(names.map(kafkaPasswordFile), async ({ hosts, passwordOf, authority }) => {
    const account =
      authority === undefined
        ? {}
        : administrator(authority, passwordOf(kafkaPasswordFile(ADMINISTRATOR)));
    const users = names.map((name) => [name, passwordOf(kafkaPasswordFile(name))] as const);
    await settleKafka(
      { brokers: [...hosts], ...account },
      { prefix: '', replicas: hosts.length },
      Object.fromEntries(users),
    );
  });
}
