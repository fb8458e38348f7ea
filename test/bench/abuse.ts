/**
 * One client that attacks a hub and an explorer at default settings, beside many honest ones: what
 * these wait for, in turns with and without the attack.
 */
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { WebSocket } from 'ws';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { ATTACKS, type Attacked } from './abuse-attacks.ts';
import { say, type Bench } from './bench.ts';
import { until } from '../support/until.ts';
import { emptyDatabase, settle } from './databases.ts';
import { HubMarket } from './hub-market.ts';
import { residentMemory } from './process-figures.ts';
import { percentile, type BenchReport } from './report.ts';

type Option = 'clients' | 'requests' | 'seconds' | 'rounds' | 'seed';
type Given = Readonly<Record<Option, number>>;

export const abuse: Bench<Option> = {
  about: 'what honest clients wait for while one client attacks hub and explorer',
  options: {
    clients: { about: 'honest, each with a request a second and a subscription', default: 200 },
    requests: { about: 'open in the market', default: 10_000 },
    seconds: { about: 'of each attack', default: 10 },
    rounds: { about: 'of all attacks', default: 3 },
    seed: { about: 'of the market', default: 1 },
  },
  run,
};

/** Limits that the local stack widens, where all clients share an address. */
const DEFAULTS = [
  'APP_RATE_PER_SECOND',
  'APP_RATE_BURST',
  'APP_SOCKETS_PER_CLIENT_MAX',
  'APP_SUBSCRIPTIONS_PER_CLIENT_MAX',
  'APP_SIGN_INS_PER_MINUTE',
];

async function run(given: Given): Promise<BenchReport> {
  const stack = await startStack();
  let market: HubMarket | undefined;
  try {
    const database = await emptyDatabase(stack);
    market = await HubMarket.open(database, stack.addresses.redis_url, given.requests, given.seed);
    const { hub, explorer } = await startGateways(stack, database.reader_url);
    await settle(stack);
    return await measure(given, market, hub, explorer);
  } finally {
    await market?.close();
    await stack.stop();
  }
}

async function startGateways(
  stack: Stack,
  marketUrl: string,
): Promise<{ readonly hub: ServiceHandle; readonly explorer: ServiceHandle }> {
  const settings = {
    ...Object.fromEntries(DEFAULTS.map((name) => [name, ''])),
    APP_TRUST_PROXY: '1',
    APP_LOG_LEVEL: 'fatal',
  };
  const start = async (name: string, extra = {}): Promise<ServiceHandle> => {
    const service = await stack.spawnService(name, { APP_LOG_LEVEL: 'warn', ...extra });
    await service.ready();
    return service;
  };
  await start('devnet', { APP_TRAFFIC_PER_SECOND: '10' });
  await start('chain-ingester');
  await start('projector-explorer');
  const explorer = await start('explorer-gateway', settings);
  const hub = await start('hub-gateway', { ...settings, APP_POSTGRES_READER_URL: marketUrl });
  return { hub, explorer };
}

/** In place of a status: the connection broke. */
const BROKEN = 0;

/** The waits of honest clients during a phase. */
interface Seen {
  readonly waits_ms: number[];
  /** answers other than 200, by status */
  readonly others: Map<number, number>;
  memory_mib: number;
  /** the longest that the hub's event loop was blocked */
  blocked_ms: number;
}

