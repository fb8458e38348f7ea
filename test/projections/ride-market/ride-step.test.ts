import { expect, test } from 'vitest';
import { hashArgument, rideSteps } from '../../../projections/ride-market/ride-step.ts';
import { toHex } from '../../../schemas/address.ts';
import type { BlockTransaction } from '../../../schemas/chain.blocks/events.ts';
import { ChainByHand, named, type EffectByHand } from '../../support/chain-by-hand.ts';

const [ALICE, DAVE, ESCROW] = [named('alice'), named('dave'), named('escrow')];
const HASH = named('what is meant', 32);
const TRIP = { acceptance_hash: toHex(HASH) };
const REQUEST = {
  pickup_lat: '52.5',
  pickup_lng: '13.4',
  dropoff_lat: '-52.6',
  dropoff_lng: '180',
  fare: '10000000',
  referrer: null,
};

type Arguments = BlockTransaction['arguments'];

function stepsOf(
  type: string,
  given: Arguments,
  effects: readonly EffectByHand[] = [],
): ReturnType<typeof rideSteps> {
  const transaction = { from: ALICE, to: DAVE, function_call_type: type, arguments: given };
  return rideSteps(new ChainByHand().append({ transactions: [transaction], effects }));
}

test("a payment's amount is the balance effect on the escrow", () => {
  const effects: EffectByHand[] = [
    { address: ESCROW, kind: 'ride_pay', delta: -60n, tx_index: 0 },
    { address: ESCROW, kind: 'ride_pay', delta: -10n, tx_index: 0 },
    { address: DAVE, kind: 'ride_pay', delta: 60n, tx_index: 0 },
    { address: ALICE, kind: 'referrer_fee', delta: 10n, tx_index: 0 },
    { address: ALICE, kind: 'tx_fee_paid', delta: -1_000n, tx_index: 0 },
    { address: ESCROW, kind: 'ride_pay', delta: -5n, tx_index: 1 },
    { address: ESCROW, kind: 'ride_pay', delta: -9n, tx_index: null },
  ];
  expect(stepsOf('RidePay', { ...TRIP, fare: '1000' }, effects)).toMatchObject([
    { step: 'paid', trip_hash: HASH, amount: 70n },
  ]);
  expect(stepsOf('RidePay', { ...TRIP, fare: '1000' })).toMatchObject([
    { step: 'paid', amount: 0n },
  ]);
});

test('every ride call is one step with its chain position', () => {
  const at = { height: 0, tx_index: 0 };
  expect(stepsOf('RideRequest', REQUEST)).toMatchObject([
    {
      step: 'requested',
      request: {
        passenger: ALICE,
        pickup_lng: '13.4',
        dropoff_lng: '180',
        fare: 10_000_000n,
        referrer: null,
        ...at,
      },
    },
  ]);
  expect(
    stepsOf('RideOffer', { request_hash: toHex(HASH), fare: '7', referrer: null }),
  ).toMatchObject([
    { step: 'offered', offer: { request_hash: HASH, driver: ALICE, fare: 7n, ...at } },
  ]);
  expect(stepsOf('RideAcceptance', { offer_hash: toHex(HASH) })).toMatchObject([
    { step: 'accepted', offer_hash: HASH, at },
  ]);
  const hash: Buffer = expect.any(Buffer);
  expect(stepsOf('RideRequestCancel', { request_hash: toHex(HASH) })).toEqual([
    { step: 'request_cancelled', hash, request_hash: HASH, at },
  ]);
  expect(stepsOf('RideCancel', TRIP)).toEqual([{ step: 'cancelled', hash, trip_hash: HASH, at }]);
});

test.each(['Transfer', 'Mint', 'Burn', 'Ride', 'ridepay', '', '__proto__', 'constructor'])(
  'a call of type "%s" is no step',
  (type) => {
    expect(
      stepsOf(type, { ...REQUEST, ...TRIP, request_hash: toHex(HASH), offer_hash: toHex(HASH) }),
    ).toEqual([]);
  },
);

const UNREADABLE: readonly (readonly [type: string, given: Arguments])[] = [
  ['RideRequest', {}],
  ['RideRequest', { ...REQUEST, fare: null }],
  ['RideRequest', { ...REQUEST, fare: '-1' }],
  ['RideRequest', { ...REQUEST, fare: (1n << 256n).toString() }],
  ['RideRequest', { ...REQUEST, pickup_lat: null }],
  ['RideRequest', { ...REQUEST, pickup_lat: '90.1' }],
  ['RideRequest', { ...REQUEST, pickup_lng: '-180.5' }],
  ['RideRequest', { ...REQUEST, pickup_lng: 'NaN' }],
  ['RideRequest', { ...REQUEST, pickup_lng: 'Infinity' }],
  ['RideRequest', { ...REQUEST, dropoff_lat: '1e1' }],
  ['RideRequest', { ...REQUEST, dropoff_lng: '' }],
  ['RideRequest', { ...REQUEST, dropoff_lng: `1.${'0'.repeat(31)}` }],
  ['RideOffer', { request_hash: toHex(HASH), fare: '1.5' }],
  ['RideOffer', { request_hash: 'request', fare: '1' }],
  ['RideAcceptance', { offer_hash: null }],
  ['RideRequestCancel', {}],
  ['RidePay', { acceptance_hash: `${toHex(HASH)}00` }],
  ['RideCancel', { offer_hash: toHex(HASH) }],
];

test.each(UNREADABLE)('%s whose arguments cannot be read is no step: %o', (type, given) => {
  expect(stepsOf(type, given)).toEqual([]);
});

test('hashArgument returns the hash that a step names', () => {
  const type = 'RideAcceptance';
  const { transactions } = new ChainByHand().append({
    transactions: [
      { from: ALICE, to: DAVE, function_call_type: type, arguments: { offer_hash: toHex(HASH) } },
    ],
  });
  expect(transactions.map(hashArgument)).toEqual([HASH]);
});
