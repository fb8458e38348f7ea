/**
 * Prints the commands of Kafka's own scripts that create the topics and grant the rights, for the
 * administrator of a cluster that is not ours: `node infra/kafka/commands.ts`, with
 * APP_KAFKA_PREFIX and APP_KAFKA_REPLICATION_MIN (3 when not set) as the services have them.
 */
import { pathToFileURL } from 'node:url';
import { aclsOf, RIGHTS } from './acls.ts';
import { layoutOf, newTopics, type Layout } from './topics.ts';

const CONNECTION = '--bootstrap-server "$BROKERS" --command-config "$ADMIN"';

export function topicCommands(layout: Layout): string[] {
  return newTopics(layout).map(({ name, partitions, config }) =>
    [
      `kafka-topics.sh ${CONNECTION} --create --if-not-exists --topic ${name}`,
      `--partitions ${partitions} --replication-factor ${layout.replicas}`,
      ...Object.entries(config).map(([setting, value]) => `--config ${setting}=${value}`),
    ].join(' '),
  );
}

export function aclCommands({ prefix }: Pick<Layout, 'prefix'>): string[] {
  return RIGHTS.flatMap((each) => aclsOf(each, prefix)).map(
    ({ principal, resource, name, is_prefix: isPrefix, operations }) =>
      [
        `kafka-acls.sh ${CONNECTION} --add --allow-principal User:${principal}`,
        ...operations.map((operation) => `--operation ${operation}`),
        `--${resource} ${name}`,
        ...(isPrefix ? ['--resource-pattern-type prefixed'] : []),
      ].join(' '),
  );
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const layout = layoutOf(process.env);
  process.stdout.write(`${[...topicCommands(layout), ...aclCommands(layout)].join('\n')}\n`);
}