async function measure(
  given: Given,
  market: HubMarket,
  hub: ServiceHandle,
  explorer: ServiceHandle,
): Promise<BenchReport> {
  const phases = new Map<string, Figures>();
  const strength = new Map<string, readonly number[]>();
  const refused = new Map<number, number>();
  const seconds = given.seconds * 1_000;
  const told = { updates: 0, ended: 0 };
  const sockets = Array.from({ length: given.clients }, (_, at) => subscriber(at, hub.url, told));
  await until(() => Promise.resolve(told.updates >= given.clients), 'the first results');
  await phase(given, market, hub, explorer, () => after(3_000));
  for (let round = 1; round <= given.rounds; round++) {
    for (const attack of Object.keys(ATTACKS)) {
      const alone = await phase(given, market, hub, explorer, () => after(seconds));
      const sent = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
      const attacked: Attacked = { attack, hub: hub.url, explorer: explorer.url, sent };
      const under = await phase(given, market, hub, explorer, () => strike(attacked, seconds));
      strength.set(attack, [...(strength.get(attack) ?? []), (sent[0] ?? 0) / given.seconds]);
      for (const [what, seen] of [
        ['no attack', alone],
        [attack, under],
      ] as const) {
        const figures = phases.get(what) ?? {
          waits: [],
          p50: [],
          p99: [],
          memory: [],
          blocked: [],
        };
        phases.set(what, figures);
        figures.waits.push(...seen.waits_ms);
        figures.p50.push(percentile(seen.waits_ms, 0.5));
        figures.p99.push(percentile(seen.waits_ms, 0.99));
        figures.memory.push(seen.memory_mib);
        figures.blocked.push(seen.blocked_ms);
        for (const [status, count] of seen.others)
          refused.set(status, (refused.get(status) ?? 0) + count);
      }
      const [before, during] = [alone, under].map(({ waits_ms }) =>
        percentile(waits_ms, 0.99).toFixed(1),
      );
      say(`round ${round} of ${given.rounds}: ${attack}: p99 ${during} ms, ${before} ms without`);
    }
  }
  // one pause decides the p99 of a single phase: the ratios are of all rounds together
  const pooled = (what: string): number => percentile(phases.get(what)?.waits ?? [], 0.99);
  const ended = told.ended;
  for (const socket of sockets) socket.terminate();
  const notServed = refused.values().reduce((sum, count) => sum + count, 0);
  return {
    bench: 'abuse',
    about: `${given.clients} honest clients with a request a second each and as many subscriptions, ${given.requests} open requests; one attacker for ${given.seconds} s each, with the lowest priority on the same processors`,
    measured: [
      ...phases.entries().flatMap(([what, { p50, p99, memory, blocked }]) => [
        { what: `${what}: an honest request, p50`, unit: 'ms', rounds: p50 },
        { what: `${what}: an honest request, p99`, unit: 'ms', rounds: p99 },
        { what: `${what}: event loop of the hub blocked, at most`, unit: 'ms', rounds: blocked },
        { what: `${what}: memory of both gateways, at most`, unit: 'MiB', rounds: memory },
      ]),
      ...strength.entries().map(([attack, rounds]) => ({
        what: `${attack}: requests, messages and pings of the attacker`,
        unit: '/s',
        rounds,
      })),
    ],
    ratios: [
      ...Object.keys(ATTACKS).map((attack) => ({
        what: `p99 of all rounds under ${attack} / without any attack`,
        ratio: pooled(attack) / pooled('no attack'),
        goal: '<= 2',
      })),
      ...refused
        .entries()
        .map(([status, count]) => ({ what: `honest requests answered ${status}`, ratio: count })),
      { what: 'honest requests that were not answered 200', ratio: notServed, goal: '<= 0' },
      { what: 'honest subscriptions that ended', ratio: ended, goal: '<= 0' },
      { what: 'updates of all honest subscriptions', ratio: told.updates },
    ],
  };
}

interface Figures {
  /** of all rounds */
  readonly waits: number[];
  /** of each round */
  readonly p50: number[];
  readonly p99: number[];
  readonly memory: number[];
  readonly blocked: number[];
}

/** The longest since the last question. */
async function blockedMs({ ops_url: url }: ServiceHandle): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^nodejs_eventloop_lag_max_seconds\{.*\} (\S+)$/m.exec(text)?.[1]) * 1_000;
}

/** Honest clients ask as long as `act` takes. */
async function phase(
  { clients }: Given,
  market: HubMarket,
  hub: ServiceHandle,
  explorer: ServiceHandle,
  act: () => Promise<void>,
): Promise<Seen> {
  const seen: Seen = { waits_ms: [], others: new Map(), memory_mib: 0, blocked_ms: 0 };
  await blockedMs(hub);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const stop = new AbortController();
  const asking = Array.from({ length: clients }, (_, at) =>
    honest(at, { hub: hub.url, explorer: explorer.url, agent }, seen, stop.signal),
  );
  let changed = Promise.resolve();
  const changing = setInterval(() => {
    changed = changed.then(() => market.change());
    const memory = residentMemory(hub.pid) + residentMemory(explorer.pid);
    seen.memory_mib = Math.max(seen.memory_mib, memory);
  }, 1_000);
  try {
    await act();
  } finally {
    stop.abort();
    clearInterval(changing);
    await Promise.all([...asking, changed]);
    agent.destroy();
  }
  seen.blocked_ms = await blockedMs(hub);
  return seen;
}

