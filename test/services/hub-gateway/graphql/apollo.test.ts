import { ApolloServer } from '@apollo/server';
import { buildSchema } from 'graphql';
import { expect, test } from 'vitest';
import { Apollo, operationTimes } from '../../../../services/hub-gateway/graphql/apollo.ts';
import { Documents } from '../../../../services/hub-gateway/graphql/documents.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { silentLog } from '../../../support/kafka.ts';

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

test('wrong variables of any number and size are answered with one short error', async () => {
  const schema = buildSchema(
    'input Box { low: Int high: Int } type Query { inside(box: Box, a: [Int]): Int }',
  );
  const apollo = new Apollo({
    schema,
    formatting: { log: silentLog(), suggestions: true },
    introspection: true,
    documents: new Documents(schema, true),
    metrics: new Metrics('hub'),
  });
  await apollo.start();
  const unknown = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`k${at}`, at]));
  const many = Array.from({ length: 60 }, (_, at) => `v${at}`);
  const requests = [
    {
      query: 'query ($box: Box) { inside(box: $box) }',
      variables: { box: { ...unknown, low: 'x'.repeat(300_000) } },
    },
    {
      query: `query (${many.map((name) => `$${name}: Int`).join(' ')}) { inside(a: [${many.map((name) => `$${name}`).join(' ')}]) }`,
      variables: Object.fromEntries(many.map((name) => [name, 'no number'])),
    },
  ];
  for (const body of requests) {
    const { answer } = await apollo.answer(
      { method: 'POST', headers: { 'content-type': 'application/json' }, search: '', body },
      { hub: undefined as never, caller: undefined },
    );
    const text = 'body' in answer ? String(answer.body) : '';
    expect(text.length).toBeLessThan(1_500);
    const { errors }: { readonly errors: readonly object[] } = JSON.parse(text);
    expect(
      new Set(errors.map((error) => JSON.stringify(Reflect.get(error, 'extensions')))),
    ).toEqual(new Set(['{"code":"BAD_USER_INPUT"}']));
  }
  await apollo.stop();
});
