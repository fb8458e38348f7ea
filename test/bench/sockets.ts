/**
 * Ten thousand sockets on one hub, and sockets that misbehave: the cost of each, and the effect on
 * queries.
 */
import { once } from 'node:events';
import { setTimeout as after } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { startStack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { say, type Bench } from './bench.ts';
import { emptyDatabase, settle } from './databases.ts';
import { HubMarket } from './hub-market.ts';
import { LIST_BODY, SUBSCRIPTION } from './hub-operations.ts';
import { Subscribers } from './hub-sockets.ts';
import { PacedReaders, type Taken } from './paced-readers.ts';
import { processorSeconds, residentMemory } from './process-figures.ts';
import { percentile, type BenchReport } from './report.ts';

type Option = 'requests' | 'sockets' | 'changes' | 'slow' | 'seed';

export const sockets: Bench<Option> = {
  about:
    'memory a socket and time to tell them all at ten thousand; slow readers, floods and oversize operations beside those who only ask',
  options: {
    requests: { about: 'open in the market', default: 50 },
    sockets: { about: 'with one subscription each', default: 10_000 },
    changes: { about: 'of the market that all of them are told', default: 5 },
    slow: { about: 'sockets that stop reading, and as many others beside them', default: 500 },
    seed: { about: 'of the market', default: 1 },
  },
  run,
};

/** Queries beside what is measured. */
const QUERIES_PER_SECOND = 200;
/** A socket that is given up is gone 30 s later. */
const GONE_WITHIN_MS = 120_000;

interface Server {
  readonly url: string;
  readonly ops_url: string;
  readonly pid: number;
}

async function run(given: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  try {
    for (const server of ['kafka', 'registry'] as const) await stack.servers[server].stop();
    const database = await emptyDatabase(stack);
    const market = await HubMarket.open(
      database,
      stack.addresses.redis_url,
      given.requests,
      given.seed,
    );
    try {
      await (
        await stack.spawnService('devnet', { APP_TRAFFIC_PER_SECOND: '0', APP_LOG_LEVEL: 'warn' })
      ).ready();
      const settings = {
        APP_RATE_PER_SECOND: '0',
        APP_LOG_LEVEL: 'warn',
        APP_SOCKET_SLOW_MS: '5000',
      };
      const hub = await stack.spawnService('hub-gateway', {
        APP_POSTGRES_READER_URL: database.reader_url,
        ...settings,
      });
      await hub.ready();
      await settle(stack);
      return await measure(market, hub, given);
    } finally {
      await market.close();
    }
  } finally {
    await stack.stop();
  }
}

async function measure(
  market: HubMarket,
  server: Server,
  given: Readonly<Record<Option, number>>,
): Promise<BenchReport> {
  const url = `${server.url.replace('http', 'ws')}/graphql/ws`;
  // memory of a process that has worked without sockets
  await (await Subscribers.open(url, 200, true)).close();
  const idle = await probed(server, () => after(3_000));
  const atRest = residentMemory(server.pid);

  say(`${given.sockets} sockets are opened`);
  const many = await Subscribers.open(url, given.sockets, true);
  const perSocket = ((residentMemory(server.pid) - atRest) * 1_024) / given.sockets;
  const told: number[] = [];
  const before = processorSeconds(server.pid);
  const telling = await probed(server, async () => {
    for (let change = 1; change <= given.changes; change++) {
      const [begun, had] = [performance.now(), many.results];
      await market.change();
      await many.until(had + given.sockets);
      told.push(performance.now() - begun);
    }
  });
  const perDelivery =
    ((processorSeconds(server.pid) - before) / (given.changes * given.sockets)) * 1e6;
  await many.close();

  say(`${given.slow} sockets stop reading`);
  const slow = await slowReaders(url, given.slow);
  const others = await Subscribers.open(url, given.slow, true);
  const slowed = await probed(server, async () => {
    const begun = performance.now();
    // the kernel takes some megabytes for each before a socket has anything unread
    while ((await figure(server, 'hub_sockets')) > given.slow) {
      if (performance.now() - begun > GONE_WITHIN_MS)
        throw new Error(`not every slow socket is gone after ${GONE_WITHIN_MS} ms of changes`);
      const had = others.results;
      await market.change();
      await others.until(had + given.slow);
    }
  });
  for (const socket of slow) socket.terminate();
  await others.close();

  say('floods');
  const flooded = await probed(server, () => flood(url));
  const phases: readonly (readonly [string, Queries])[] = [
    ['nothing else', idle],
    [`${given.sockets} sockets are told`, telling],
    [`${given.slow} do not read`, slowed],
    ['floods', flooded],
  ];
  return {
    bench: 'sockets',
    about: `a list of ${given.requests} requests; ${given.sockets} sockets, then ${given.slow} that do not read beside as many that do; a query asked all the time`,
    measured: [
      { what: 'memory a socket', unit: 'KiB', rounds: [perSocket] },
      { what: 'from a change until every socket has it', unit: 'ms', rounds: told },
      { what: 'processor time a delivery, queries included', unit: 'us', rounds: [perDelivery] },
      ...phases.flatMap(([what, { all_ms: ms, memory_most: most }]) => [
        { what: `${what}: a query, p50`, unit: 'ms', rounds: [percentile(ms, 0.5)] },
        { what: `${what}: a query, p99`, unit: 'ms', rounds: [percentile(ms, 0.99)] },
        { what: `${what}: memory, at most`, unit: 'MiB', rounds: [most] },
      ]),
    ],
    ratios: [{ what: 'memory a further socket, KiB', ratio: perSocket, goal: '<= 10' }],
  };
}

type Queries = Pick<Taken, 'all_ms' | 'memory_most'>;

/** One query after the other, as long as `act` takes; throws at one that fails. */
async function probed({ url, pid }: Server, act: () => Promise<void>): Promise<Queries> {
  const readers = await PacedReaders.begin({
    server: { url, pid },
    per_second: QUERIES_PER_SECOND,
    connections: 1,
    asked: { body: LIST_BODY },
  });
  try {
    await act();
    const taken = await readers.taken();
    if (readers.failed > 0) throw new Error(`${readers.failed} queries failed`);
    return taken;
  } finally {
    await readers.stop();
  }
}

/** Sockets that have subscribed and then stop reading. */
async function slowReaders(url: string, count: number): Promise<readonly WebSocket[]> {
  const open: WebSocket[] = [];
  for (let at = 0; at < count; at++) {
    const socket = await connected(url);
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query: SUBSCRIPTION } }));
    await once(socket, 'message');
    socket.pause();
    open.push(socket);
  }
  return open;
}

