/** The ride market while a batch is folded: applies the steps of blocks, and reverts blocks. */
import type { BlockAppended } from '../../schemas/chain.blocks/events.ts';
import type { Changes, Loaded } from '../contract/projection.ts';
import {
  ENDED_TRIPS_KEY,
  offersKey,
  partyKey,
  pickupKey,
  REQUESTS_KEY,
  TRIPS_KEY,
  type TripsKey,
} from './change-keys.ts';
import type { ActiveTripRow } from './records.ts';
import { evolve as evolveRequest, NO_REQUEST, type Request, type RequestStep } from './request.ts';
import { rideSteps, type RideOffer, type RideStep } from './ride-step.ts';
import { evolve as evolveTrip, NO_TRIP, type Trip, type TripStep } from './trip.ts';
import type { BlockUndo } from './undo-text.ts';
import { UnitOfWork } from './unit-of-work.ts';

export class Market {
  readonly #work = new UnitOfWork();
  /** change keys of the batch */
  readonly change_keys = new Set<string>();
  /** change keys of the current block */
  #blockKeys = new Set<string>();

  constructor(loaded: Loaded) {
    this.#work.load('open_requests', loaded['open_requests']);
    this.#work.load('open_requests', loaded['requests_of_offers']);
    this.#work.load('offers', loaded['offers']);
    this.#work.load('active_trips', loaded['active_trips']);
  }

  /** Applies a block and returns what reverts it. */
  append(block: BlockAppended): BlockUndo {
    this.#blockKeys = new Set();
    for (const step of rideSteps(block)) this.#apply(step);
    const change_keys = [...this.#blockKeys];
    for (const key of change_keys) this.change_keys.add(key);
    return { rows: this.#work.endBlock(), change_keys };
  }

  /** Reverts the newest block. */
  revert({ rows, change_keys }: BlockUndo): void {
    this.#work.undo(rows);
    for (const key of change_keys) this.change_keys.add(key);
  }

  changes(): Omit<Changes, 'cuts'> {
    return this.#work.changes();
  }

  #apply(step: RideStep): void {
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
    this.#work.put('offers', offer);
    this.#blockKeys.add(offersKey(offer.request_hash));
  }

  #accept(step: Extract<RideStep, { step: 'accepted' }>): void {
    const offer = this.#work.get('offers', step.offer_hash);
    const state = offer === undefined ? NO_REQUEST : this.#request(offer.request_hash);
    if (offer === undefined || state.status !== 'open') return;
    const { passenger, pickup_lat, pickup_lng, dropoff_lat, dropoff_lng } = state.request;
    this.#evolveRequest(offer.request_hash, step);
    const { request_hash, fare, driver } = offer;
    const terms = {
      hash: step.hash,
      offer_hash: step.offer_hash,
      request_hash,
      pickup_lat,
      pickup_lng,
      dropoff_lat,
      dropoff_lng,
      fare,
      driver,
      passenger,
      ...step.at,
    };
    this.#evolveTrip(step.hash, { step: 'begun', terms });
  }

  /** A request closed in an earlier batch counts as absent: no step fits either. */
  #request(hash: Buffer): Request {
    const open = this.#work.get('open_requests', hash);
    return open === undefined ? NO_REQUEST : { status: 'open', request: open };
  }

  #evolveRequest(hash: Buffer, step: RequestStep): void {
    const before = this.#request(hash);
    const after = evolveRequest(before, step);
    if (after === before || after.status === 'absent') return;
    const { request } = after;
    const pickup = { lat: request.pickup_lat, lng: request.pickup_lng };
    this.#blockKeys.add(REQUESTS_KEY).add(pickupKey(pickup));
    if (after.status === 'open') return this.#work.put('open_requests', request);
    this.#blockKeys.add(offersKey(hash));
    this.#work.remove('open_requests', hash);
    this.#work.put('closed_requests', {
      ...request,
      offer_hash: after.status === 'accepted' ? after.offer_hash : null,
      closed_height: after.closed.height,
      closed_index: after.closed.tx_index,
      closed_hash: after.closed_hash,
    });
  }

  /** A trip that ended in an earlier batch counts as absent, as a closed request does. */
  #trip(hash: Buffer): Trip {
    const active = this.#work.get('active_trips', hash);
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
    this.#addTripKeys(TRIPS_KEY, row);
    if (step.step === 'paid')
      this.#work.put('payments', {
        hash: step.hash,
        trip_hash: hash,
        amount: step.amount,
        ...step.at,
      });
    if (after.status === 'active') return this.#work.put('active_trips', row);
    this.#addTripKeys(ENDED_TRIPS_KEY, row);
    this.#work.remove('active_trips', hash);
    this.#work.put('ended_trips', {
      ...row,
      trip_status: after.status,
      ended_height: after.ended.height,
      ended_index: after.ended.tx_index,
      ended_hash: after.ended_hash,
    });
  }

  #addTripKeys(list: TripsKey, { driver, passenger }: ActiveTripRow): void {
    this.#blockKeys.add(list).add(partyKey(list, driver)).add(partyKey(list, passenger));
  }
}
