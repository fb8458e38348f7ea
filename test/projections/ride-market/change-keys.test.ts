/** The change keys that the fold announces cover every list that changed. */
import { expect, test } from 'vitest';
import {
  ENDED_TRIPS_KEY,
  offersKey,
  REQUESTS_KEY,
  pickupKey,
  TRIPS_KEY,
  partyKey,
} from '../../../projections/ride-market/change-keys.ts';
import { rideMarket } from '../../../projections/ride-market/ride-market.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { ChainByHand } from '../../support/chain-by-hand.ts';
import { texts } from '../../support/plain-fold.ts';
import { batches } from '../explorer/batches.ts';
import { FoldedTables } from '../folded-tables.ts';
import { specify } from '../specify.ts';
import { plainMarket, type PlainMarket, type PlainRow } from './plain-market.ts';
import { rideChain } from './ride-chain.ts';

function bytesIn(row: PlainRow, column: string): Buffer {
  const value = row[column];
  if (!Buffer.isBuffer(value)) throw new Error(`${column} is not bytes`);
  return value;
}

/** By the key that tells of it, what a list shows. */
function listsOf(market: PlainMarket): ReadonlyMap<string, readonly string[]> {
  const lists = new Map<string, PlainRow[]>();
  const add = (key: string, row: PlainRow): void =>
    void lists.set(key, [...(lists.get(key) ?? []), row]);
  const open = new Set(market.open_requests.map((row) => bytesIn(row, 'hash').toString('hex')));
  for (const row of market.open_requests) {
    add(REQUESTS_KEY, row);
    add(pickupKey({ lat: String(row['pickup_lat']), lng: String(row['pickup_lng']) }), row);
  }
  for (const row of market.offers) {
    const request = bytesIn(row, 'request_hash');
    if (open.has(request.toString('hex'))) add(offersKey(request), row);
  }
  for (const [key, rows] of [
    [TRIPS_KEY, market.active_trips],
    [ENDED_TRIPS_KEY, market.ended_trips],
  ] as const) {
    for (const row of rows) {
      add(key, row);
      add(partyKey(key, bytesIn(row, 'driver')), row);
      add(partyKey(key, bytesIn(row, 'passenger')), row);
    }
  }
  return new Map([...lists].map(([key, rows]) => [key, texts(rows)]));
}

function changedKeys(
  before: ReadonlyMap<string, readonly string[]>,
  after: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  return [...keys].filter(
    (key) => JSON.stringify(before.get(key)) !== JSON.stringify(after.get(key)),
  );
}

test('a batch announces the key of every list that it changes, also by a reorganisation', () => {
  const { log } = rideChain({
    seed: 21,
    blocks: 60,
    transactions_per_block: 8,
    reorg_probability: 0.4,
    final_depth: 5,
  });
  const tables = new FoldedTables(rideMarket);
  const logSoFar: ChainEvent[] = [];
  let before: ReadonlyMap<string, readonly string[]> = new Map();
  let changes = 0;
  for (const batch of batches(log, [1, 2, 1, 5])) {
    const folded = tables.apply(batch);
    logSoFar.push(...batch.events);
    const after = listsOf(plainMarket(logSoFar));
    const changed = changedKeys(before, after);
    expect(folded.announced).toEqual(expect.arrayContaining([...changed]));
    expect(new Set(folded.announced).size).toBe(folded.announced.length);
    changes += changed.length;
    before = after;
  }
  expect(changes).toBeGreaterThan(500);
});

test('a block without ride calls and a finalized block announce no keys', () => {
  const chain = new ChainByHand();
  chain.append();
  chain.append({ transactions: [{ from: Buffer.alloc(20, 1), to: Buffer.alloc(20, 2) }] });
  chain.finalize();
  specify(rideMarket)
    .when(chain.log)
    .thenFolded({ announced: [], outcomes: { applied: 3, replayed: 0, ignored: 0 } });
});