/**
 * A thousand sockets without a hello, a thousand subscriptions on one, a hundred oversized
 * messages, a hundred operations over the limit.
 */
async function flood(url: string): Promise<void> {
  const silent = Array.from({ length: 1_000 }, async () => {
    const socket = new WebSocket(url, 'graphql-transport-ws');
    const [code]: unknown[] = await once(socket, 'close');
    if (code !== 4408)
      throw new Error(`a socket that never initialised was closed with ${String(code)}`);
  });
  const greedy = await connected(url);
  let answers = 0;
  greedy.on('message', () => answers++);
  for (let at = 0; at < 1_000; at++)
    greedy.send(
      JSON.stringify({ id: String(at), type: 'subscribe', payload: { query: SUBSCRIPTION } }),
    );
  const large = Array.from({ length: 100 }, async () => {
    const socket = await connected(url);
    socket.on('error', () => undefined);
    socket.send('x'.repeat(1 << 20));
    const [code]: unknown[] = await once(socket, 'close');
    if (code !== 1009)
      throw new Error(`a socket that sent a mebibyte was closed with ${String(code)}`);
  });
  const deep = `{ ${'a { '.repeat(200)}b${' }'.repeat(200)} }`;
  const wide = await connected(url);
  let refused = 0;
  wide.on('message', () => refused++);
  for (let at = 0; at < 100; at++)
    wide.send(JSON.stringify({ id: String(at), type: 'subscribe', payload: { query: deep } }));
  await Promise.all([...silent, ...large]);
  await until(
    () => Promise.resolve(answers >= 1_000 && refused >= 100),
    'every flooding operation to be answered',
  );
  greedy.terminate();
  wide.terminate();
}

async function connected(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url, 'graphql-transport-ws', { perMessageDeflate: false });
  await once(socket, 'open');
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message');
  return socket;
}

async function figure({ ops_url: url }: Server, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name}(?:\\{[^}]*\\})? ([0-9.]+)$`, 'm').exec(text)?.[1] ?? 0);
}