interface Where {
  readonly hub: string;
  readonly explorer: string;
  readonly agent: Agent;
}

const addressOf = (at: number): Readonly<Record<string, string>> => ({
  'x-forwarded-for': `198.51.${at >> 8}.${at & 255}`,
});

/** A part of the map, of this height. */
function boundsOf(at: number, height: number): string {
  const south = (at % 80) + 1;
  return `{minLat: ${south}, maxLat: ${south + height}, minLng: 1, maxLng: 81}`;
}

/** Subscribes for as long as the bench lasts. Some subscriber sees each change of the market. */
function subscriber(at: number, hub: string, told: { updates: number; ended: number }): WebSocket {
  const url = `${hub.replace('http', 'ws')}/graphql/ws`;
  const socket = new WebSocket(url, 'graphql-transport-ws', { headers: addressOf(at) });
  const query = `subscription { rideRequestsUpdated(bounds: ${boundsOf(at, 1)}) { txHash fare } }`;
  socket.on('error', () => undefined);
  socket.on('open', () => socket.send('{"type":"connection_init"}'));
  socket.on('message', (data: Buffer) => {
    const { type } = JSON.parse(data.toString());
    if (type === 'connection_ack')
      socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));
    else if (type === 'next') told.updates++;
    else if (type === 'ping') socket.send('{"type":"pong"}');
    else told.ended++;
  });
  socket.on('close', () => told.ended++);
  return socket;
}

/** One request a second, at times that do not depend on the answers. */
async function honest(at: number, where: Where, seen: Seen, signal: AbortSignal): Promise<void> {
  const headers = addressOf(at);
  const asks = [
    {
      url: `${where.hub}/graphql`,
      query: `{ listRideRequests(bounds: ${boundsOf(at, 0.2)}) { txHash fare } }`,
    },
    { url: `${where.explorer}/api/v1/transactions?limit=20` },
    { url: `${where.hub}/graphql`, query: '{ chainInfo { chainId } }' },
    { url: `${where.explorer}/api/v1/blocks?limit=5` },
  ];
  await after((at * 1_000) / 200, undefined, { signal }).catch(() => undefined);
  for (let turn = at; !signal.aborted; turn++) {
    const next = after(1_000, undefined, { signal }).catch(() => undefined);
    const { url, query } = asks[turn % asks.length] ?? { url: where.hub };
    const begun = performance.now();
    const status = await ask(url, query, headers, where.agent).catch(() => BROKEN);
    if (!signal.aborted) seen.waits_ms.push(performance.now() - begun);
    if (status !== 200) seen.others.set(status, (seen.others.get(status) ?? 0) + 1);
    await next;
  }
}

/** The status of the answer, once it is read. */
async function ask(
  url: string,
  query: string | undefined,
  headers: Readonly<Record<string, string>>,
  agent: Agent,
): Promise<number> {
  const post = query === undefined ? {} : { 'content-type': 'application/json' };
  const method = query === undefined ? 'GET' : 'POST';
  const sent = request(url, { agent, method, headers: { ...headers, ...post } });
  sent.end(query === undefined ? undefined : JSON.stringify({ query }));
  const [response] = await once(sent, 'response');
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}

/**
 * The attacker has a thread of its own, which does not slow the honest clients here: of the
 * processors it gets what gateways and honest clients leave.
 */
async function strike(attacked: Attacked, ms: number): Promise<void> {
  const worker = new Worker(new URL('./abuse-attacks.ts', import.meta.url), {
    workerData: attacked,
  });
  const failed = once(worker, 'error').then(([error]) => {
    throw error;
  });
  failed.catch(() => undefined);
  try {
    await Promise.race([after(ms), failed]);
  } finally {
    await worker.terminate();
  }
}
