/**
 * The effects of each call, decided before any state changes.
 *
 * A ride: a passenger opens a request, and drivers make offers for it. Accepting an offer moves its
 * fare into escrow and closes the request with all its offers. Payments move the escrow to the
 * driver, less the referrers' fees, until the fare is paid. Before that either party may cancel,
 * which refunds the unpaid part. The passenger may cancel an open request.
 */
import type { NodeBlock } from '../../../schemas/chain-node.ts';
import type { Call, FunctionCall } from '../../../schemas/function-call.ts';
import { AMOUNT_MAX } from '../../../schemas/money.ts';
import {
  SUPPLY,
  ZERO_ADDRESS,
  write,
  type ActiveTrip,
  type OpenRequest,
  type Parameters,
  type StateReader,
  type Write,
} from './state.ts';

export type EffectKind = NodeBlock['balance_effects'][number]['kind'];

export interface Effect {
  readonly address: string;
  readonly kind: EffectKind;
  /** base units, signed, never zero */
  readonly delta: bigint;
  readonly counterparty: string | null;
}

interface CallContext {
  readonly state: StateReader;
  readonly parameters: Parameters;
  /** the signer */
  readonly sender: string;
  /** of the transaction; also the key of a row that the call creates */
  readonly hash: string;
}

export interface CallOutcome {
  readonly to: string;
  readonly amount: bigint;
  /** base units that the call takes from the sender, without the fee */
  readonly debit: bigint;
  readonly effects: readonly Effect[];
  readonly writes: readonly Write[];
  readonly request_referrer?: string | null;
  readonly offer_referrer?: string | null;
  readonly request_referrer_fee?: bigint;
  readonly offer_referrer_fee?: bigint;
}

export type CallRefusalCode =
  | 'amount_is_zero'
  | 'supply_overflow'
  | 'not_allowed'
  | 'request_not_open'
  | 'offer_not_open'
  | 'trip_not_active'
  | 'too_many_offers';

export type Refused<Code extends string> = { readonly refused: Code; readonly message: string };

export function refused<Code extends string>(code: Code, message: string): Refused<Code> {
  return { refused: code, message };
}

type Decision = CallOutcome | Refused<CallRefusalCode>;

export function decideCall(context: CallContext, call: FunctionCall): Decision {
  switch (call.function_call_type) {
    case 'RideRequest':
      return decideRequest(context, call);
    case 'RideOffer':
      return decideOffer(context, call);
    case 'RideAcceptance':
      return decideAcceptance(context, call);
    case 'RidePay':
      return decidePay(context, call);
    case 'RideCancel':
      return decideCancel(context, call);
    case 'RideRequestCancel':
      return decideRequestCancel(context, call);
    case 'Mint':
      return decideMint(context, call);
    case 'Transfer':
      return decideTransfer(context, call);
    case 'Burn':
      return decideBurn(context, call);
  }
}

function decideMint({ state, parameters, sender }: CallContext, call: Call<'Mint'>): Decision {
  const { to, amount } = call.arguments;
  if (sender !== parameters.mint_authority)
    return refused('not_allowed', 'only the mint authority can mint');
  if (amount === 0n) return refused('amount_is_zero', 'a mint must be above zero');
  const supply = (state.get('supply', SUPPLY) ?? 0n) + amount;
  if (supply > AMOUNT_MAX) return refused('supply_overflow', 'the supply would pass 2^256 - 1');
  return {
    to,
    amount,
    debit: 0n,
    effects: [{ address: to, kind: 'mint', delta: amount, counterparty: sender }],
    writes: [write('supply', SUPPLY, supply)],
  };
}

function decideTransfer({ sender }: CallContext, call: Call<'Transfer'>): Decision {
  const { to, amount } = call.arguments;
  if (amount === 0n) return refused('amount_is_zero', 'a transfer must be above zero');
  return {
    to,
    amount,
    debit: amount,
    effects: payment(sender, to, amount, 'transfer_out', 'transfer_in'),
    writes: [],
  };
}

function decideBurn({ state, sender }: CallContext, call: Call<'Burn'>): Decision {
  const { amount } = call.arguments;
  if (amount === 0n) return refused('amount_is_zero', 'a burn must be above zero');
  return {
    to: ZERO_ADDRESS,
    amount,
    debit: amount,
    effects: [{ address: sender, kind: 'burn', delta: -amount, counterparty: null }],
    writes: [write('supply', SUPPLY, (state.get('supply', SUPPLY) ?? 0n) - amount)],
  };
}

const REQUEST_NOT_OPEN = refused(
  'request_not_open',
  'the ride request does not exist, was accepted or was cancelled',
);
const TRIP_NOT_ACTIVE = refused(
  'trip_not_active',
  'the trip does not exist, is fully paid or was cancelled',
);

