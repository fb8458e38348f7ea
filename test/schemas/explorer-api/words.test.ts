import { expect, test } from 'vitest';
import { FUNCTION_CALL_TYPES } from '../../../schemas/function-call.ts';
import {
  blockTitle,
  plainText,
  sentenceOf,
  titleOf,
  transactionTitle,
  type KnownRide,
} from '../../../schemas/explorer-api/words.ts';

const RIDER = `0xa074${'1'.repeat(36)}`;
const DRIVER = `0xd49a${'2'.repeat(36)}`;
const OTHER = `0xeeee${'3'.repeat(36)}`;
const ZERO = `0x${'0'.repeat(40)}`;
const [R, D] = ['0xa07411…111111', '0xd49a22…222222'];

const PAID = [
  { step: 'requested', tx_hash: '0xr', amount: '30000000' },
  { step: 'offered', tx_hash: '0xo', amount: '27220000' },
  { step: 'accepted', tx_hash: '0xa', amount: '27220000' },
  { step: 'paid', tx_hash: '0xp1', amount: '7000000' },
  { step: 'paid', tx_hash: '0xp2', amount: '20220000' },
];

function ride(status: KnownRide['status'], changed: Partial<KnownRide> = {}): KnownRide {
  return {
    status,
    fare: '27220000',
    fare_paid: '0',
    passenger: RIDER,
    driver: DRIVER,
    steps: PAID,
    ...changed,
  };
}

function said(type: string, from: string, to: string, amount: string, of?: KnownRide, hash = '') {
  return plainText(sentenceOf({ hash, function_call_type: type, from, to, amount }, of));
}

const OPEN = ride('open', { driver: null, fare: '30000000', steps: PAID.slice(0, 1) });
const WITHDRAWN = ride('withdrawn', { driver: null, fare: '30000000' });

test.each([
  ['Transfer', RIDER, DRIVER, '5000000', `${R} sent 5.00 CLT to ${D}.`],
  ['Transfer', RIDER, RIDER, '1', `${R} sent 0.000001 CLT to itself.`],
  ['Mint', RIDER, DRIVER, `${2n ** 64n}`, `${R} minted 18,446,744,073,709.551616 CLT for ${D}.`],
  ['Burn', RIDER, ZERO, '5000000', `${R} burned 5.00 CLT.`],
  ['RideRequest', RIDER, ZERO, '30000000', `Passenger ${R} asked for a ride at 30.00 CLT.`],
  [
    'RideOffer',
    DRIVER,
    RIDER,
    '27220000',
    `Driver ${D} offered passenger ${R} a ride at 27.22 CLT.`,
  ],
  [
    'RideAcceptance',
    RIDER,
    DRIVER,
    '27220000',
    `Passenger ${R} accepted the offer of driver ${D} at 27.22 CLT.`,
  ],
  ['RidePay', RIDER, DRIVER, '27220000', `Passenger ${R} paid 27.22 CLT to driver ${D}.`],
  ['RideCancel', DRIVER, RIDER, '9000000', `${D} cancelled the ride with ${R}.`],
  ['RideRequestCancel', RIDER, ZERO, '0', `Passenger ${R} withdrew a request for a ride.`],
  ['Odd', RIDER, DRIVER, '5000000', `${R} sent ${D} the call “Odd” with 5.00 CLT.`],
])('a %s alone says what its row shows', (type, from, to, amount, sentence) => {
  expect(said(type, from, to, amount)).toBe(sentence);
});

test.each([
  ['open', OPEN, 'no offer is accepted yet'],
  ['withdrawn', WITHDRAWN, 'the request was withdrawn'],
  ['active', ride('active'), 'the ride is under way'],
  ['completed', ride('completed'), 'the ride is complete'],
  ['cancelled', ride('cancelled'), 'the ride was cancelled'],
])('request, offer and acceptance of a ride that is %s say so', (_status, of, state) => {
  expect(said('RideRequest', RIDER, ZERO, '30000000', of)).toBe(
    `Passenger ${R} asked for a ride at 30.00 CLT; ${state}.`,
  );
  expect(said('RideOffer', DRIVER, RIDER, '27220000', of)).toBe(
    `Driver ${D} offered passenger ${R} a ride at 27.22 CLT; ${state}.`,
  );
  expect(said('RideAcceptance', RIDER, DRIVER, '27220000', of)).toBe(
    `Passenger ${R} accepted the offer of driver ${D} at 27.22 CLT; ${state}.`,
  );
});

