import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { aclsOf, OPERATOR, RIGHTS } from '../../../infra/kafka/acls.ts';
import { aclCommands, topicCommands } from '../../../infra/kafka/commands.ts';
import { ALL_TOPICS, layoutOf } from '../../../infra/kafka/topics.ts';
import { SCHEMA_IDS } from '../../../schemas/topics.ts';
import { services } from '../../../infra/services/services.ts';
import { deposits } from '../../../projections/deposits/deposits.ts';
import { explorer } from '../../../projections/explorer/explorer.ts';
import { reserve } from '../../../projections/reserve/reserve.ts';
import { rideMarket } from '../../../projections/ride-market/ride-market.ts';
import { watch } from '../../../projections/watch/watch.ts';
import { topicsOf } from '../../../services/projector/engine/quarantine.ts';

test('every service that opens Kafka has a principal, and so has the operator', () => {
  const opening = services.filter(({ variables }) => variables.includes('APP_KAFKA_BROKERS'));
  expect(RIGHTS.map(({ principal }) => principal)).toEqual([
    ...opening.map(({ name }) => name),
    OPERATOR,
  ]);
});

function names(topics: readonly { readonly name: string }[] = []): string[] {
  return topics.map((topic) => topic.name).toSorted();
}

test.each([explorer, reserve, deposits, watch, rideMarket])(
  'the projector of $name may read its topics, append nothing, and use its own group',
  (projection) => {
    const name = `projector-${projection.name.replace('_', '-')}`;
    const rights = RIGHTS.find(({ principal }) => principal === name);
    expect(names(rights?.reads)).toEqual(names([...topicsOf(projection), SCHEMA_IDS]));
    expect(rights?.appends).toEqual([]);
    expect(rights?.groups).toContain(`projector-${projection.name}`);
  },
);

test('each topic has one service that appends to it, besides the operator', () => {
  const appending = RIGHTS.filter(({ principal }) => principal !== OPERATOR).flatMap(
    ({ appends }) => appends.filter((topic) => topic !== SCHEMA_IDS),
  );
  expect(new Set(appending).size).toBe(appending.length);
});

test('nobody may alter or delete a topic', () => {
  const operations = RIGHTS.flatMap((rights) => aclsOf(rights))
    .filter(({ resource }) => resource === 'topic')
    .flatMap((acl) => acl.operations);
  expect(new Set(operations)).toEqual(new Set(['Describe', 'DescribeConfigs', 'Read', 'Write']));
});

const LAYOUT = layoutOf({ APP_KAFKA_PREFIX: 'clt.', APP_KAFKA_REPLICATION_MIN: '4' });

test('the commands create every topic with its settings, its replicas and a prefix', () => {
  const commands = topicCommands(LAYOUT);
  expect(commands).toHaveLength(ALL_TOPICS.length);
  expect(commands).toContain(
    'kafka-topics.sh --bootstrap-server "$BROKERS" --command-config "$ADMIN" --create ' +
      '--if-not-exists --topic clt.tron.transfers --partitions 6 --replication-factor 4 ' +
      '--config cleanup.policy=delete --config retention.ms=-1 --config retention.bytes=-1 ' +
      '--config message.timestamp.type=CreateTime ' +
      '--config message.timestamp.after.max.ms=3600000 --config max.message.bytes=1048576 ' +
      '--config flush.messages=1 --config min.insync.replicas=3 ' +
      '--config unclean.leader.election.enable=false',
  );
  expect(layoutOf({})).toEqual({ prefix: '', replicas: 3 });
});

test('the commands grant the rights under a prefix', () => {
  expect(aclCommands(LAYOUT)).toContain(
    'kafka-acls.sh --bootstrap-server "$BROKERS" --command-config "$ADMIN" --add ' +
      '--allow-principal User:chain-ingester --operation Describe --operation DescribeConfigs ' +
      '--operation Read --operation Write --topic clt.chain.blocks',
  );
  expect(aclCommands(LAYOUT).every((line) => /--(topic|group) clt\./.test(line))).toBe(true);
});

function listed(topics: readonly { readonly name: string }[]): string {
  return topics.map(({ name }) => name).join(', ');
}

test('docs/operations/cluster.md has the rights of every principal', () => {
  const page = readFileSync(
    new URL('../../../docs/operations/cluster.md', import.meta.url),
    'utf8',
  );
  const table = page.slice(
    page.indexOf('## Rights at Kafka'),
    page.indexOf('## Changing certificates'),
  );
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| principal'))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim().replaceAll('`', '')))
    .filter(([principal]) => !/^-+$/.test(principal ?? ''));
  expect(rows).toEqual(
    RIGHTS.map(({ principal, reads, appends, describes, groups }) => [
      principal,
      listed(reads),
      listed(appends),
      listed(describes),
      groups.join(', '),
    ]),
  );
});
