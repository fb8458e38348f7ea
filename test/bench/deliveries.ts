/** Deliveries of one list to many subscribers, by the hub and by other servers in turns. */
import { isDeepStrictEqual } from 'node:util';
import { say } from './bench.ts';
import type { HubMarket } from './hub-market.ts';
import { LIST_BODY } from './hub-operations.ts';
import { Subscribers } from './hub-sockets.ts';
import { processorSeconds, residentMemory } from './process-figures.ts';
import { median, type Part } from './report.ts';
import type { SideServer } from './side-server.ts';

type Server = Pick<SideServer, 'pid' | 'url'>;

/** A server that is compared with the hub. */
export interface Peer {
  readonly name: string;
  readonly server: Server;
  /** whether a subscription begins with the list */
  readonly hasSnapshot: boolean;
  /** of the hub's processor time a delivery by that of this one */
  readonly goal: string;
}

interface Given {
  readonly sockets: number;
  readonly changes: number;
  readonly rounds: number;
}

interface Delivered {
  readonly processor_us: number;
  /** from a change until every socket has it */
  readonly told_ms: number;
  /** KiB that the process took for each socket as they were opened */
  readonly socket_kib: number;
}

interface Side extends Omit<Peer, 'goal'> {
  readonly rounds: Delivered[];
}

export async function measureDeliveries(
  hub: Server,
  peers: readonly Peer[],
  market: HubMarket,
  given: Given,
): Promise<Part> {
  const ours: Side = { name: 'hub', server: hub, hasSnapshot: true, rounds: [] };
  const theirs = peers.map((peer) => ({ ...peer, rounds: [] as Delivered[] }));
  const sides: readonly Side[] = [ours, ...theirs];
  const memory = new Map<Side, number>();
  for (let round = 0; round <= given.rounds; round++) {
    for (const side of sides) {
      const delivered = await deliver(side, hub, market, given);
      // the servers are compiled during the first round, and keep the memory of its sockets
      if (round === 0) memory.set(side, delivered.socket_kib);
      else side.rounds.push(delivered);
    }
    say(`deliveries: round ${round} of ${given.rounds} done`);
  }
  return {
    measured: sides.flatMap((side) => [
      {
        what: `delivery: ${side.name}, processor time`,
        unit: 'us',
        rounds: side.rounds.map(({ processor_us: each }) => each),
      },
      {
        what: `a change until all sockets have it: ${side.name}`,
        unit: 'ms',
        rounds: side.rounds.map(({ told_ms: each }) => each),
      },
      {
        what: `memory a further socket, first round: ${side.name}`,
        unit: 'KiB',
        rounds: [memory.get(side) ?? Number.NaN],
      },
    ]),
    ratios: theirs.flatMap(({ name, goal, rounds }) => [
      {
        what: `processor time a delivery, hub / ${name}`,
        ratio: ratioOf(ours.rounds, rounds, 'processor_us'),
        goal,
      },
      {
        what: `a change until all sockets have it, hub / ${name}`,
        ratio: ratioOf(ours.rounds, rounds, 'told_ms'),
        goal: '<= 1',
      },
    ]),
  };
}

function ratioOf(
  ours: readonly Delivered[],
  theirs: readonly Delivered[],
  figure: keyof Delivered,
): number {
  return median(ours.map((each) => each[figure])) / median(theirs.map((each) => each[figure]));
}

/** Throws unless each change reached every socket, and the last as the hub answers it. */
async function deliver(
  { name, server, hasSnapshot }: Side,
  hub: Server,
  market: HubMarket,
  { sockets, changes }: Given,
): Promise<Delivered> {
  const { pid } = server;
  const url = `${server.url.replace('http', 'ws')}/graphql/ws`;
  const atRest = residentMemory(pid);
  const subscribers = await Subscribers.open(url, sockets, hasSnapshot);
  try {
    const { results: had, texts } = subscribers;
    const socketKib = ((residentMemory(pid) - atRest) * 1_024) / sockets;
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
    if (different !== changes || !isDeepStrictEqual(list, await listOf(hub)))
      throw new Error(
        `${name} sent ${different} different lists for ${changes} changes, or another list than the hub answers: its deliveries are wrong, so their cost means nothing`,
      );
    return { processor_us: processor, told_ms: told, socket_kib: socketKib };
  } finally {
    await subscribers.close();
  }
}

type Lists = Readonly<Record<string, readonly object[]>>;

async function listOf({ url }: Server): Promise<readonly object[]> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: LIST_BODY,
  });
  const { data }: { readonly data: Lists } = await response.json();
  return data['listRideRequests'] ?? [];
}
