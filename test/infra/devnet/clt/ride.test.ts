import { expect, test } from 'vitest';
import type { FunctionCall } from '../../../../schemas/function-call.ts';
import { World } from '../../../support/clt-world.ts';

const FARE = 10_000_003n;
const REQUEST_REFERRER = `0x${'11'.repeat(20)}`;
const OFFER_REFERRER = `0x${'22'.repeat(20)}`;
const NOWHERE = `0x${'ff'.repeat(32)}`;

/** A world, its people and the ride in it. */
class Ride {
  readonly world = new World();
  readonly passenger = this.#person('passengers', 0);
  readonly driver = this.#person('drivers', 0);
  readonly rival = this.#person('drivers', 1);
  readonly stranger = this.#person('passengers', 1);
  request = NOWHERE;
  offer = NOWHERE;
  acceptance = NOWHERE;

  #person(part: 'passengers' | 'drivers', index: number): string {
    return this.world.genesis.cast[part][index]?.address ?? '';
  }

  asks(): this {
    const place = {
      pickup_lat: '52.5',
      pickup_lng: '13.4',
      dropoff_lat: '52.6',
      dropoff_lng: '13.5',
    };
    const args = { ...place, fare: FARE, referrer: REQUEST_REFERRER };
    this.request = this.world.done(this.passenger, {
      function_call_type: 'RideRequest',
      arguments: args,
    });
    return this;
  }

  offers(): this {
    this.offer = this.world.done(this.driver, {
      function_call_type: 'RideOffer',
      arguments: { request_hash: this.request, fare: FARE, referrer: OFFER_REFERRER },
    });
    return this;
  }

  accepts(): this {
    this.acceptance = this.world.done(this.passenger, {
      function_call_type: 'RideAcceptance',
      arguments: { offer_hash: this.offer },
    });
    return this;
  }

  pays(fare: bigint): this {
    this.world.done(this.passenger, {
      function_call_type: 'RidePay',
      arguments: { acceptance_hash: this.acceptance, fare },
    });
    return this;
  }

  cancels(): this {
    this.world.done(this.passenger, {
      function_call_type: 'RideCancel',
      arguments: { acceptance_hash: this.acceptance },
    });
    return this;
  }

  withdraws(): this {
    this.world.done(this.passenger, {
      function_call_type: 'RideRequestCancel',
      arguments: { request_hash: this.request },
    });
    return this;
  }
}

const STATES = {
  nothing: () => new Ride(),
  requested: () => new Ride().asks(),
  withdrawn: () => new Ride().asks().offers().withdraws(),
  offered: () => new Ride().asks().offers(),
  accepted: () => new Ride().asks().offers().accepts(),
  partly_paid: () => new Ride().asks().offers().accepts().pays(3_000_000n),
  completed: () => new Ride().asks().offers().accepts().pays(FARE),
  cancelled: () => new Ride().asks().offers().accepts().pays(1n).cancels(),
};

type Who = 'passenger' | 'driver' | 'rival' | 'stranger';
type Act = (ride: Ride) => readonly [who: Who, call: FunctionCall];

const offer: FunctionCall['function_call_type'] = 'RideOffer';
const ACTS = {
  rival_offers: (ride) => [
    'rival',
    {
      function_call_type: offer,
      arguments: { request_hash: ride.request, fare: FARE, referrer: null },
    },
  ],
  passenger_offers: (ride) => [
    'passenger',
    {
      function_call_type: offer,
      arguments: { request_hash: ride.request, fare: FARE, referrer: null },
    },
  ],
  passenger_accepts: (ride) => [
    'passenger',
    { function_call_type: 'RideAcceptance', arguments: { offer_hash: ride.offer } },
  ],
  driver_accepts: (ride) => [
    'driver',
    { function_call_type: 'RideAcceptance', arguments: { offer_hash: ride.offer } },
  ],
  passenger_pays: (ride) => [
    'passenger',
    {
      function_call_type: 'RidePay',
      arguments: { acceptance_hash: ride.acceptance, fare: 1_000n },
    },
  ],
  driver_pays: (ride) => [
    'driver',
    {
      function_call_type: 'RidePay',
      arguments: { acceptance_hash: ride.acceptance, fare: 1_000n },
    },
  ],
  passenger_cancels: (ride) => [
    'passenger',
    { function_call_type: 'RideCancel', arguments: { acceptance_hash: ride.acceptance } },
  ],
  driver_cancels: (ride) => [
    'driver',
    { function_call_type: 'RideCancel', arguments: { acceptance_hash: ride.acceptance } },
  ],
  stranger_cancels: (ride) => [
    'stranger',
    { function_call_type: 'RideCancel', arguments: { acceptance_hash: ride.acceptance } },
  ],
  passenger_withdraws: (ride) => [
    'passenger',
    { function_call_type: 'RideRequestCancel', arguments: { request_hash: ride.request } },
  ],
  driver_withdraws: (ride) => [
    'driver',
    { function_call_type: 'RideRequestCancel', arguments: { request_hash: ride.request } },
  ],
} as const satisfies Record<string, Act>;

