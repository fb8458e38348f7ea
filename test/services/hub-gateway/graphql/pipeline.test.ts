import { ApolloServer } from '@apollo/server';
import { expect, test } from 'vitest';
import { operationTimes } from '../../../../services/hub-gateway/graphql/pipeline.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

test('operations are counted by root field and outcome, with a label for all that are not one field of the schema', async () => {
  const metrics = new Metrics('hub');
  const server = new ApolloServer({
    typeDefs: 'type Query { one: Int two: Int! }',
    resolvers: { Query: { one: () => 1, two: () => null } },
    plugins: [operationTimes(metrics)],
    logger: { debug: String, info: String, warn: String, error: String },
  });
  await server.start();
  for (const query of [
    '{ one }',
    'query q { alias: one }',
    '{ two }',
    '{ one two }',
    '{ unknown_field }',
    '{ broken',
    'query a { one } query b { one }',
  ])
    await server.executeOperation({ query });
  await server.stop();
  const counts = [
    ...(await metrics.text()).matchAll(
      /^hub_operation_seconds_count\{.*operation="(\w+)",outcome="(\w+)"\} (\d+)$/gm,
    ),
  ];
  expect(
    counts.map(([, operation, outcome, count]) => `${operation} ${outcome} ${count}`).toSorted(),
  ).toEqual(['one ok 2', 'refused error 3', 'several error 1', 'two error 1']);
});
