/** What the fold announces: whoever re-reads a list only when its area is named never misses a change of it. */
import { expect, test } from 'vitest';
import {
  ENDED_TRIPS,
  offersFor,
  REQUESTS,
  requestsAt,
  TRIPS,
  tripsOf,
} from '../../../projections/ride-market/change-keys.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { ChainByHand } from '../../support/chain-by-hand.ts';
import { texts } from '../../support/plain-fold.ts';
import { batches } from '../explorer/batches.ts';
import { MemoryTables } from './memory-tables.ts';
import { plainMarket, type PlainMarket, type PlainRow } from './plain-market.ts';
import { rideChain } from './ride-chain.ts';

function bytesIn(row: PlainRow, column: string): Buffer {
  const value = row[column];
  if (!Buffer.isBuffer(value)) throw new Error(`${column} is not bytes`);
  return value;
}

/** By the area that tells of it, what a list shows. */
function listsOf(market: PlainMarket): ReadonlyMap<string, readonly string[]> {
  const lists = new Map<string, PlainRow[]>();
  const add = (area: string, row: PlainRow): void =>
    void lists.set(area, [...(lists.get(area) ?? []), row]);
  const open = new Set(market.open_requests.map((row) => bytesIn(row, 'hash').toString('hex')));
  for (const row of market.open_requests) {
    add(REQUESTS, row);
    add(requestsAt({ lat: String(row['pickup_lat']), lng: String(row['pickup_lng']) }), row);
  }
  for (const row of market.offers) {
    const request = bytesIn(row, 'request_hash');
    if (open.has(request.toString('hex'))) add(offersFor(request), row);
  }
  for (const [area, rows] of [
    [TRIPS, market.active_trips],
    [ENDED_TRIPS, market.ended_trips],
  ] as const) {
    for (const row of rows) {
      add(area, row);
      add(tripsOf(area, bytesIn(row, 'driver')), row);
      add(tripsOf(area, bytesIn(row, 'passenger')), row);
    }
  }
  return new Map([...lists].map(([area, rows]) => [area, texts(rows)]));
}

function changedAreas(
  before: ReadonlyMap<string, readonly string[]>,
  after: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const areas = new Set([...before.keys(), ...after.keys()]);
  return [...areas].filter(
    (area) => JSON.stringify(before.get(area)) !== JSON.stringify(after.get(area)),
  );
}

test('whatever list a batch changes, also by a reorganisation, its area is announced', () => {
  const { log } = rideChain({
    seed: 21,
    blocks: 60,
    transactions_per_block: 8,
    reorg_probability: 0.4,
    final_depth: 5,
  });
  const tables = new MemoryTables();
  const told: ChainEvent[] = [];
  let before: ReadonlyMap<string, readonly string[]> = new Map();
  let changes = 0;
  for (const { from, events } of batches(log, [1, 2, 1, 5])) {
    const folded = tables.apply(events, from);
    if ('broken' in folded) throw new Error(folded.broken.reason);
    told.push(...events);
    const after = listsOf(plainMarket(told));
    const changed = changedAreas(before, after);
    expect(folded.announced).toEqual(expect.arrayContaining([...changed]));
    expect(new Set(folded.announced).size).toBe(folded.announced.length);
    changes += changed.length;
    before = after;
  }
  expect(changes).toBeGreaterThan(500);
});

test('a block without a ride announces nothing, nor does one that becomes final', () => {
  const chain = new ChainByHand();
  chain.append();
  chain.append({ transactions: [{ from: Buffer.alloc(20, 1), to: Buffer.alloc(20, 2) }] });
  chain.finalize();
  expect(new MemoryTables().apply(chain.log)).toMatchObject({
    announced: [],
    outcomes: { applied: 3 },
  });
});
