/**
 * The hub's list against stock Apollo and bare node:http, and its deliveries against stock
 * graphql-ws, in one run.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { startStack } from '../support/stack.ts';
import { say, type Bench } from './bench.ts';
import { emptyDatabase, settle } from './databases.ts';
import { HubMarket } from './hub-market.ts';
import { LIST_BODY } from './hub-operations.ts';
import { Subscribers } from './hub-sockets.ts';
import { KeepAlive } from './keep-alive.ts';
import { processorSeconds, residentMemory } from './process-figures.ts';
import { median, type BenchReport, type Measured, type Ratio } from './report.ts';
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

interface Server {
  readonly name: string;
  readonly pid: number;
  /** without a path */
  readonly url: string;
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
    const start = async (name: string, script: string, ...args: string[]): Promise<Server> => {
      const server = await startSideServer(
        stack,
        name,
        script,
        args,
        async (url) => (await ask(url)) !== '',
      );
      stops.push(server.stop);
      return server;
    };
    const stock = await start(
      'stock Apollo',
      'hub-stock-server.ts',
      database.reader_url,
      stack.addresses.redis_url,
    );
    if ((await ask(stock.url)).trim() !== answer.trim()) throw new Error('the answers differ');
    const bare = await start('bare node:http', 'hub-bare-server.ts', file);
    await settle(stack);
    say(`an answer has ${answer.length} bytes`);
    const queries = await measureQueries([ours, stock, bare], given);
    const deliveries = await measureDeliveries(
      market,
      ours,
      { ...stock, name: 'stock graphql-ws' },
      given,
    );
    const about = `a list of ${given.requests} requests (${answer.length} bytes), ${given.connections} connections; ${given.sockets} sockets; the load from this process, on as few processors as there are`;
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

interface Part {
  readonly measured: readonly Measured[];
  readonly ratios: readonly Ratio[];
}

async function measureQueries(
  servers: readonly [Server, Server, Server],
  { connections, seconds, rounds }: Given,
): Promise<Part> {
  const figures = servers.map(() => ({ per_second: [] as number[], processor_us: [] as number[] }));
  for (const { url } of servers) await load(url, connections, 1);
  for (let round = 0; round < rounds; round++) {
    for (const [at, { pid, url }] of servers.entries()) {
      const before = processorSeconds(pid);
      const { requests, seconds: took } = await load(url, connections, seconds);
      figures[at]?.per_second.push(requests / took);
      figures[at]?.processor_us.push(((processorSeconds(pid) - before) / requests) * 1e6);
    }
    say(`queries: round ${round + 1} of ${rounds} done`);
  }
  const [ours, stock, bare] = figures.map((each) => ({
    per_second: median(each.per_second),
    processor_us: median(each.processor_us),
  }));
  if (ours === undefined || stock === undefined || bare === undefined)
    throw new Error('three servers are measured');
  return {
    measured: servers.flatMap(({ name }, at) => [
      { what: `list query: ${name}`, unit: 'requests/s', rounds: figures[at]?.per_second ?? [] },
      {
        what: `list query: ${name}, processor time`,
        unit: 'us a request',
        rounds: figures[at]?.processor_us ?? [],
      },
    ]),
    ratios: [
      {
        what: 'list query: requests/s, hub / stock Apollo',
        ratio: ours.per_second / stock.per_second,
        goal: '>= 20',
      },
      {
        what: 'list query: processor time, stock Apollo / hub',
        ratio: stock.processor_us / ours.processor_us,
      },
      {
        what: 'list query: requests/s, hub / bare node:http',
        ratio: ours.per_second / bare.per_second,
        goal: '>= 0.6',
      },
      {
        what: 'list query: processor time, bare node:http / hub',
        ratio: bare.processor_us / ours.processor_us,
      },
    ],
  };
}

async function measureDeliveries(
  market: HubMarket,
  ours: Server,
  stock: Server,
  { sockets, changes, rounds }: Given,
): Promise<Part> {
  const figures = { ours: [] as number[], stock: [] as number[] };
  const memory = { ours: [] as number[], stock: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    for (const [which, server] of [
      ['ours', ours],
      ['stock', stock],
    ] as const) {
      const atRest = residentMemory(server.pid);
      const subscribers = await Subscribers.open(
        `${server.url.replace('http', 'ws')}/graphql/ws`,
        sockets,
        which === 'ours',
      );
      // of its last subscription a server does not tell
      if (which === 'stock') await after(500);
      memory[which].push(((residentMemory(server.pid) - atRest) * 1_024) / sockets);
      const [before, had] = [processorSeconds(server.pid), subscribers.results];
      for (let change = 1; change <= changes; change++) {
        await market.change();
        await subscribers.until(had + change * sockets);
      }
      figures[which].push(((processorSeconds(server.pid) - before) / (changes * sockets)) * 1e6);
      await subscribers.close();
    }
    say(`deliveries: round ${round + 1} of ${rounds} done`);
  }
  return {
    measured: [
      { what: 'delivery: hub, processor time', unit: 'us', rounds: figures.ours },
      { what: 'delivery: stock graphql-ws, processor time', unit: 'us', rounds: figures.stock },
      {
        what: 'memory a further socket, first round: hub',
        unit: 'KiB',
        rounds: memory.ours.slice(0, 1),
      },
      {
        what: 'memory a further socket, first round: stock',
        unit: 'KiB',
        rounds: memory.stock.slice(0, 1),
      },
    ],
    ratios: [
      {
        what: 'processor time a delivery, hub / stock graphql-ws',
        ratio: median(figures.ours) / median(figures.stock),
        goal: '<= 0.06',
      },
    ],
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

/** Every connection asks again as soon as it is answered. */
async function load(
  url: string,
  connections: number,
  seconds: number,
): Promise<{ readonly requests: number; readonly seconds: number }> {
  const open = await Promise.all(Array.from({ length: connections }, () => KeepAlive.open(url)));
  const begun = performance.now();
  const end = begun + seconds * 1_000;
  let requests = 0;
  try {
    await Promise.all(
      open.map(async (connection) => {
        while (performance.now() < end) {
          const { status, body } = await connection.post('/graphql', LIST_BODY);
          if (status !== 200) throw new Error(`${url} answered ${status}: ${body.toString()}`);
          requests++;
        }
      }),
    );
  } finally {
    for (const connection of open) connection.close();
  }
  return { requests, seconds: (performance.now() - begun) / 1_000 };
}