const NO_REQUEST = 'request_not_open';
const NO_OFFER = 'offer_not_open';
const NO_TRIP = 'trip_not_active';

const before_acceptance = {
  passenger_pays: NO_TRIP,
  driver_pays: NO_TRIP,
  passenger_cancels: NO_TRIP,
  driver_cancels: NO_TRIP,
  stranger_cancels: NO_TRIP,
} as const;
const no_request = {
  rival_offers: NO_REQUEST,
  passenger_offers: NO_REQUEST,
  passenger_withdraws: NO_REQUEST,
  driver_withdraws: NO_REQUEST,
} as const;
const no_offer = { passenger_accepts: NO_OFFER, driver_accepts: NO_OFFER } as const;
const request_open = {
  rival_offers: 'done',
  passenger_offers: 'not_allowed',
  passenger_withdraws: 'done',
  driver_withdraws: 'not_allowed',
} as const;
const trip_active = {
  passenger_pays: 'done',
  driver_pays: 'not_allowed',
  passenger_cancels: 'done',
  driver_cancels: 'done',
  stranger_cancels: 'not_allowed',
} as const;

const TABLE: Readonly<Record<keyof typeof STATES, Readonly<Record<keyof typeof ACTS, string>>>> = {
  nothing: { ...no_request, ...no_offer, ...before_acceptance },
  requested: { ...request_open, ...no_offer, ...before_acceptance },
  withdrawn: { ...no_request, ...no_offer, ...before_acceptance },
  offered: {
    ...request_open,
    passenger_accepts: 'done',
    driver_accepts: 'not_allowed',
    ...before_acceptance,
  },
  accepted: { ...no_request, ...no_offer, ...trip_active },
  partly_paid: { ...no_request, ...no_offer, ...trip_active },
  completed: { ...no_request, ...no_offer, ...before_acceptance },
  cancelled: { ...no_request, ...no_offer, ...before_acceptance },
};

const cells = Object.entries(TABLE).flatMap(([state, row]) =>
  Object.entries(row).map(([act, expected]) => ({ state, act, expected })),
);

test.each(cells)('in a ride that is $state, $act: $expected', ({ state, act, expected }) => {
  const ride = Object.entries(STATES).find(([name]) => name === state)?.[1]() ?? new Ride();
  const [who, call] = Object.entries<Act>(ACTS).find(([name]) => name === act)?.[1](ride) ?? [
    'stranger',
    transferNothing(),
  ];
  const before = ride.world.state.rowsBefore([]);
  const result = ride.world.act(ride[who], call);
  expect('refused' in result ? result.refused : 'done').toBe(expected);
  if (expected === 'done') expect(ride.world.state.rows).not.toEqual(before);
  else expect(ride.world.state.rows).toEqual(before);
});

function transferNothing(): FunctionCall {
  return { function_call_type: 'Transfer', arguments: { to: NOWHERE.slice(0, 42), amount: 0n } };
}

test("acceptance moves the offer's fare into escrow and charges no fee", () => {
  const ride = STATES.offered();
  const { world } = ride;
  const { escrow } = world.genesis.parameters;
  const before = world.balance(ride.passenger);
  ride.accepts();
  expect(world.balance(ride.passenger)).toBe(before - FARE);
  expect(world.balance(escrow)).toBe(FARE);
});

