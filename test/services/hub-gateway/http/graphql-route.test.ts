import { afterEach, expect, test } from 'vitest';
import { Turns } from '../../../../services/hub-gateway/graphql/turns.ts';
import { graphqlRoutes } from '../../../../services/hub-gateway/http/graphql-route.ts';
import { AnswerCache } from '../../../../services/runtime/http/answer-cache.ts';
import { FairStarts } from '../../../../services/runtime/http/fair-starts.ts';
import { openHttp, type HttpServer } from '../../../../services/runtime/http/server.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

const turns = new Turns(1);
/** ends the turns that have begun */
const ends: (() => void)[] = [];
let server: HttpServer | undefined;
afterEach(async () => {
  for (const end of ends) end();
  await server?.drain();
});

/** A hub whose operations last until their turn is ended here. */
async function open(): Promise<string> {
  const routes = graphqlRoutes({
    answer: async (_request, { clients }) => {
      const end = await turns.take(clients);
      await new Promise<void>((resolve) => ends.push(resolve)).finally(end);
      return { answer: { status: 200, body: '{}' }, isShared: true };
    },
    cache: new AnswerCache(
      { known: 1, current: () => Promise.resolve(1) },
      { answers_kept_max: 9 },
    ),
    starts: new FairStarts(),
    jwt_secret: 'secret',
    now: () => 0,
  });
  server = await openHttp({
    http_host: '127.0.0.1',
    http_port: 0,
    log: openLog({ service: 'test', level: 'fatal' }),
    metrics: new Metrics('test'),
    routes,
    trust_proxy_hops: 1,
  });
  return `${server.url}/graphql`;
}

test('a client that asks for what another client waits for does not wait behind its other operations', async () => {
  const url = await open();
  const ask = async (client: string, query: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': client };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) });
    return response.status;
  };
  const own = [];
  for (const query of ['{ a1 }', '{ a2 }', '{ a3 }', '{ popular }'])
    own.push(ask('203.0.113.1', query));
  await expect.poll(() => ends.length).toBe(1);
  const popular = ask('198.51.100.1', '{ popular }');
  const other = ask('198.51.100.1', '{ other }');
  // the operation that has the turn, then the one that another client joined
  for (let turn = 1; turn <= 2; turn++) {
    await expect.poll(() => ends.length).toBe(turn);
    ends.at(-1)?.();
  }
  expect(await popular).toBe(200);
  for (let turn = 3; turn <= 5; turn++) {
    await expect.poll(() => ends.length).toBe(turn);
    ends.at(-1)?.();
  }
  expect(await Promise.all([...own, other])).toEqual([200, 200, 200, 200, 200]);
});