test('the offer of a driver whom the passenger did not take says so', () => {
  expect(said('RideOffer', OTHER, RIDER, '26000000', ride('completed'))).toMatch(
    /a ride at 26\.00 CLT; the passenger accepted another offer\.$/,
  );
});

test('an offer at another fare than that of the ride says that another one was accepted', () => {
  expect(said('RideOffer', DRIVER, RIDER, '26000000', ride('completed'))).toMatch(
    /a ride at 26\.00 CLT; the passenger accepted another offer\.$/,
  );
});

function paid(hash: string, amount: string, of: KnownRide): string {
  return said('RidePay', RIDER, DRIVER, amount, of, hash);
}

test('a payment says what it left to pay, and only the last of a completed ride completes it', () => {
  const whole = ride('completed', {
    steps: [{ step: 'paid', tx_hash: '0xp', amount: '27220000' }],
  });
  expect(paid('0xp', '27220000', whole)).toBe(
    `Passenger ${R} paid 27.22 of 27.22 CLT to driver ${D}; the ride is complete.`,
  );
  expect(paid('0xp1', '7000000', ride('completed'))).toBe(
    `Passenger ${R} paid 7.00 of 27.22 CLT to driver ${D}, which left 20.22 CLT to pay.`,
  );
  expect(paid('0xp2', '20220000', ride('completed'))).toMatch(/; the ride is complete\.$/);
  // the ride does not show it yet, or no longer
  for (const status of ['active', 'cancelled'] as const)
    expect(paid('0xp2', '20220000', ride(status))).toBe(
      `Passenger ${R} paid 20.22 of 27.22 CLT to driver ${D}.`,
    );
  // of many payments the hub names the first alone
  expect(paid('0xlate', '20220000', ride('completed'))).toBe(
    `Passenger ${R} paid 20.22 of 27.22 CLT to driver ${D}.`,
  );
});

test('a cancellation says by which party, and how much went back', () => {
  const of = ride('cancelled', { fare_paid: '7000000' });
  const back = '20.22 of 27.22 CLT went back to the passenger';
  expect(said('RideCancel', RIDER, DRIVER, '0', of)).toBe(
    `Passenger ${R} cancelled the ride with driver ${D}; ${back}.`,
  );
  expect(said('RideCancel', DRIVER, RIDER, '0', of)).toBe(
    `Driver ${D} cancelled the ride with passenger ${R}; ${back}.`,
  );
  expect(said('RideCancel', DRIVER, RIDER, '0', ride('active'))).toBe(
    `${D} cancelled the ride with ${R}.`,
  );
  expect(said('RideRequestCancel', RIDER, ZERO, '0', WITHDRAWN)).toBe(
    `Passenger ${R} withdrew a request for a ride at 30.00 CLT.`,
  );
});

test('every call of the chain has a title of its own', () => {
  const titles = FUNCTION_CALL_TYPES.map((type) =>
    transactionTitle({ function_call_type: type, amount: '27220000' }),
  );
  expect(titles).toEqual([
    'Ride request at 27.22 CLT',
    'Ride offer at 27.22 CLT',
    'Ride offer accepted at 27.22 CLT',
    'Ride payment of 27.22 CLT',
    'Ride cancelled',
    'Ride request withdrawn',
    'Mint of 27.22 CLT',
    'Transfer of 27.22 CLT',
    'Burn of 27.22 CLT',
  ]);
  expect(titleOf(blockTitle(1_234))).toBe('Block 1,234 · CLT');
});
