/**
 * The nine calls of the generated chain, with the balance effects of the chain's rules; who pays
 * for which ride is invented.
 */
import { toHex } from '../../schemas/address.ts';
import type { FunctionCallType } from '../../schemas/function-call.ts';
import type { Random } from '../support/random.ts';

/** Accounts by number. */
export const HOT = 0;
export const RARE = 1;
export const NOBODY = 2;
export const ESCROW = 3;
export const REWARD_POOL = 4;
export const MINT_AUTHORITY = 5;
export const REQUEST_REFERRER = 6;
export const OFFER_REFERRER = 7;
export const WHALE = 8;
/** A recipient that appears once: all share one account number, each has an address of its own. */
export const NEWCOMER = 9;
export const FIRST_VALIDATOR = 10;

/** No call takes more than this from its sender, fee included. */
export const SPENT_MAX = 200_000_000_000;
const AMOUNT_MAX = 50_000_000;
const LARGE = 1_000;

export type EffectKind =
  | 'transfer_in'
  | 'transfer_out'
  | 'mint'
  | 'burn'
  | 'ride_escrow'
  | 'ride_pay'
  | 'ride_refund'
  | 'tx_fee_paid'
  | 'referrer_fee';

/** The inputs of a call, and its effects on the block. */
export interface Scene {
  readonly random: Random;
  readonly sender: number;
  readonly other: number;
  readonly addresses: readonly Buffer[];
  balance(account: number): number;
  /** a delta of zero is no effect */
  move(account: number, kind: EffectKind, delta: number, counterparty: number | null): void;
  changeSupply(delta: number): void;
}

export interface Call {
  readonly type: FunctionCallType;
  readonly to: number;
  readonly amount: number;
  readonly arguments: Readonly<Record<string, string | null>>;
  readonly referrer: number | null;
  readonly request_referrer: number | null;
  readonly offer_referrer: number | null;
  readonly request_referrer_fee: number;
  readonly offer_referrer_fee: number;
}

const NO_REFERRERS = {
  referrer: null,
  request_referrer: null,
  offer_referrer: null,
  request_referrer_fee: 0,
  offer_referrer_fee: 0,
};

/** Carries the call out. A payment or refund that the escrow cannot afford becomes a request. */
export function carryOut(type: FunctionCallType, scene: Scene): Call {
  const { random, sender, other } = scene;
  const amount = amountOf(random);
  switch (type) {
    case 'Transfer':
      scene.move(sender, 'transfer_out', -amount, other);
      scene.move(other, 'transfer_in', amount, sender);
      return {
        ...NO_REFERRERS,
        type,
        to: other,
        amount,
        arguments: { to: text(scene, other), amount: String(amount) },
      };
    case 'Mint': {
      scene.move(other, 'mint', amount, sender);
      scene.changeSupply(amount);
      const reference = random.chance(0.5) ? hash(random) : null;
      return {
        ...NO_REFERRERS,
        type,
        to: other,
        amount,
        arguments: { to: text(scene, other), amount: String(amount), reference },
      };
    }
    case 'Burn': {
      scene.move(sender, 'burn', -amount, null);
      scene.changeSupply(-amount);
      const reference = random.chance(0.5) ? null : hash(random);
      return {
        ...NO_REFERRERS,
        type,
        to: NOBODY,
        amount,
        arguments: { amount: String(amount), redemption_ref: reference },
      };
    }
    case 'RideRequest':
      return request(scene, amount);
    case 'RideOffer': {
      const referrer = random.chance(0.5) ? null : OFFER_REFERRER;
      const named = {
        request_hash: hash(random),
        fare: String(amount),
        referrer: referrer === null ? null : text(scene, referrer),
      };
      return { ...NO_REFERRERS, type, to: other, amount, arguments: named, referrer };
    }
    case 'RideAcceptance': {
      // twice a payment or refund, of which there are twice as many: the escrow stays level
      const fare = 2 * amount;
      scene.move(sender, 'ride_escrow', -fare, ESCROW);
      scene.move(ESCROW, 'ride_escrow', fare, sender);
      return {
        ...NO_REFERRERS,
        type,
        to: other,
        amount: fare,
        arguments: { offer_hash: hash(random) },
      };
    }
    case 'RidePay':
      return scene.balance(ESCROW) < amount ? request(scene, amount) : pay(scene, amount);
    case 'RideCancel':
      if (scene.balance(ESCROW) < amount) return request(scene, amount);
      scene.move(ESCROW, 'ride_refund', -amount, sender);
      scene.move(sender, 'ride_refund', amount, ESCROW);
      return {
        ...NO_REFERRERS,
        type,
        to: other,
        amount,
        arguments: { acceptance_hash: hash(random) },
      };
    case 'RideRequestCancel':
      return {
        ...NO_REFERRERS,
        type,
        to: NOBODY,
        amount: 0,
        arguments: { request_hash: hash(random) },
      };
  }
}

function request(scene: Scene, fare: number): Call {
  const { random } = scene;
  const referrer = random.chance(0.5) ? null : REQUEST_REFERRER;
  const named = {
    pickup_lat: degrees(random),
    pickup_lng: degrees(random),
    dropoff_lat: degrees(random),
    dropoff_lng: degrees(random),
    fare: String(fare),
    referrer: referrer === null ? null : text(scene, referrer),
  };
  return {
    ...NO_REFERRERS,
    type: 'RideRequest',
    to: NOBODY,
    amount: fare,
    arguments: named,
    referrer,
  };
}

function pay(scene: Scene, amount: number): Call {
  const { random, sender, other: driver } = scene;
  const requestReferrer = random.chance(0.5) ? null : REQUEST_REFERRER;
  const offerReferrer = random.chance(0.5) ? null : OFFER_REFERRER;
  const requestFee = requestReferrer === null ? 0 : Math.floor(amount / 100);
  const offerFee = offerReferrer === null ? 0 : Math.floor(amount / 200);
  scene.move(ESCROW, 'ride_pay', -amount, driver);
  scene.move(driver, 'ride_pay', amount - requestFee - offerFee, sender);
  scene.move(REQUEST_REFERRER, 'referrer_fee', requestFee, driver);
  scene.move(OFFER_REFERRER, 'referrer_fee', offerFee, driver);
  return {
    type: 'RidePay',
    to: driver,
    amount,
    arguments: { acceptance_hash: hash(random), fare: String(amount) },
    referrer: null,
    request_referrer: requestReferrer,
    offer_referrer: offerReferrer,
    request_referrer_fee: requestFee,
    offer_referrer_fee: offerFee,
  };
}

/** Base units: mostly cents to 50 USD, now and then a thousand times that. */
function amountOf(random: Random): number {
  const amount = 1 + random.below(AMOUNT_MAX);
  return random.chance(0.02) ? amount * LARGE : amount;
}

function text({ addresses }: Scene, account: number): string {
  const address = addresses[account];
  if (address === undefined) throw new Error(`account ${account} has no address`);
  return toHex(address);
}

function hash(random: Random): string {
  return toHex(random.bytes(32));
}

function degrees(random: Random): string {
  return String((random.below(179_999) - 89_999) / 1_000);
}
