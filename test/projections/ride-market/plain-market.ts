/**
 * The expected tables of the ride market, from one loop over the transactions of the chain. It
 * shares no code with the projection. Of the journal it knows the heights only.
 */
import type {
  BlockAppended,
  BlockTransaction,
  ChainEvent,
} from '../../../schemas/chain.blocks/events.ts';
import { texts, type TableTexts } from '../../support/plain-fold.ts';

type Cell = Buffer | bigint | boolean | number | string | null;
export type PlainRow = Record<string, Cell>;

export interface PlainMarket {
  readonly head: PlainRow | undefined;
  readonly journal_heights: readonly number[];
  readonly open_requests: readonly PlainRow[];
  readonly closed_requests: readonly PlainRow[];
  readonly offers: readonly PlainRow[];
  readonly active_trips: readonly PlainRow[];
  readonly ended_trips: readonly PlainRow[];
  readonly payments: readonly PlainRow[];
}

export function plainMarket(log: readonly ChainEvent[]): PlainMarket {
  const blocks: BlockAppended[] = [];
  let finalized = -1;
  let head: PlainRow | undefined;
  for (const [offset, event] of log.entries()) {
    if (event.sequence !== offset) continue;
    if (event.type === 'BlockAppended') blocks.push(event);
    if (event.type === 'BlockReverted') blocks.pop();
    if (event.type === 'BlocksFinalized') finalized = event.height;
    const top =
      event.type === 'BlockReverted'
        ? { height: event.height - 1, hash: event.parent_hash }
        : (blocks.at(-1) ?? { height: -1, hash: null });
    const { height, hash } = top;
    head = {
      one: true,
      sequence: event.sequence,
      height,
      hash,
      finalized_height: finalized,
      journal_from: finalized + 1,
    };
  }
  const rides = new Rides();
  for (const block of blocks)
    for (const transaction of block.transactions) rides.take(block, transaction);
  return {
    head,
    journal_heights: blocks.map(({ height }) => height).filter((height) => height > finalized),
    open_requests: [...rides.requests.values()],
    closed_requests: rides.closed,
    offers: [...rides.offers.values()],
    active_trips: [...rides.trips.values()],
    ended_trips: rides.ended,
    payments: rides.payments,
  };
}

export function withoutJournal(tables: TableTexts): TableTexts {
  return Object.fromEntries(Object.entries(tables).filter(([table]) => table !== 'journal'));
}

/** Without the journal. */
export function textsOf(market: PlainMarket): TableTexts {
  const { head, open_requests, closed_requests, offers, active_trips, ended_trips, payments } =
    market;
  return {
    head: texts(head === undefined ? [] : [head]),
    open_requests: texts(open_requests),
    closed_requests: texts(closed_requests),
    offers: texts(offers),
    active_trips: texts(active_trips),
    ended_trips: texts(ended_trips),
    payments: texts(payments),
  };
}

interface Place {
  readonly hash: Buffer;
  readonly height: number;
  readonly tx_index: number;
}

class Rides {
  readonly requests = new Map<string, PlainRow>();
  readonly closed: PlainRow[] = [];
  readonly offers = new Map<string, PlainRow>();
  readonly trips = new Map<string, PlainRow>();
  readonly ended: PlainRow[] = [];
  readonly payments: PlainRow[] = [];

  take(
    { height, balance_effects: balanceEffects }: BlockAppended,
    transaction: BlockTransaction,
  ): void {
    const {
      hash,
      from,
      arguments: args,
      function_call_type: functionCallType,
      index: tx_index,
      referrer,
    } = transaction;
    const id = `0x${hash.toString('hex')}`;
    const fare = args['fare'] === undefined ? 0n : BigInt(args['fare'] ?? 0);
    if (functionCallType === 'RideRequest') {
      const { pickup_lat = '', pickup_lng = '', dropoff_lat = '', dropoff_lng = '' } = args;
      this.requests.set(id, {
        hash,
        passenger: from,
        pickup_lat,
        pickup_lng,
        dropoff_lat,
        dropoff_lng,
        fare,
        referrer,
        height,
        tx_index,
      });
    }
    if (functionCallType === 'RideOffer' && this.requests.has(args['request_hash'] ?? '')) {
      const request_hash = bytes(args['request_hash']);
      this.offers.set(id, { hash, request_hash, driver: from, fare, referrer, height, tx_index });
    }
    if (functionCallType === 'RideAcceptance') this.#accept(transaction, height);
    if (functionCallType === 'RideRequestCancel')
      this.#close(args['request_hash'] ?? '', null, { hash, height, tx_index });
    const trip = this.trips.get(args['acceptance_hash'] ?? '');
    if (trip === undefined) return;
    if (functionCallType === 'RideCancel') this.#end(trip, 'cancelled', { hash, height, tx_index });
    if (functionCallType !== 'RidePay') return;
    let amount = 0n;
    for (const { kind, delta, tx_index: txIndex } of balanceEffects)
      if (kind === 'ride_pay' && txIndex === tx_index && delta < 0n) amount -= delta;
    if (amount > 0n)
      this.payments.push({ hash, trip_hash: trip['hash'] ?? null, amount, height, tx_index });
    trip['fare_paid'] = BigInt(String(trip['fare_paid'])) + amount;
    if (BigInt(String(trip['fare_paid'])) >= BigInt(String(trip['fare'])))
      this.#end(trip, 'completed', { hash, height, tx_index });
  }

  #accept({ hash, arguments: args, index: tx_index }: BlockTransaction, height: number): void {
    const offer = this.offers.get(args['offer_hash'] ?? '');
    if (offer === undefined) return;
    const { request_hash = null, driver = null, fare = null } = offer;
    const request = this.requests.get(hex(request_hash));
    if (request === undefined) return;
    const offer_hash = bytes(args['offer_hash']);
    this.#close(hex(request_hash), offer_hash, { hash, height, tx_index });
    const {
      passenger = null,
      pickup_lat = null,
      pickup_lng = null,
      dropoff_lat = null,
      dropoff_lng = null,
    } = request;
    const route = { pickup_lat, pickup_lng, dropoff_lat, dropoff_lng };
    const trip = {
      hash,
      offer_hash,
      request_hash,
      ...route,
      fare,
      fare_paid: 0n,
      driver,
      passenger,
      height,
      tx_index,
    };
    this.trips.set(hex(hash), trip);
  }

  #close(id: string, offer_hash: Buffer | null, by: Place): void {
    const request = this.requests.get(id);
    if (request === undefined) return;
    this.requests.delete(id);
    this.closed.push({
      ...request,
      offer_hash,
      closed_height: by.height,
      closed_index: by.tx_index,
      closed_hash: by.hash,
    });
  }

  #end(trip: PlainRow, trip_status: string, by: Place): void {
    this.trips.delete(hex(trip['hash'] ?? null));
    this.ended.push({
      ...trip,
      trip_status,
      ended_height: by.height,
      ended_index: by.tx_index,
      ended_hash: by.hash,
    });
  }
}

function bytes(hash: string | null | undefined): Buffer {
  return Buffer.from((hash ?? '').slice(2), 'hex');
}

function hex(value: Cell): string {
  return Buffer.isBuffer(value) ? `0x${value.toString('hex')}` : '';
}
