import { ApolloServer } from '@apollo/server';
import { buildSchema, parse } from 'graphql';
import { expect, test, vi } from 'vitest';
import { Refused, type ErrorCode } from '../../../../services/hub-gateway/graphql/errors.ts';
import { operationTimes } from '../../../../services/hub-gateway/graphql/pipeline.ts';
import { Clients } from '../../../../services/runtime/limits/clients.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { quietHub, quietPipeline } from '../quiet-hub.ts';

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

test.each<readonly [ErrorCode, number]>([
  ['RATE_LIMITED', 1],
  ['BAD_USER_INPUT', 0],
])('a result with the error %s is marked as a refusal %i times', async (code, times) => {
  const schema = buildSchema('type Query { one: Int two: Int }');
  const resolve = (): never => {
    throw new Refused(code, 'no');
  };
  Object.assign(schema.getQueryType()?.getFields()['one'] ?? {}, { resolve });
  const pipeline = await quietPipeline(
    schema,
    quietHub(() => Promise.resolve([])),
  );
  const refuses = vi.fn<() => void>();
  const asker = { caller: undefined, client: 'a', clients: () => new Clients(['a']), refuses };
  await pipeline.execute({ document: parse('{ one two }') }, asker);
  expect(refuses).toHaveBeenCalledTimes(times);
});