function decideRequest({ sender, hash }: CallContext, call: Call<'RideRequest'>): Decision {
  const { fare, referrer } = call.arguments;
  if (fare === 0n) return refused('amount_is_zero', 'a ride request needs a fare above zero');
  const request: OpenRequest = { passenger: sender, fare, referrer, offers: [] };
  return withoutEffects(ZERO_ADDRESS, fare, [write('requests', hash, request)]);
}

function decideOffer(
  { state, parameters, sender, hash }: CallContext,
  call: Call<'RideOffer'>,
): Decision {
  const { request_hash, fare, referrer } = call.arguments;
  if (fare === 0n) return refused('amount_is_zero', 'a ride offer needs a fare above zero');
  const request = state.get('requests', request_hash);
  if (request === undefined) return REQUEST_NOT_OPEN;
  if (request.passenger === sender)
    return refused('not_allowed', 'a passenger cannot offer a ride to themselves');
  if (request.offers.length >= parameters.request_offers_max)
    return refused('too_many_offers', 'the ride request has reached its limit of offers');
  return withoutEffects(request.passenger, fare, [
    write('offers', hash, { request_hash, driver: sender, fare, referrer }),
    write('requests', request_hash, { ...request, offers: [...request.offers, hash] }),
  ]);
}

function decideAcceptance(
  { state, parameters, sender, hash }: CallContext,
  call: Call<'RideAcceptance'>,
): Decision {
  const offer = state.get('offers', call.arguments.offer_hash);
  const request = offer && state.get('requests', offer.request_hash);
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
    effects: payment(sender, parameters.escrow, fare, 'ride_escrow'),
    writes: [...closeRequest(offer.request_hash, request), write('trips', hash, trip)],
  };
}

function decidePay({ state, parameters, sender }: CallContext, call: Call<'RidePay'>): Decision {
  const { acceptance_hash } = call.arguments;
  if (call.arguments.fare === 0n) return refused('amount_is_zero', 'a payment must be above zero');
  const trip = state.get('trips', acceptance_hash);
  if (trip === undefined) return TRIP_NOT_ACTIVE;
  if (trip.passenger !== sender)
    return refused('not_allowed', 'only the passenger can pay for the trip');
  const due = trip.fare - trip.paid;
  const amount = call.arguments.fare < due ? call.arguments.fare : due;
  const request_referrer_fee =
    trip.request_referrer === null ? 0n : (amount * parameters.request_referrer_bps) / 10_000n;
  const offer_referrer_fee =
    trip.offer_referrer === null ? 0n : (amount * parameters.offer_referrer_bps) / 10_000n;
  const payout = amount - request_referrer_fee - offer_referrer_fee;
  const rest = amount === due ? undefined : { ...trip, paid: trip.paid + amount };
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
    writes: [write('trips', acceptance_hash, rest)],
    request_referrer: trip.request_referrer,
    offer_referrer: trip.offer_referrer,
    request_referrer_fee,
    offer_referrer_fee,
  };
}

function decideCancel(
  { state, parameters, sender }: CallContext,
  call: Call<'RideCancel'>,
): Decision {
  const { acceptance_hash } = call.arguments;
  const trip = state.get('trips', acceptance_hash);
  if (trip === undefined) return TRIP_NOT_ACTIVE;
  if (sender !== trip.passenger && sender !== trip.driver)
    return refused('not_allowed', 'only a party of the trip can cancel it');
  const refund = trip.fare - trip.paid;
  return {
    to: sender === trip.passenger ? trip.driver : trip.passenger,
    amount: refund,
    debit: 0n,
    effects: payment(parameters.escrow, trip.passenger, refund, 'ride_refund'),
    writes: [write('trips', acceptance_hash, undefined)],
  };
}

function decideRequestCancel(
  { state, sender }: CallContext,
  call: Call<'RideRequestCancel'>,
): Decision {
  const { request_hash } = call.arguments;
  const request = state.get('requests', request_hash);
  if (request === undefined) return REQUEST_NOT_OPEN;
  if (request.passenger !== sender)
    return refused('not_allowed', 'only the passenger can cancel the request');
  return withoutEffects(ZERO_ADDRESS, 0n, closeRequest(request_hash, request));
}

function payment(
  from: string,
  to: string,
  amount: bigint,
  paid: EffectKind,
  received = paid,
): readonly Effect[] {
  return [
    { address: from, kind: paid, delta: -amount, counterparty: to },
    { address: to, kind: received, delta: amount, counterparty: from },
  ];
}

function withoutEffects(to: string, amount: bigint, writes: readonly Write[]): CallOutcome {
  return { to, amount, debit: 0n, effects: [], writes };
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
