/**
 * A prefix before the names of topics and groups, for a cluster that is shared with others. It is
 * added and removed here alone: the client and the brokers know the names with it, everything else
 * without.
 */
import type { Admin, Appender, Fetcher, Kafka, Share, ShareOptions } from './port.ts';

export function prefixed(kafka: Kafka, prefix: string): Kafka {
  if (prefix === '') return kafka;
  const wire = (name: string): string => `${prefix}${name}`;
  const plain = (name: string): string => name.slice(prefix.length);
  return {
    replication_min: kafka.replication_min,
    prefix,
    admin: () => adminOf(kafka.admin(), prefix),
    appender() {
      const appender = kafka.appender();
      return {
        connect: () => appender.connect(),
        append: (topic, ...rest) => appender.append(wire(topic), ...rest),
        disconnect: () => appender.disconnect(),
      } satisfies Appender;
    },
    fetcher() {
      const fetcher = kafka.fetcher();
      return {
        topicId: (topic) => fetcher.topicId(wire(topic)),
        fetch: (position) => fetcher.fetch({ ...position, topic: wire(position.topic) }),
        disconnect: () => fetcher.disconnect(),
      } satisfies Fetcher;
    },
    share(options: ShareOptions): Share {
      const share = kafka.share({
        group_id: wire(options.group_id),
        topics: options.topics.map(wire),
        session_ms: options.session_ms,
        claim: options.claim,
        onHeld: options.onHeld,
        onLeft: options.onLeft,
        onAssigned: (assigned, ...rest) =>
          options.onAssigned(
            assigned && new Map([...assigned].map(([topic, parts]) => [plain(topic), parts])),
            ...rest,
          ),
      });
      return {
        join: () => share.join(),
        commit: (topic, ...rest) => share.commit(wire(topic), ...rest),
        disconnect: () => share.disconnect(),
      };
    },
  };
}

function adminOf(admin: Admin, prefix: string): Admin {
  const wire = (name: string): string => `${prefix}${name}`;
  return {
    clusterId: () => admin.clusterId(),
    connect: () => admin.connect(),
    brokers: () => admin.brokers(),
    async topicNames() {
      const names = await admin.topicNames();
      return names
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length));
    },
    async ends(topic) {
      const ends = await admin.ends(wire(topic));
      return ends.map(({ partition, low, high }) => ({ topic, partition, low, high }));
    },
    offsetsAt: (topic, time) => admin.offsetsAt(wire(topic), time),
    createTopics: (topics) =>
      admin.createTopics(topics.map((topic) => ({ ...topic, name: wire(topic.name) }))),
    describeTopic: (topic, settings) => admin.describeTopic(wire(topic), settings),
    disconnect: () => admin.disconnect(),
  };
}
