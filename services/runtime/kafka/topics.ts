/**
 * Topics as declared: created where they are missing, refused where their settings would lose
 * records or change their order, watched for replicas that are missing.
 */
import { setTimeout as after } from 'node:timers/promises';
import { durableConfig, type Topic } from '../../../schemas/topics.ts';
import { Fault } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import { untilAborted } from '../process/retry.ts';
import { withAdmin } from './client.ts';
import {
  errorType,
  kafkaFault,
  NO_TOPIC,
  type Admin,
  type Kafka,
  type LogEnd,
  type TopicDescription,
} from './port.ts';

const LEADER_TRIES = 100;
const LEADER_EVERY_MS = 50;
const WATCH_MS = 60_000;

/** Limits: more than declared loses nothing. */
const AT_LEAST = new Set(['max.message.bytes', 'min.insync.replicas']);
/** Settings against loss; all others change the order or the records. */
const DURABLE = new Set(['min.insync.replicas', 'unclean.leader.election.enable']);

/**
 * Creates missing topics. Throws `topic_settings` (no retry) when a topic differs from its
 * declaration; `durable`: also when it could lose acknowledged records.
 */
export async function ensureTopics(
  kafka: Kafka,
  topics: readonly Topic[],
  { durable = false } = {},
): Promise<void> {
  await withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.topicNames());
    const missing = topics.filter(({ name }) => !existing.has(name));
    if (missing.length > 0) await create(kafka, admin, missing);
    for (const topic of topics) {
      const description = await describe(admin, topic, kafka.replication_min);
      const different = differencesOf(kafka, topic, description);
      const refused = different.find(({ is_durable: isDurable }) => durable || !isDurable);
      if (refused !== undefined)
        throw new Fault('topic_settings', refused.message, { retry: false });
    }
  });
}

/** The settings of a topic at the brokers. */
function configOf({ config }: Topic, replicas: number): Topic['config'] {
  return { ...config, ...durableConfig(replicas) };
}

async function create(kafka: Kafka, admin: Admin, topics: readonly Topic[]): Promise<void> {
  const replicas = kafka.replication_min;
  try {
    await admin.createTopics(
      topics.map((topic) => ({
        name: topic.name,
        partitions: topic.partitions,
        replicas: replicas === 1 ? undefined : replicas,
        config: configOf(topic, replicas),
      })),
    );
  } catch (cause) {
    if (errorType(cause) !== 'INVALID_REPLICATION_FACTOR') throw cause;
    const names = topics.map(({ name }) => `${kafka.prefix}${name}`).join(', ');
    throw new Fault(
      'topic_settings',
      `${names} cannot be created with ${replicas} replicas: fewer brokers run; start them, or lower APP_KAFKA_REPLICATION_MIN`,
      { retry: true, cause },
    );
  }
}

interface Difference {
  readonly message: string;
  readonly is_durable: boolean;
}

function differencesOf(
  { prefix, replication_min: replicationMin }: Kafka,
  { name: plainName, config: declared, partitions }: Topic,
  description: TopicDescription,
): readonly Difference[] {
  const name = `${prefix}${plainName}`;
  const found: Difference[] = [];
  const count = description.partitions.length;
  if (count !== partitions)
    found.push({
      is_durable: false,
      message: `topic ${name} has ${count} partitions instead of ${partitions}, so its order would be another; point APP_KAFKA_BROKERS to the right cluster, or delete the topic if nothing in it is needed`,
    });
  const wanted: Topic['config'] = { ...declared, ...durableConfig(replicationMin) };
  for (const [setting, value] of description.config) {
    const should = wanted[setting];
    if (should === undefined || should === value) continue;
    if (AT_LEAST.has(setting) && Number(value) >= Number(should)) continue;
    found.push({
      is_durable: DURABLE.has(setting),
      message: `topic ${name} has ${setting}=${value} instead of ${should}; set it with kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type topics --entity-name ${name} --add-config ${setting}=${should}`,
    });
  }
  const replicas = Math.min(...description.partitions.map((partition) => partition.replicas));
  if (replicas < replicationMin)
    found.push({
      is_durable: true,
      message: `topic ${name} has ${replicas} replicas instead of ${replicationMin}; add some with kafka-reassign-partitions.sh, or lower APP_KAFKA_REPLICATION_MIN`,
    });
  return found;
}

