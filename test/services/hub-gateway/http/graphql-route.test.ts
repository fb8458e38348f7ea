import { setImmediate } from 'node:timers/promises';
import { buildSchema } from 'graphql';
import { afterEach, expect, test } from 'vitest';
import type { Query } from '../../../../projections/contract/page.ts';
import { Callers } from '../../../../services/hub-gateway/graphql/authentication.ts';
import type { HubContext } from '../../../../services/hub-gateway/graphql/context.ts';
import { cacheKeyOf, graphqlRoutes } from '../../../../services/hub-gateway/http/graphql-route.ts';
import { AnswerCache } from '../../../../services/runtime/http/answer-cache.ts';
import { openHttp, type HttpServer } from '../../../../services/runtime/http/server.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';
import { quietHub, quietPipeline } from '../quiet-hub.ts';

const QUERY: Query = { name: 'list', text: 'SELECT', values: [] };
const schema = buildSchema('type Query { a1: Int a2: Int a3: Int popular: Int other: Int }');
for (const field of Object.values(schema.getQueryType()?.getFields() ?? {}))
  field.resolve = async (_root, _args, { lists }: HubContext) =>
    (await lists.read(() => QUERY)).rows.length;

/** ends the operations that have their turn */
const ends: (() => void)[] = [];
let server: HttpServer | undefined;
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await server?.drain();
});

async function ask(url: string, client: string, query: string): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': client };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) });
  return response.status;
}

function waiting(): Promise<readonly []> {
  return new Promise((resolve) => ends.push(() => resolve([])));
}

/** A hub with one turn, whose operations last until they are ended here. */
async function open(current = (): Promise<number> => Promise.resolve(1)): Promise<string> {
  const pipeline = await quietPipeline(schema, quietHub(waiting));
  const answers = new AnswerCache({ known: 1, current }, { answers_kept_max: 9 });
  server = await openHttp({
    http_host: '127.0.0.1',
    http_port: 0,
    log: openLog({ service: 'test', level: 'fatal' }),
    metrics: new Metrics('test'),
    routes: graphqlRoutes({
      pipeline,
      introspection: false,
      callers: new Callers('secret', () => 0),
    }),
    cache: { answers, keyOf: cacheKeyOf },
    reads_bodies: true,
    trust_proxy_hops: 1,
  });
  return `${server.url}/graphql`;
}

test('a client that asks for what another client waits for does not wait behind its other operations', async () => {
  const url = await open();
  const own = [];
  for (const query of ['{ a1 }', '{ a2 }', '{ a3 }', '{ popular }'])
    own.push(ask(url, '203.0.113.1', query));
  await expect.poll(() => ends.length).toBe(1);
  const popular = ask(url, '198.51.100.1', '{ popular }');
  const other = ask(url, '198.51.100.1', '{ other }');
  // the operation that has the turn, the next one, then the one that another client joined
  for (let turn = 1; turn <= 3; turn++) {
    await expect.poll(() => ends.length).toBe(turn);
    ends.at(-1)?.();
  }
  expect(await popular).toBe(200);
  for (let turn = 4; turn <= 5; turn++) {
    await expect.poll(() => ends.length).toBe(turn);
    ends.at(-1)?.();
  }
  expect(await Promise.all([...own, other])).toEqual([200, 200, 200, 200, 200]);
});

test('nor when both asked before the hub knew the version of its read model', async () => {
  const soon = { interval: 5 };
  let version = Promise.resolve(1);
  let questions = 0;
  const url = await open(() => {
    questions++;
    return version;
  });
  const own = [ask(url, '203.0.113.1', '{ a1 }'), ask(url, '203.0.113.1', '{ a2 }')];
  await expect.poll(() => [questions, ends.length], soon).toEqual([2, 1]);
  const known = Promise.withResolvers<number>();
  version = known.promise;
  own.push(ask(url, '203.0.113.1', '{ popular }'));
  await expect.poll(() => questions, soon).toBe(3);
  const popular = ask(url, '198.51.100.1', '{ popular }');
  await expect.poll(() => questions, soon).toBe(4);
  known.resolve(1);
  await setImmediate();
  // the second operation of the first client, then the one that another client joined
  for (const turn of [1, 2, 3]) {
    await expect.poll(() => ends.length, soon).toBe(turn);
    ends[turn - 1]?.();
  }
  expect(await popular).toBe(200);
  expect(await Promise.all(own)).toEqual([200, 200, 200]);
});
