/**
 * The hub's list against stock Apollo and bare node:http, and its deliveries against stock
 * graphql-ws, in one run. The list is asked for in three ways: the same document again and again,
 * so that the hub answers from its cache; a new document each time; and the same one while the
 * market changes. Stock Apollo keeps the list in memory, as told last; bare node:http keeps the
 * first.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startStack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { emptyDatabase, settle } from './databases.ts';
import { measureDeliveries, type Peer } from './deliveries.ts';
import { HubMarket } from './hub-market.ts';
import { coldBody, LIST_BODY } from './hub-operations.ts';
import { askInALoop } from './closed-loop.ts';
import { processorSeconds } from './process-figures.ts';
import { median, type BenchReport, type Measured, type Part, type Ratio } from './report.ts';
import { startSideServer } from './side-server.ts';

type Option = 'requests' | 'connections' | 'seconds' | 'rounds' | 'sockets' | 'changes' | 'seed';
type Given = Readonly<Record<Option, number>>;

export const hub: Bench<Option> = {
  about:
    'list queries a second against stock Apollo and bare node:http; processor time a delivery against stock graphql-ws',
  options: {
    requests: { about: 'open in the market', default: 50 },
    connections: { about: 'kept alive, each with one query in flight', default: 8 },
    seconds: { about: 'of a round of queries at one server', default: 3 },
    rounds: { about: 'at each server, in turns', default: 5 },
    sockets: { about: 'with one subscription each', default: 3_000 },
    changes: { about: 'of the market in a round of deliveries', default: 5 },
    seed: { about: 'of the market', default: 1 },
  },
  run,
};

/** Until then a server is still being compiled. */
const WARM_UP_SECONDS = 10;
const MOVES_EVERY_MS = 100;
const SAME = 'the same document';
const COLD = 'a new document each time';
const MOVING = `the same document, ${1_000 / MOVES_EVERY_MS} changes of the market a second`;

interface Server {
  readonly name: string;
  readonly pid: number;
  /** without a path */
  readonly url: string;
  /** least of the hub's requests a second by those of this one, asked for the same document */
  readonly goal?: string;
}

async function run(given: Given): Promise<BenchReport> {
  const stack = await startStack();
  const stops: (() => Promise<unknown>)[] = [];
  try {
    for (const server of ['kafka', 'registry'] as const) await stack.servers[server].stop();
    const database = await emptyDatabase(stack);
    const market = await HubMarket.open(
      database,
      stack.addresses.redis_url,
      given.requests,
      given.seed,
    );
    stops.push(() => market.close());
    await (
      await stack.spawnService('devnet', { APP_TRAFFIC_PER_SECOND: '0', APP_LOG_LEVEL: 'warn' })
    ).ready();
    const handle = await stack.spawnService('hub-gateway', {
      APP_POSTGRES_READER_URL: database.reader_url,
      APP_RATE_PER_SECOND: '0',
      APP_LOG_LEVEL: 'warn',
    });
    await handle.ready();
    const ours: Server = { name: 'hub', pid: handle.pid, url: handle.url };
    const answer = await ask(ours.url);
    const file = join(stack.folder.data, 'hub-answer.json');
    writeFileSync(file, answer);
    const start = async (
      name: string,
      goal: string,
      script: string,
      ...args: string[]
    ): Promise<Server> => {
      const server = await startSideServer(
        stack,
        name,
        script,
        args,
        async (url) => (await ask(url)) !== '',
      );
      stops.push(server.stop);
      return { ...server, goal };
    };
    const stock = await start(
      'stock Apollo',
      '>= 20',
      'hub-stock-server.ts',
      database.reader_url,
      stack.addresses.redis_url,
    );
    if ((await ask(stock.url)).trim() !== answer.trim()) throw new Error('the answers differ');
    const bare = await start('bare node:http', '>= 0.6', 'hub-bare-server.ts', file);
    await settle(stack);
    say(`an answer has ${answer.length} bytes`);
    const queries = await measureQueries(market, [ours, stock, bare], given);
    const stockSockets: Peer = {
      name: 'stock graphql-ws',
      server: stock,
      hasSnapshot: false,
      goal: '<= 0.06',
    };
    const deliveries = await measureDeliveries(ours, [stockSockets], market, given);
    const about = `a list of ${given.requests} requests (${answer.length} bytes), ${given.connections} connections, after ${WARM_UP_SECONDS} s of warm-up each; ${given.sockets} sockets; every process in production mode; the requests from this process, on as few processors as there are. Asked for the same document the hub answers from its cache, stock Apollo from a list in memory that it reads at each change; bare node:http never reads`;
    return {
      bench: 'hub',
      about,
      measured: [...queries.measured, ...deliveries.measured],
      ratios: [...queries.ratios, ...deliveries.ratios],
    };
  } finally {
    for (const stop of stops.toReversed()) await stop();
    await stack.stop();
  }
}

