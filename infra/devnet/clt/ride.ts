/**
 * The life of a ride. A passenger opens a request; drivers make offers for it; the passenger accepts one, which puts the offer's fare into escrow and closes
 * the request with all its offers; payments release the escrow to the driver, less the referrers' fees, until the fare is paid; before that either party
 * may cancel, which gives the unpaid part back. A request not yet accepted may be cancelled by its passenger.
 */
import type { Call } from '../../../schemas/function-call.ts';
import type { CallContext, CallOutcome, CallRefusalCode, Effect, Refused } from './call-outcome.ts';
import { refused } from './call-outcome.ts';
import { ZERO_ADDRESS } from './parameters.ts';
import type { ActiveTrip, OpenRequest, Write } from './state.ts';
import { write } from './state.ts';

type Decided = CallOutcome | Refused<CallRefusalCode>;

export function decideRequest({ sender, hash }: CallContext, call: Call<'RideRequest'>): Decided {
  const { fare, referrer } = call.arguments;
  if (fare === 0n) return refused('amount_is_zero', 'a ride request needs a fare above zero');
  const request: OpenRequest = { passenger: sender, fare, referrer, offers: [] };
  return {
    to: ZERO_ADDRESS,
    amount: fare,
    debit: 0n,
    effects: [],
    writes: [write('requests', hash, request)],
  };
}

export function decideOffer(
  { view, parameters, sender, hash }: CallContext,
  call: Call<'RideOffer'>,
): Decided {
  const { request_hash, fare, referrer } = call.arguments;
  if (fare === 0n) return refused('amount_is_zero', 'a ride offer needs a fare above zero');
  const request = view.get('requests', request_hash);
  if (request === undefined)
    return refused(
      'request_not_open',
      'the ride request does not exist, was accepted or was cancelled',
    );
  if (request.passenger === sender)
    return refused('not_allowed', 'nobody can offer a ride to themselves');
  if (request.offers.length >= parameters.request_offers_max)
    return refused('too_many_offers', 'the ride request has its limit of offers');
  return {
    to: request.passenger,
    amount: fare,
    debit: 0n,
    effects: [],
    writes: [
      write('offers', hash, { request_hash, driver: sender, fare, referrer }),
      write('requests', request_hash, { ...request, offers: [...request.offers, hash] }),
    ],
  };
}

export function decideAcceptance(
  { view, parameters, sender, hash }: CallContext,
  call: Call<'RideAcceptance'>,
): Decided {
  const offer = view.get('offers', call.arguments.offer_hash);
  const request = offer && view.get('requests', offer.request_hash);
  if (offer === undefined || request === undefined) {
    return refused(
      'offer_not_open',
      'the ride offer does not exist, or its request was accepted or cancelled',
    );
  }
  if (request.passenger !== sender)
    return refused('not_allowed', 'only the passenger of the request can accept its offers');
  const { fare, driver } = offer;
  const trip: ActiveTrip = {
    passenger: sender,
    driver,
    fare,
    paid: 0n,
    request_referrer: request.referrer,
    offer_referrer: offer.referrer,
  };
  return {
    to: driver,
    amount: fare,
    debit: fare,
    effects: [
      { address: sender, kind: 'ride_escrow', delta: -fare, counterparty: parameters.escrow },
      { address: parameters.escrow, kind: 'ride_escrow', delta: fare, counterparty: sender },
    ],
    writes: [...closeRequest(offer.request_hash, request), write('trips', hash, trip)],
  };
}

export function decidePay(
  { view, parameters, sender }: CallContext,
  call: Call<'RidePay'>,
): Decided {
  const { acceptance_hash } = call.arguments;
  if (call.arguments.fare === 0n) return refused('amount_is_zero', 'a payment must be above zero');
  const trip = view.get('trips', acceptance_hash);
  if (trip === undefined)
    return refused('trip_not_active', 'the trip does not exist, is fully paid or was cancelled');
  if (trip.passenger !== sender)
    return refused('not_allowed', 'only the passenger can pay for the trip');
  const due = trip.fare - trip.paid;
  const amount = call.arguments.fare < due ? call.arguments.fare : due;
  const request_referrer_fee =
    trip.request_referrer === null ? 0n : (amount * parameters.request_referrer_bps) / 10_000n;
  const offer_referrer_fee =
    trip.offer_referrer === null ? 0n : (amount * parameters.offer_referrer_bps) / 10_000n;
  const payout = amount - request_referrer_fee - offer_referrer_fee;
  const effects: readonly Effect[] = [
    { address: parameters.escrow, kind: 'ride_pay', delta: -amount, counterparty: trip.driver },
    { address: trip.driver, kind: 'ride_pay', delta: payout, counterparty: sender },
    ...referrerFee(trip.request_referrer, request_referrer_fee, trip.driver),
    ...referrerFee(trip.offer_referrer, offer_referrer_fee, trip.driver),
  ];
  return {
    to: trip.driver,
    amount,
    debit: 0n,
    effects: effects.filter((effect) => effect.delta !== 0n),
    writes: [
      write(
        'trips',
        acceptance_hash,
        amount === due ? undefined : { ...trip, paid: trip.paid + amount },
      ),
    ],
    request_referrer: trip.request_referrer,
    offer_referrer: trip.offer_referrer,
    request_referrer_fee,
    offer_referrer_fee,
  };
}

export function decideCancel(
  { view, parameters, sender }: CallContext,
  call: Call<'RideCancel'>,
): Decided {
  const { acceptance_hash } = call.arguments;
  const trip = view.get('trips', acceptance_hash);
  if (trip === undefined)
    return refused('trip_not_active', 'the trip does not exist, is fully paid or was cancelled');
  if (sender !== trip.passenger && sender !== trip.driver)
    return refused('not_allowed', 'only a party of the trip can cancel it');
  const refund = trip.fare - trip.paid;
  return {
    to: sender === trip.passenger ? trip.driver : trip.passenger,
    amount: refund,
    debit: 0n,
    effects: [
      {
        address: parameters.escrow,
        kind: 'ride_refund',
        delta: -refund,
        counterparty: trip.passenger,
      },
      {
        address: trip.passenger,
        kind: 'ride_refund',
        delta: refund,
        counterparty: parameters.escrow,
      },
    ],
    writes: [write('trips', acceptance_hash, undefined)],
  };
}

export function decideRequestCancel(
  { view, sender }: CallContext,
  call: Call<'RideRequestCancel'>,
): Decided {
  const { request_hash } = call.arguments;
  const request = view.get('requests', request_hash);
  if (request === undefined)
    return refused(
      'request_not_open',
      'the ride request does not exist, was accepted or was cancelled',
    );
  if (request.passenger !== sender)
    return refused('not_allowed', 'only the passenger can cancel the request');
  return {
    to: ZERO_ADDRESS,
    amount: 0n,
    debit: 0n,
    effects: [],
    writes: closeRequest(request_hash, request),
  };
}

function closeRequest(hash: string, request: OpenRequest): readonly Write[] {
  return [
    write('requests', hash, undefined),
    ...request.offers.map((offer) => write('offers', offer, undefined)),
  ];
}

function referrerFee(referrer: string | null, fee: bigint, driver: string): readonly Effect[] {
  return referrer === null
    ? []
    : [{ address: referrer, kind: 'referrer_fee', delta: fee, counterparty: driver }];
}