/** The partitions that do not begin at offset 0 any more, in words. */
export function startsLost({ config }: Topic, ends: readonly LogEnd[]): readonly string[] {
  // of such a topic the brokers delete old records
  if (config['retention.bytes'] !== '-1') return [];
  return ends
    .filter(({ low }) => low > 0n)
    .map(
      ({ topic, partition, low }) =>
        `${topic}/${partition} begins at offset ${low}: the records before it were deleted, and no service that starts can read it; restore the topic from a backup (docs/operations/backup.md), and look for who deleted them`,
    );
}

export interface TopicWatchOptions {
  readonly kafka: Kafka;
  readonly topics: readonly Topic[];
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly every_ms?: number;
}

/** Compares the topics once a minute until the signal is aborted, also while brokers are away. */
export async function watchTopics(options: TopicWatchOptions): Promise<void> {
  const { kafka, topics, metrics, log, signal, every_ms: everyMs = WATCH_MS } = options;
  const different = metrics.gauge(
    'log_topic_differences',
    'settings and replicas of a topic that are less than declared, and partitions that lost their begin',
    ['topic'],
  );
  const lacking = metrics.gauge(
    'log_replicas_missing',
    'replicas of a topic that are not in sync, or not there at all',
    ['topic'],
  );
  const limit = metrics.gauge(
    'log_topic_bytes_max',
    'bytes on the wire of the largest batch that a topic takes: its max.message.bytes',
    ['topic'],
  );
  const brokers = metrics.gauge('log_brokers', 'brokers that the cluster has now');
  let before = '';
  while (!signal.aborted) {
    try {
      const problems: string[] = [];
      await withAdmin(kafka, async (admin) => {
        const living = [...(await admin.brokers()).values()].filter((at) => at !== undefined);
        brokers.set(living.length);
        for (const topic of topics) {
          const description = await describe(admin, topic, kafka.replication_min);
          const found = [
            ...differencesOf(kafka, topic, description).map(({ message }) => message),
            ...startsLost(topic, await admin.ends(topic.name)),
          ];
          problems.push(...found);
          different.set({ topic: topic.name }, found.length);
          const missing = description.partitions.map(
            ({ replicas, in_sync: inSync }) => Math.max(replicas, kafka.replication_min) - inSync,
          );
          limit.set({ topic: topic.name }, Number(description.config.get('max.message.bytes')));
          lacking.set({ topic: topic.name }, Math.max(0, ...missing));
        }
      });
      const now = problems.join('; ');
      if (now !== before && now !== '') log.error({ problems }, 'topics are not as declared');
      before = now;
    } catch (error) {
      log.debug({ err: kafkaFault('topics are not known', error) }, 'watch of topics failed');
    }
    await untilAborted(everyMs, signal);
  }
}

/**
 * Waits until all partitions have a leader: a broker does not know at once of a topic that was just
 * created, here or by another process.
 */
async function describe(admin: Admin, topic: Topic, replicas: number): Promise<TopicDescription> {
  const { name } = topic;
  const settings = Object.keys(configOf(topic, replicas));
  for (let tries = 1; ; tries++) {
    try {
      const described = await admin.describeTopic(name, settings);
      const { partitions } = described;
      if (partitions.length > 0 && partitions.every(({ leader }) => leader >= 0)) return described;
      if (tries === LEADER_TRIES) throw new Error(`a partition of ${name} has no leader`);
    } catch (error) {
      if (tries === LEADER_TRIES || errorType(error) !== NO_TOPIC) throw error;
    }
    await after(LEADER_EVERY_MS);
  }
}
