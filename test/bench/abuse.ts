/**
 * One client that attacks the gateways at default settings, beside many honest ones: what these
 * wait for, in turns with and without the attack. Clients have addresses of 127.0.0.0/8.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request, type RequestOptions } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { toHex } from '../../schemas/address.ts';
import { DEVELOPMENT_JWT_SECRET } from '../../schemas/development.ts';
import { LIMIT_NAMES } from '../../services/runtime/limits/limits.ts';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { goodToken } from '../support/tokens.ts';
import { ATTACKS, type Attacked, type Counts } from './abuse-attacks.ts';
import { say, type Bench } from './bench.ts';
import { until } from '../support/until.ts';
import { emptyDatabase, settle, type BenchDatabase } from './databases.ts';
import { HubMarket } from './hub-market.ts';
import { ABLATION } from './measurements.ts';
import { residentMemory } from './process-figures.ts';
import { percentile, type BenchReport } from './report.ts';
import { loadChain, type Sized } from './sized-chain.ts';

type Option = 'clients' | 'requests' | 'transactions' | 'seconds' | 'rounds' | 'seed';
type Given = Readonly<Record<Option, number>>;

export const abuse: Bench<Option> = {
  about: 'what honest clients wait for while one client attacks the gateways',
  switches: LIMIT_NAMES,
  options: {
    clients: { about: 'honest, each with a request a second and a subscription', default: 200 },
    transactions: { about: 'in the explorer', default: 100_000 },
    requests: { about: 'open in the market', default: 10_000 },
    seconds: { about: 'of each attack', default: 10 },
    rounds: { about: 'of all attacks', default: 3 },
    seed: { about: 'of market and chain', default: 1 },
  },
  run,
};

/** Limits that the local stack widens, where all clients share an address. */
const DEFAULTS = [
  'APP_RATE_PER_SECOND',
  'APP_RATE_BURST',
  'APP_SOCKETS_PER_CLIENT_MAX',
  'APP_SUBSCRIPTIONS_PER_CLIENT_MAX',
  'APP_ADDRESSES_PER_MINUTE',
];

/** Memory that an attack of seconds can fill, as one of minutes fills that of the default. */
const SMALL = { APP_SUBSCRIPTION_BYTES_MAX: String(4 * 1_024 * 1_024) };

/** The system under attack. */
interface Attackable {
  readonly market: HubMarket;
  readonly chain: Sized;
  readonly hub: ServiceHandle;
  readonly explorer: ServiceHandle;
  readonly deposits: ServiceHandle;
}

async function run(given: Given, without?: string): Promise<BenchReport> {
  const stack = await startStack();
  let market: HubMarket | undefined;
  try {
    const chain = await loadChain(stack, given);
    const database = await emptyDatabase(stack);
    market = await HubMarket.open(database, stack.addresses.redis_url, given.requests, given.seed);
    const gateways = await startGateways(stack, database, chain, without);
    await settle(stack);
    return await measure(given, { market, chain, ...gateways }, without);
  } finally {
    await market?.close();
    await stack.stop();
  }
}

