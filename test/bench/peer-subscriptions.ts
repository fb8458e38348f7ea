/** Deliveries of one list to many subscribers by the hub, PostGraphile and stock graphql-ws. */
import { isDeepStrictEqual } from 'node:util';
import { say } from './bench.ts';
import type { HubMarket } from './hub-market.ts';
import { LIST_BODY, SUBSCRIPTION } from './hub-operations.ts';
import { Subscribers } from './hub-sockets.ts';
import { hubRequest, REQUEST_FIELDS, type Node } from './postgraphile-fields.ts';
import { processorSeconds } from './process-figures.ts';
import { median, type Part } from './report.ts';
import type { SideServer } from './side-server.ts';

type Server = Pick<SideServer, 'pid' | 'url'>;

interface Servers {
  readonly hub: Server;
  readonly postgraphile: Server;
  readonly stock: Server;
}

interface Given {
  readonly sockets: number;
  readonly changes: number;
  readonly rounds: number;
}

interface Side {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly query: string;
  /** whether a subscription begins with the list */
  readonly hasSnapshot: boolean;
  readonly toItem: (item: Node) => object;
  readonly processor_us: number[];
  readonly told_ms: number[];
}

const LIVE = `subscription{rideRequestsUpdated{${REQUEST_FIELDS}}}`;

export async function measureSubscriptions(
  { hub, postgraphile, stock }: Servers,
  market: HubMarket,
  given: Given,
): Promise<Part> {
  const asHub = { query: SUBSCRIPTION, toItem: (item: object) => item };
  const ours = sideOf('hub', hub, '/graphql/ws', { ...asHub, hasSnapshot: true });
  const peers = [
    sideOf('PostGraphile', postgraphile, '/graphql', {
      query: LIVE,
      toItem: hubRequest,
      hasSnapshot: true,
    }),
    sideOf('stock graphql-ws', stock, '/graphql/ws', { ...asHub, hasSnapshot: false }),
  ];
  for (let round = 0; round <= given.rounds; round++) {
    for (const side of [ours, ...peers]) {
      const { processor_us: processor, told_ms: told } = await deliver(side, hub, market, given);
      // the servers are compiled during the first round
      if (round === 0) continue;
      side.processor_us.push(processor);
      side.told_ms.push(told);
    }
    say(`deliveries: round ${round} of ${given.rounds} done`);
  }
  return {
    measured: [ours, ...peers].flatMap(({ name, processor_us: processor, told_ms: told }) => [
      { what: `delivery: ${name}, processor time`, unit: 'us', rounds: processor },
      { what: `a change until all sockets have it: ${name}`, unit: 'ms', rounds: told },
    ]),
    ratios: peers.flatMap(({ name, processor_us: processor, told_ms: told }) => [
      {
        what: `processor time a delivery, hub / ${name}`,
        ratio: median(ours.processor_us) / median(processor),
        goal: '<= 1',
      },
      {
        what: `a change until all sockets have it, hub / ${name}`,
        ratio: median(ours.told_ms) / median(told),
        goal: '<= 1',
      },
    ]),
  };
}

function sideOf(
  name: string,
  { pid, url }: Server,
  path: string,
  how: Pick<Side, 'query' | 'hasSnapshot' | 'toItem'>,
): Side {
  return {
    ...how,
    name,
    pid,
    url: url.replace('http', 'ws') + path,
    processor_us: [],
    told_ms: [],
  };
}

/** Throws unless each change reached every socket, and the last as the hub answers it. */
async function deliver(
  { name, pid, url, query, hasSnapshot, toItem }: Side,
  hub: Server,
  market: HubMarket,
  { sockets, changes }: Given,
): Promise<{ readonly processor_us: number; readonly told_ms: number }> {
  const subscribers = await Subscribers.open(url, sockets, hasSnapshot, query);
  try {
    const { results: had, texts } = subscribers;
    const [before, begun] = [processorSeconds(pid), performance.now()];
    for (let change = 1; change <= changes; change++) {
      await market.change();
      await subscribers.until(had + change * sockets);
    }
    const told = (performance.now() - begun) / changes;
    const processor = ((processorSeconds(pid) - before) / (changes * sockets)) * 1e6;
    const different = subscribers.texts - texts;
    const message: { readonly payload: { readonly data: Lists } } = JSON.parse(subscribers.newest);
    const [list = []] = Object.values(message.payload.data);
    if (different !== changes || !isDeepStrictEqual(list.map(toItem), await listOf(hub)))
      throw new Error(
        `${name} sent ${different} different lists for ${changes} changes, or another list than the hub answers: its deliveries are wrong, so their cost means nothing`,
      );
    return { processor_us: processor, told_ms: told };
  } finally {
    await subscribers.close();
  }
}

type Lists = Readonly<Record<string, readonly Node[]>>;

async function listOf({ url }: Server): Promise<readonly object[]> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: LIST_BODY,
  });
  const { data }: { readonly data: Lists } = await response.json();
  return data['listRideRequests'] ?? [];
}