interface Figures {
  readonly per_second: number[];
  readonly processor_us: number[];
}

/** The servers are asked in turns, after a warm-up each. */
async function measuredInTurns(
  what: string,
  servers: readonly Server[],
  { connections, seconds, rounds }: Given,
  body: () => string,
): Promise<readonly Figures[]> {
  const figures = servers.map((): Figures => ({ per_second: [], processor_us: [] }));
  const asked = { path: () => '/graphql', body, connections };
  for (const { url } of servers) await askInALoop({ ...asked, url, seconds: WARM_UP_SECONDS });
  for (let round = 0; round < rounds; round++) {
    for (const [at, { pid, url }] of servers.entries()) {
      const before = processorSeconds(pid);
      const { requests, seconds: took } = await askInALoop({ ...asked, url, seconds });
      figures[at]?.per_second.push(requests / took);
      figures[at]?.processor_us.push(((processorSeconds(pid) - before) / requests) * 1e6);
    }
    say(`${what}: round ${round + 1} of ${rounds} done`);
  }
  return figures;
}

function partOf(what: string, servers: readonly Server[], figures: readonly Figures[]): Part {
  const [ours, ...others] = figures;
  const ratios = others.flatMap((theirs, at): Ratio[] => {
    const { name, goal } = servers[at + 1] ?? {};
    const byRound = theirs.per_second.map((rate, round) => (ours?.per_second[round] ?? 0) / rate);
    return [
      {
        what: `${what}: requests/s, hub / ${name}`,
        ratio: median(ours?.per_second ?? []) / median(theirs.per_second),
      },
      {
        what: `${what}: requests/s in the worst round, hub / ${name}`,
        ratio: Math.min(...byRound),
        ...(goal === undefined || what !== SAME ? {} : { goal }),
      },
      {
        what: `${what}: processor time, ${name} / hub`,
        ratio: median(theirs.processor_us) / median(ours?.processor_us ?? []),
      },
    ];
  });
  const measured = servers.flatMap(({ name }, at): Measured[] => [
    { what: `${what}: ${name}`, unit: 'requests/s', rounds: figures[at]?.per_second ?? [] },
    {
      what: `${what}: ${name}, processor time`,
      unit: 'us a request',
      rounds: figures[at]?.processor_us ?? [],
    },
  ]);
  return { measured, ratios };
}

async function measureQueries(
  market: HubMarket,
  servers: readonly [Server, Server, Server],
  given: Given,
): Promise<Part> {
  const [ours, stock] = servers;
  const same = await measuredInTurns(SAME, servers, given, () => LIST_BODY);
  let asked = 0;
  const cold = await measuredInTurns(COLD, [ours, stock], given, () => coldBody(asked++));
  const stand = market.moving(MOVES_EVERY_MS);
  const moving = await measuredInTurns(MOVING, servers, given, () => LIST_BODY);
  await stand();
  const parts = [
    partOf(SAME, servers, same),
    partOf(COLD, [ours, stock], cold),
    partOf(MOVING, servers, moving),
  ];
  return {
    measured: parts.flatMap(({ measured }) => measured),
    ratios: parts.flatMap(({ ratios }) => ratios),
  };
}

async function ask(url: string): Promise<string> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: LIST_BODY,
  });
  const text = await response.text();
  if (response.status !== 200 || !text.startsWith('{"data"'))
    throw new Error(`${url} answered ${response.status}: ${text}`);
  return text;
}