async function startGateways(
  stack: Stack,
  market: BenchDatabase,
  chain: Sized,
  without: string | undefined,
): Promise<Pick<Attackable, 'hub' | 'explorer' | 'deposits'>> {
  const settings = {
    ...Object.fromEntries(DEFAULTS.map((name) => [name, ''])),
    ...SMALL,
    APP_LIMITS_OFF: without ?? '',
    APP_LOG_LEVEL: 'fatal',
  };
  const start = async (name: string, extra = {}): Promise<ServiceHandle> => {
    const service = await stack.spawnService(name, { APP_LOG_LEVEL: 'warn', ...extra });
    await service.ready();
    return service;
  };
  await start('devnet');
  await start('projector-deposits');
  const deposits = await start('deposit-gateway', settings);
  const [explorer, hub] = await Promise.all(
    Object.entries({ 'explorer-gateway': chain.database, 'hub-gateway': market }).map(
      ([name, { reader_url }]) => start(name, { ...settings, APP_POSTGRES_READER_URL: reader_url }),
    ),
  );
  if (explorer === undefined || hub === undefined) throw new Error('a gateway is missing');
  return { deposits, explorer, hub };
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

const ATTACKER = fileURLToPath(new URL('./abuse-attacks.ts', import.meta.url));

/** An attack may take minutes; to know the figures without it, seconds are enough. */
const ALONE_MS_MAX = 10_000;

/** Addresses that one attack may make: each is watched for ever. */
const ADDRESSES_MAX = 100;

async function measure(
  given: Given,
  at: Attackable,
  without: string | undefined,
): Promise<BenchReport> {
  const phases = new Map<string, Figures>();
  const strength = new Map<string, readonly number[]>();
  const refused = new Map<number, number>();
  const seconds = given.seconds * 1_000;
  const told = { updates: 0, ended: 0 };
  let made = 0;
  const attacks = Object.entries(ATTACKS).flatMap(([attack, { limit }]) =>
    without === undefined || limit === without ? [attack] : [],
  );
  const ended: string[] = [];
  for (const { name, exit } of [at.hub, at.explorer, at.deposits])
    void exit.then(() => ended.push(name));
  const sockets = Array.from({ length: given.clients }, (_, who) =>
    subscriber(who, at.hub.url, told),
  );
  const clients = Array.from({ length: given.clients }, (_, who) => honest(who, at));
  await until(() => Promise.resolve(told.updates >= given.clients), 'the first results');
  await phase(clients, at, () => after(3_000));
  const note = (what: string, seen: Seen, before = seen): void => {
    const none: Figures = { waits: [], before: [], p50: [], p99: [], memory: [], blocked: [] };
    const figures = phases.get(what) ?? none;
    phases.set(what, figures);
    figures.waits.push(...seen.waits_ms);
    figures.before.push(...before.waits_ms);
    figures.p50.push(percentile(seen.waits_ms, 0.5));
    figures.p99.push(percentile(seen.waits_ms, 0.99));
    figures.memory.push(seen.memory_mib);
    figures.blocked.push(seen.blocked_ms);
    for (const [status, count] of seen.others)
      refused.set(status, (refused.get(status) ?? 0) + count);
  };
  for (let round = 1; round <= given.rounds && ended.length === 0; round++) {
    for (const attack of attacks) {
      const alone = await phase(clients, at, () => after(Math.min(seconds, ALONE_MS_MAX)));
      const attacked: Attacked = {
        attack,
        hub: at.hub.url,
        explorer: at.explorer.url,
        deposits: at.deposits.url,
        busy_account: toHex(at.chain.filled.counts.hot.address),
      };
      const struck: Counts = { sent: 0, addresses: 0 };
      const under = await phase(clients, at, () => strike(attacked, seconds, struck));
      const { sent } = struck;
      made = Math.max(made, struck.addresses);
      strength.set(attack, [...(strength.get(attack) ?? []), sent / given.seconds]);
      note('no attack', alone);
      note(attack, under, alone);
      const [before, during] = [alone, under].map(({ waits_ms }) =>
        percentile(waits_ms, 0.99).toFixed(1),
      );
      const lost = [...under.others].map(([status, count]) => `, ${count} answered ${status}`);
      say(
        `round ${round} of ${given.rounds}: ${attack}: p99 ${during} ms, ${before} ms without${lost.join('')}`,
      );
      if (ended.length > 0) break;
    }
  }
  // one pause decides the p99 of a single phase: the ratios are of all rounds together, and by the
  // phases right before the attack, since a machine may be slower for minutes
  const slowedBy = (attack: string): number => {
    const { waits = [], before = [] } = phases.get(attack) ?? {};
    return percentile(waits, 0.99) / percentile(before, 0.99);
  };
  const memory = (what: string): number => Math.max(...(phases.get(what)?.memory ?? []));
  const [memoryBefore = Number.NaN] = phases.get('no attack')?.memory ?? [];
  const { ended: lost, updates } = told;
  for (const socket of sockets) socket.terminate();
  const notServed = refused.values().reduce((sum, count) => sum + count, 0);
  const switchedOff = without === undefined ? '' : `, limit ${without} switched off`;
  return {
    bench: without === undefined ? 'abuse' : `${ABLATION}${without}`,
    about: `${given.clients} honest clients with a request a second each and as many subscriptions, ${given.requests} open requests, ${given.transactions} transactions${switchedOff}; one attacker for ${given.seconds} s each, with the lowest priority on the same processors, after a while without an attack`,
    measured: [
      ...phases.entries().flatMap(([what, { p50, p99, memory: mib, blocked }]) => [
        { what: `${what}: an honest request, p50`, unit: 'ms', rounds: p50 },
        { what: `${what}: an honest request, p99`, unit: 'ms', rounds: p99 },
        { what: `${what}: event loop of the hub blocked, at most`, unit: 'ms', rounds: blocked },
        { what: `${what}: memory of the gateways, at most`, unit: 'MiB', rounds: mib },
      ]),
      ...strength.entries().map(([attack, rounds]) => ({
        what: `${attack}: requests, messages and pings of the attacker`,
        unit: '/s',
        rounds,
      })),
    ],
    ratios: [
      ...attacks.flatMap((attack) => [
        {
          what: `p99 of all rounds under ${attack} / without any attack`,
          ratio: slowedBy(attack),
          goal: '<= 2',
        },
        {
          what: `memory of the gateways under ${attack} / before all attacks`,
          ratio: memory(attack) / memoryBefore,
          goal: '<= 2',
        },
      ]),
      ...refused
        .entries()
        .map(([status, count]) => ({ what: `honest requests answered ${status}`, ratio: count })),
      ...(attacks.includes('new addresses')
        ? [{ what: 'addresses of one attack', ratio: made, goal: `<= ${ADDRESSES_MAX}` }]
        : []),
      { what: 'honest requests that were not answered 200', ratio: notServed, goal: '<= 0' },
      { what: 'honest subscriptions that ended', ratio: lost, goal: '<= 0' },
      { what: 'gateways that ended', ratio: ended.length, goal: '<= 0' },
      { what: 'updates of all honest subscriptions', ratio: updates },
    ],
  };
}

interface Figures {
  /** of all rounds, and of the phases right before */
  readonly waits: number[];
  readonly before: number[];
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
  clients: readonly Client[],
  at: Attackable,
  act: () => Promise<void>,
): Promise<Seen> {
  const { hub, explorer, deposits, market } = at;
  const seen: Seen = { waits_ms: [], others: new Map(), memory_mib: 0, blocked_ms: 0 };
  await blockedMs(hub);
  const stop = new AbortController();
  const asking = clients.map((client) => client(seen, stop.signal));
  let changed = Promise.resolve();
  const changing = setInterval(() => {
    changed = changed.then(() => market.change());
    const memory = [hub, explorer, deposits].map(({ pid }) => residentMemory(pid));
    seen.memory_mib = Math.max(
      seen.memory_mib,
      memory.reduce((sum, mib) => sum + mib, 0),
    );
  }, 1_000);
  try {
    await act();
  } finally {
    stop.abort();
    clearInterval(changing);
    await Promise.all([...asking, changed]);
  }
  seen.blocked_ms = await blockedMs(hub);
  return seen;
}

const addressOf = (who: number): string => `127.1.${who >> 8}.${(who & 255) + 1}`;

/** A part of the map, of this height. */
function boundsOf(at: number, height: number): string {
  const south = (at % 80) + 1;
  return `{minLat: ${south}, maxLat: ${south + height}, minLng: 1, maxLng: 81}`;
}

/** Subscribes for as long as the bench lasts. Some subscriber sees each change of the market. */
function subscriber(at: number, hub: string, told: { updates: number; ended: number }): WebSocket {
  const url = `${hub.replace('http', 'ws')}/graphql/ws`;
  const socket = new WebSocket(url, 'graphql-transport-ws', { localAddress: addressOf(at) });
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

/** Asks until the signal comes. */
type Client = (seen: Seen, signal: AbortSignal) => Promise<void>;

/** One request a second, at times that do not depend on the answers. */
function honest(who: number, { hub, explorer, deposits, chain }: Attackable): Client {
  const localAddress = addressOf(who);
  const agent = new Agent({ keepAlive: true, maxSockets: 2, localAddress });
  const list = `{ listRideRequests(bounds: ${boundsOf(who, 0.2)}) { txHash fare } }`;
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const pk = `0x${who.toString(16).padStart(40, '0')}`;
  const authorization = `Bearer ${goodToken({ pk, exp }, DEVELOPMENT_JWT_SECRET)}`;
  const page = (turn: number): string =>
    `/api/v1/transactions?limit=20&offset=${(who * 401 + turn * 7) % chain.transactions}`;
  const asks: readonly ((turn: number) => Promise<number>)[] = [
    () => ask(`${hub.url}/graphql`, { agent }, list),
    (turn) => ask(`${explorer.url}${page(turn)}`, { agent }),
    () => ask(`${hub.url}/graphql`, { agent }, '{ chainInfo { chainId } }'),
    () => ask(`${deposits.url}/api/v1/deposits`, { agent, authorization }),
    // as clients that come anew
    () => ask(`${explorer.url}/api/v1/blocks?limit=5`, { agent: false, localAddress }),
    () => subscribe(hub.url, localAddress, boundsOf(who, 0.1)),
  ];
  let turn = who;
  return async (seen, signal) => {
    await after((who * 1_000) / 200, undefined, { signal }).catch(() => undefined);
    while (!signal.aborted) {
      const next = after(1_000, undefined, { signal }).catch(() => undefined);
      const begun = performance.now();
      const asking = asks[turn++ % asks.length]?.(turn) ?? Promise.resolve(BROKEN);
      const status = await asking.catch(() => BROKEN);
      if (!signal.aborted) seen.waits_ms.push(performance.now() - begun);
      if (status !== 200) seen.others.set(status, (seen.others.get(status) ?? 0) + 1);
      await next;
    }
  };
}

/** The status of the answer, once it is read. */
async function ask(
  url: string,
  { authorization, ...options }: RequestOptions & { readonly authorization?: string },
  query?: string,
): Promise<number> {
  const headers = {
    ...(query !== undefined && { 'content-type': 'application/json' }),
    ...(authorization !== undefined && { authorization }),
  };
  const method = query === undefined ? 'GET' : 'POST';
  const sent = request(url, { ...options, method, headers });
  sent.end(query === undefined ? undefined : JSON.stringify({ query }));
  const [response] = await once(sent, 'response');
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}

/** Opens a socket, subscribes, and closes it; 200 when the first result was there. */
async function subscribe(hub: string, localAddress: string, bounds: string): Promise<number> {
  const url = `${hub.replace('http', 'ws')}/graphql/ws`;
  const socket = new WebSocket(url, 'graphql-transport-ws', { localAddress });
  try {
    await once(socket, 'open');
    socket.send('{"type":"connection_init"}');
    await once(socket, 'message');
    const query = `subscription { rideRequestsUpdated(bounds: ${bounds}) { txHash } }`;
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));
    const [data] = await once(socket, 'message');
    // a refusal has errors in place of the list
    return String(data).includes('"rideRequestsUpdated":[') ? 200 : BROKEN;
  } finally {
    socket.terminate();
  }
}

/**
 * The attacker is a process of the lowest priority: of the processors it gets what gateways and
 * honest clients leave, as one on another machine does.
 */
async function strike(attacked: Attacked, ms: number, counts: Counts): Promise<void> {
  const program = [process.execPath, ...process.execArgv, ATTACKER, JSON.stringify(attacked)];
  const attacker = spawn('nice', ['-n', '19', ...program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  attacker.on('message', (counted) => Object.assign(counts, counted));
  const ended = once(attacker, 'exit');
  const ending = new AbortController();
  try {
    await Promise.race([
      after(ms, undefined, ending),
      ended.then(() => Promise.reject(new Error(`the attacker of "${attacked.attack}" ended`))),
    ]);
  } finally {
    ending.abort();
    attacker.kill('SIGKILL');
    await ended;
  }
}