test('a payment moves escrow to the driver less referrer fees, capped at the amount due', () => {
  const ride = STATES.accepted();
  const { world } = ride;
  const { escrow, tx_fee } = world.genesis.parameters;
  const before = { driver: world.balance(ride.driver), passenger: world.balance(ride.passenger) };
  const pay = (fare: bigint): FunctionCall => ({
    function_call_type: 'RidePay',
    arguments: { acceptance_hash: ride.acceptance, fare },
  });
  expect(world.act(ride.passenger, pay(3_333_333n))).toMatchObject({
    outcome: {
      to: ride.driver,
      amount: 3_333_333n,
      request_referrer: REQUEST_REFERRER,
      offer_referrer: OFFER_REFERRER,
      request_referrer_fee: 33_333n,
      offer_referrer_fee: 16_666n,
    },
  });
  expect(world.balance(escrow)).toBe(FARE - 3_333_333n);
  expect(world.act(ride.passenger, pay(1n << 200n))).toMatchObject({
    outcome: { amount: FARE - 3_333_333n },
  });
  expect(world.balance(escrow)).toBe(0n);
  const fees = world.balance(REQUEST_REFERRER) + world.balance(OFFER_REFERRER);
  expect(world.balance(REQUEST_REFERRER)).toBe(33_333n + 66_666n);
  expect(world.balance(ride.driver)).toBe(before.driver + FARE - fees);
  expect(world.balance(ride.passenger)).toBe(before.passenger - 2n * tx_fee);
  expect(world.act(ride.passenger, pay(1n))).toMatchObject({ refused: 'trip_not_active' });
});

test.each(['passenger', 'driver'] as const)(
  'a cancel by the %s refunds the unpaid part to the passenger',
  (who) => {
    const ride = STATES.partly_paid();
    const { world } = ride;
    const before = world.balance(ride.passenger);
    const result = world.act(ride[who], {
      function_call_type: 'RideCancel',
      arguments: { acceptance_hash: ride.acceptance },
    });
    expect(result).toMatchObject({
      outcome: {
        amount: FARE - 3_000_000n,
        to: who === 'passenger' ? ride.driver : ride.passenger,
      },
    });
    expect(world.balance(ride.passenger)).toBe(
      before + FARE - 3_000_000n - (who === 'passenger' ? world.genesis.parameters.tx_fee : 0n),
    );
    expect(world.balance(world.genesis.parameters.escrow)).toBe(0n);
  },
);

test('closing a request removes all its offers', () => {
  const ride = STATES.offered();
  ride.world.done(ride.rival, {
    function_call_type: 'RideOffer',
    arguments: { request_hash: ride.request, fare: 1n, referrer: null },
  });
  expect(ride.world.state.rows.offers.size).toBe(2);
  ride.accepts();
  expect(ride.world.state.rows.offers.size).toBe(0);
  expect(ride.world.state.rows.requests.size).toBe(0);
});

test('offers beyond the limit of a request are refused', () => {
  const ride = STATES.requested();
  const { request_offers_max } = ride.world.genesis.parameters;
  const bid: FunctionCall = {
    function_call_type: 'RideOffer',
    arguments: { request_hash: ride.request, fare: 1n, referrer: null },
  };
  for (let made = 0; made < request_offers_max; made++) ride.world.done(ride.driver, bid);
  expect(ride.world.act(ride.rival, bid)).toMatchObject({ refused: 'too_many_offers' });
});

test('an acceptance that the passenger cannot afford is refused', () => {
  const ride = STATES.offered();
  const { passenger, stranger, world } = ride;
  const all = world.balance(passenger) - world.genesis.parameters.tx_fee;
  world.done(passenger, {
    function_call_type: 'Transfer',
    arguments: { to: stranger, amount: all - FARE + 1n },
  });
  const accept: FunctionCall = {
    function_call_type: 'RideAcceptance',
    arguments: { offer_hash: ride.offer },
  };
  expect(world.act(passenger, accept)).toMatchObject({ refused: 'insufficient_balance' });
  world.done(stranger, {
    function_call_type: 'Transfer',
    arguments: { to: passenger, amount: 1n },
  });
  expect(world.act(passenger, accept)).toHaveProperty('effects');
});
