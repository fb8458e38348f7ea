/** The ride market while a batch is folded: takes the steps of blocks, and takes blocks back. */
import type { BlockAppended } from '../../schemas/chain.blocks/events.ts';
import type { Changes, Loaded } from '../contract/projection.ts';
import { ENDED_TRIPS, offersFor, REQUESTS, requestsAt, TRIPS, tripsOf } from './change-keys.ts';
import { Draft } from './draft.ts';
import type { BlockUndo } from './journal.ts';
import type { ActiveTripRow, EndedTripRow } from './records.ts';
import { evolve as evolveRequest, NO_REQUEST, type Request, type RequestStep } from './request.ts';
import { rideSteps, type Place, type RideOffer, type RideStep } from './ride-step.ts';
import { evolve as evolveTrip, NO_TRIP, type Trip, type TripStep } from './trip.ts';

export class Market {
  readonly #draft = new Draft();
  /** the lists that the batch has changed */
  readonly announced = new Set<string>();
  /** those that the block at hand has */
  #areas = new Set<string>();

  constructor(loaded: Loaded) {
    this.#draft.load('open_requests', loaded['open_requests'] ?? []);
    this.#draft.load('open_requests', loaded['requests_of_offers'] ?? []);
    this.#draft.load('offers', loaded['offers'] ?? []);
    this.#draft.load('active_trips', loaded['active_trips'] ?? []);
  }

  /** Puts a block on top; what takes it back. */
  append(block: BlockAppended): BlockUndo {
    this.#areas = new Set();
    for (const step of rideSteps(block)) this.#take(step);
    const areas = [...this.#areas];
    for (const area of areas) this.announced.add(area);
    return { rows: this.#draft.seal(), areas };
  }

  /** Takes the newest block back. */
  revert({ rows, areas }: BlockUndo): void {
    this.#draft.undo(rows);
    for (const area of areas) this.announced.add(area);
  }

  changes(): Omit<Changes, 'cuts'> {
    return this.#draft.changes();
  }

  #take(step: RideStep): void {
    switch (step.step) {
      case 'requested':
        return this.#evolveRequest(step.request.hash, step);
      case 'offered':
        return this.#offer(step.offer);
      case 'accepted':
        return this.#accept(step);
      case 'request_cancelled':
        return this.#evolveRequest(step.request_hash, step);
      case 'paid':
      case 'cancelled':
        return this.#evolveTrip(step.trip_hash, step);
    }
  }

  #offer(offer: RideOffer): void {
    if (this.#request(offer.request_hash).status !== 'open') return;
    this.#draft.put('offers', offer);
    this.#areas.add(offersFor(offer.request_hash));
  }

  #accept(step: {
    readonly step: 'accepted';
    readonly hash: Buffer;
    readonly offer_hash: Buffer;
    readonly at: Place;
  }): void {
    const offer = this.#draft.get('offers', step.offer_hash);
    const state = offer === undefined ? NO_REQUEST : this.#request(offer.request_hash);
    if (offer === undefined || state.status !== 'open') return;
    const { passenger, pickup_lat, pickup_lng, dropoff_lat, dropoff_lng } = state.request;
    this.#evolveRequest(offer.request_hash, step);
    const { request_hash, fare, driver } = offer;
    const route = { pickup_lat, pickup_lng, dropoff_lat, dropoff_lng };
    const terms = {
      hash: step.hash,
      offer_hash: step.offer_hash,
      request_hash,
      ...route,
      fare,
      driver,
      passenger,
      ...step.at,
    };
    this.#evolveTrip(step.hash, { step: 'begun', terms });
  }

  /** One that was closed in an earlier batch counts as absent: nothing can happen to it either. */
  #request(hash: Buffer): Request {
    const open = this.#draft.get('open_requests', hash);
    return open === undefined ? NO_REQUEST : { status: 'open', request: open };
  }

  #evolveRequest(hash: Buffer, step: RequestStep): void {
    const before = this.#request(hash);
    const after = evolveRequest(before, step);
    if (after === before || after.status === 'absent') return;
    const { request } = after;
    this.#areas.add(REQUESTS).add(requestsAt({ lat: request.pickup_lat, lng: request.pickup_lng }));
    if (after.status === 'open') return this.#draft.put('open_requests', request);
    this.#areas.add(offersFor(hash));
    this.#draft.remove('open_requests', hash);
    const { height, tx_index } = after.closed;
    const offer_hash = after.status === 'accepted' ? after.offer_hash : null;
    this.#draft.put('closed_requests', {
      ...request,
      offer_hash,
      closed_height: height,
      closed_index: tx_index,
    });
  }

  /** As with requests, one that ended in an earlier batch counts as absent. */
  #trip(hash: Buffer): Trip {
    const active = this.#draft.get('active_trips', hash);
    if (active === undefined) return NO_TRIP;
    const { fare_paid, ...terms } = active;
    return { status: 'active', terms, fare_paid };
  }

  #evolveTrip(hash: Buffer, step: TripStep): void {
    const before = this.#trip(hash);
    const after = evolveTrip(before, step);
    if (after === before || after.status === 'absent') return;
    const { terms, fare_paid } = after;
    const row: ActiveTripRow = { ...terms, fare_paid };
    this.#announceTrip(TRIPS, row);
    if (after.status === 'active') return this.#draft.put('active_trips', row);
    this.#announceTrip(ENDED_TRIPS, row);
    const { height, tx_index } = after.ended;
    const ended: EndedTripRow = {
      ...row,
      trip_status: after.status,
      ended_height: height,
      ended_index: tx_index,
    };
    this.#draft.remove('active_trips', hash);
    this.#draft.put('ended_trips', ended);
  }

  #announceTrip(
    area: typeof TRIPS | typeof ENDED_TRIPS,
    { driver, passenger }: ActiveTripRow,
  ): void {
    this.#areas.add(area).add(tripsOf(area, driver)).add(tripsOf(area, passenger));
  }
}
