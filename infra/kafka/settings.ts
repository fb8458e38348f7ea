/** Settings of Kafka for the local stack, docker-compose.yml and the containers of tests. */
export const kafka_version = '4.3.0';
export const kafka_image = `apache/kafka:${kafka_version}`;
export const kafka_heap = '-Xmx512m';

/** Above the 32 MiB that chain.blocks allows, so that the limit of the topic decides. */
const record_bytes_max = 33 * 1024 * 1024;

/** Settings of server.properties that do not depend on the machine. */
export const kafkaSettings: Readonly<Record<string, string>> = {
  'auto.create.topics.enable': 'false',
  'group.initial.rebalance.delay.ms': '0',
  // A killed broker is fenced after 2 s: recovery takes 4 to 10 s instead of 13 to 19 s.
  'broker.session.timeout.ms': '2000',
  'broker.heartbeat.interval.ms': '300',
  // On a busy or slow machine a start takes longer than the default of a minute, and Kafka ends.
  'initial.broker.registration.timeout.ms': '600000',
  // Allows APP_KAFKA_SESSION_MS of 2 s; the default minimum is 6 s.
  'group.min.session.timeout.ms': '1000',
  'message.max.bytes': String(record_bytes_max),
  'replica.fetch.max.bytes': String(record_bytes_max),
  'log.retention.ms': '-1',
  // One broker, a dozen groups: the default of 50 partitions delays the first group by a second.
  'offsets.topic.num.partitions': '4',
  'offsets.topic.replication.factor': '1',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  'share.coordinator.state.topic.replication.factor': '1',
  'share.coordinator.state.topic.min.isr': '1',
};

/** Addresses and directories of a single node that is broker and controller. */
export function kafkaPlace(at: {
  readonly listeners: string;
  readonly advertised_listeners: string;
  readonly protocols: string;
  readonly controller: string;
  readonly data: string;
}): Record<string, string> {
  return {
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@${at.controller}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    'listener.security.protocol.map': at.protocols,
    listeners: at.listeners,
    'advertised.listeners': at.advertised_listeners,
    'log.dirs': at.data,
  };
}

/**
 * The settings by which the listener CLIENTS asks for an account, and nobody may do what no rule
 * allows, except `superUsers`.
 */
export function kafkaAccounts(superUsers: readonly string[]): Record<string, string> {
  return {
    'sasl.enabled.mechanisms': 'SCRAM-SHA-512',
    'listener.name.clients.scram-sha-512.sasl.jaas.config':
      'org.apache.kafka.common.security.scram.ScramLoginModule required;',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'allow.everyone.if.no.acl.found': 'false',
    'super.users': superUsers.map((name) => `User:${name}`).join(';'),
  };
}

/**
 * The name of a server.properties setting as an environment variable of the container image.
 * Source: https://hub.docker.com/r/apache/kafka
 */
export function kafkaVariable(setting: string): string {
  return `KAFKA_${setting.toUpperCase().replaceAll('-', '___').replaceAll('.', '_')}`;
}
