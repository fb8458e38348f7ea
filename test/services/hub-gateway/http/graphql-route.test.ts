import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { Turns } from '../../../../services/hub-gateway/graphql/turns.ts';
import { graphqlRoutes } from '../../../../services/hub-gateway/http/graphql-route.ts';
import { AnswerCache } from '../../../../services/runtime/http/answer-cache.ts';
import { FairStarts } from '../../../../services/runtime/http/fair-starts.ts';
import { openHttp, type HttpServer } from '../../../../services/runtime/http/server.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { Metrics } from '../../../../services/runtime/process/metrics.ts';

let busy = 0;
/** A client rests 209 ms after each turn, however slow the machine is. */
const newTurns = (): Turns => new Turns(1, 50, () => (busy += 11));
let turns = newTurns();
/** ends the turns that have begun */
const ends: (() => void)[] = [];
let server: HttpServer | undefined;
afterEach(async () => {
  for (const end of ends.splice(0)) end();
  await server?.drain();
  turns = newTurns();
});

async function ask(url: string, client: string, query: string): Promise<number> {
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': client };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) });
  return response.status;
}

/** A hub whose operations last until their turn is ended here. */
async function open(current = (): Promise<number> => Promise.resolve(1)): Promise<string> {
  const routes = graphqlRoutes({
    answer: async (_request, { clients }) => {
      const end = await turns.take(clients);
      await new Promise<void>((resolve) => ends.push(resolve)).finally(end);
      return { answer: { status: 200, body: '{}' }, isShared: true };
    },
    cache: new AnswerCache({ known: 1, current }, { answers_kept_max: 9 }),
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
  const own = [];
  for (const query of ['{ a1 }', '{ a2 }', '{ a3 }', '{ popular }'])
    own.push(ask(url, '203.0.113.1', query));
  await expect.poll(() => ends.length).toBe(1);
  const popular = ask(url, '198.51.100.1', '{ popular }');
  const other = ask(url, '198.51.100.1', '{ other }');
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
  ends[0]?.();
  // the next turn is of the client without other operations
  await expect.poll(() => ends.length, soon).toBe(2);
  ends[1]?.();
  expect(await popular).toBe(200);
  await expect.poll(() => ends.length, soon).toBe(3);
  ends[2]?.();
  expect(await Promise.all(own)).toEqual([200, 200, 200]);
});
