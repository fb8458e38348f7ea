/**
 * From a block of the node to a subscriber's socket, through Kafka, the fold, Postgres and
 * the hub, compared with a bare relay from Kafka to sockets; and the legs of that way, by spans.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { ChainNode } from '../../services/runtime/clt-node.ts';
import { Collector } from '../support/collector.ts';
import { startStack, type ServiceHandle, type Stack } from '../support/stack.ts';
import { until } from '../support/until.ts';
import { say, type Bench } from './bench.ts';
import { birthsFrom, requestIn } from './births.ts';
import { legsOf, type Leg } from './legs.ts';
import { percentile, type BenchReport } from './report.ts';
import { startSideServer } from './side-server.ts';

type Option = 'blocks' | 'sockets';
const WARM_UP = 30;
const SERVICES = ['chain-ingester', 'projector-explorer', 'projector-ride-market', 'hub-gateway'];

export const blockToSubscriber: Bench<Option> = {
  about:
    "from the node's block to a subscriber's socket, against a bare relay from Kafka to sockets",
  options: {
    blocks: { about: 'with a new ride request, 5 blocks a second', default: 300 },
    sockets: { about: 'open at each; the one opened last is measured', default: 10 },
  },
  run,
};

async function run({ blocks, sockets }: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const stack = await startStack();
  try {
    await (
      await stack.spawnService('devnet', {
        APP_BLOCK_INTERVAL_MS: '200',
        APP_TRAFFIC_PER_SECOND: '20',
        APP_LOG_LEVEL: 'warn',
      })
    ).ready();
    const services = await startServices(stack);
    const relay = await startSideServer(
      stack,
      'the relay',
      'kafka-relay.ts',
      [stack.addresses.kafka_brokers],
      async (url) => (await fetch(url)).ok,
    );
    let report: BenchReport;
    try {
      report = await measure(stack, services.hub_url, relay.url, blocks, sockets);
    } finally {
      await relay.stop();
    }
    await services.stop();
    return { ...report, detail: await tracedLegs(stack, blocks, sockets) };
  } finally {
    await stack.stop();
  }
}

async function startServices(
  stack: Stack,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ readonly hub_url: string; readonly stop: () => Promise<void> }> {
  const started: ServiceHandle[] = [];
  for (const name of SERVICES) {
    const service = await stack.spawnService(name, {
      APP_LOG_LEVEL: 'warn',
      ...(name === 'hub-gateway' ? { APP_RATE_PER_SECOND: '0' } : {}),
      ...settings,
    });
    await service.ready();
    started.push(service);
  }
  const stop = async (): Promise<void> => {
    for (const service of started) {
      await service.kill('SIGTERM');
      await service.waitExit();
    }
  };
  return { hub_url: started.at(-1)?.url ?? '', stop };
}

/** The legs of further blocks, of which every one is traced. */
async function tracedLegs(stack: Stack, blocks: number, count: number): Promise<readonly Leg[]> {
  const collector = await Collector.open();
  const { hub_url, stop } = await startServices(stack, {
    APP_OTLP_URL: collector.url,
    APP_TRACE_EVERY: '1',
  });
  const open: WebSocket[] = [];
  for (let at = 0; at < count; at++) open.push(await subscribed(hub_url));
  const arrived = (): number => collector.spans.filter(({ name }) => name === 'socket').length;
  say(`tracing ${blocks} blocks`);
  await until(async () => arrived() >= blocks, `${blocks} traced blocks`);
  for (const socket of open) socket.terminate();
  await stop();
  await collector.close();
  return legsOf(collector.spans);
}

async function measure(
  stack: Stack,
  hubUrl: string,
  relayUrl: string,
  blocks: number,
  count: number,
): Promise<BenchReport> {
  const hub = new Arrivals();
  const relay = new Arrivals();
  const open: WebSocket[] = [];
  for (let at = 0; at < count; at++) {
    open.push(await subscribed(hubUrl), await connected(relayUrl));
  }
  open.at(-2)?.on('message', (data: Buffer) => hub.came(data));
  open.at(-1)?.on('message', (data: Buffer) => relay.came(data));
  const born: { readonly height: number; readonly request: string; readonly at: number }[] = [];
  let unknown = 0;
  const node = new ChainNode(stack.addresses.node_url, new AbortController().signal);
  const first = (await node.chain()).head.height + 2;
  // births are watched apart from arrivals, so that a slow one delays no other
  for await (const { height, born: at, json } of birthsFrom(stack.addresses.node_url, first)) {
    const request = requestIn(json);
    if (request === undefined) continue;
    if (at === undefined) unknown++;
    else born.push({ height, request, at });
    if (born.length % 100 === 0) say(`${born.length} of ${WARM_UP + blocks} blocks`);
    if (born.length === WARM_UP + blocks) break;
  }
  const samples = { hub: [] as number[], relay: [] as number[] };
  for (const { height, request, at } of born.slice(WARM_UP)) {
    const start = Buffer.from(`${height} `);
    const atHub = await hub.of(`block ${height} at the hub`, (data) => data.includes(request));
    const atRelay = await relay.of(`block ${height} at the relay`, (data) =>
      data.subarray(0, start.length).equals(start),
    );
    samples.hub.push(atHub - at);
    samples.relay.push(atRelay - at);
  }
  for (const socket of open) socket.terminate();
  const rows = [
    [samples.hub, "node to the hub's subscriber"],
    [samples.relay, 'node to a socket of the bare relay'],
  ] as const;
  return {
    bench: 'block-to-subscriber',
    about: `${blocks} blocks with a new ride request, 5 blocks a second; ${count} sockets each; from the moment the node gave the block out; ${unknown} left out, whose birth was noticed late`,
    measured: rows.flatMap(figures),
    ratios: [
      {
        what: 'p50, hub / bare relay',
        ratio: percentile(samples.hub, 0.5) / percentile(samples.relay, 0.5),
        goal: '<= 2.5',
      },
      {
        what: 'p99, hub / bare relay',
        ratio: percentile(samples.hub, 0.99) / percentile(samples.relay, 0.99),
      },
    ],
  };
}

/** When what came first showed something. */
class Arrivals {
  readonly #came: { readonly data: Buffer; readonly at: number }[] = [];

  came(data: Buffer): void {
    this.#came.push({ data, at: performance.now() });
  }

  /** ms of performance.now(); what came before is forgotten. */
  async of(what: string, isIt: (data: Buffer) => boolean): Promise<number> {
    let found = -1;
    await until(() => {
      found = this.#came.findIndex(({ data }) => isIt(data));
      return Promise.resolve(found >= 0);
    }, what);
    const at = this.#came[found]?.at ?? Number.NaN;
    this.#came.splice(0, found);
    return at;
  }
}

async function connected(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url.replace('http', 'ws'), { perMessageDeflate: false });
  await once(socket, 'open');
  return socket;
}

async function subscribed(url: string): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql/ws`, 'graphql-transport-ws', {
    perMessageDeflate: false,
  });
  await once(socket, 'open');
  socket.send('{"type":"connection_init"}');
  await once(socket, 'message');
  const query =
    'subscription { rideRequestsUpdated { txHash fare passengerAddress pickupLocation { latitude longitude } } }';
  socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }));
  await once(socket, 'message');
  return socket;
}

function figures([of, what]: readonly [readonly number[], string]): BenchReport['measured'] {
  return [
    { what: `${what}, p50`, unit: 'ms', rounds: [percentile(of, 0.5)] },
    { what: `${what}, p99`, unit: 'ms', rounds: [percentile(of, 0.99)] },
  ];
}
