/**
 * The calls of the seeded chain: all nine types, amounts of all sizes, self-transfers, new
 * accounts. Read `chain.ts` first.
 */
import { toHex } from '../../schemas/address.ts';
import type { BlockTransaction } from '../../schemas/chain.blocks/events.ts';
import { FUNCTION_CALL_TYPES, type FunctionCallType } from '../../schemas/function-call.ts';
import type { Random } from './random.ts';

export interface Account {
  readonly address: Buffer;
  balance: bigint;
  nonce: number;
}

/** The participants. people[0] may mint, people[1] to people[5] produce the blocks. */
export interface Cast {
  readonly people: Account[];
  readonly nobody: Account;
  readonly escrow: Account;
  readonly reward_pool: Account;
  /** the source of the bytes of `raw` */
  readonly raw: Buffer;
}

interface PlannedEffect {
  readonly account: Account;
  readonly kind: string;
  readonly delta: bigint;
  readonly counterparty: Account | null;
}

/** A transaction before it has a place in a block. */
export interface Planned {
  readonly sender: Account;
  readonly transaction: Omit<BlockTransaction, 'index'>;
  /** without the fee */
  readonly effects: readonly PlannedEffect[];
}

/** Where other number types break. */
const EDGES = [
  1n,
  (1n << 53n) - 1n,
  1n << 53n,
  (1n << 53n) + 1n,
  (1n << 63n) - 1n,
  1n << 63n,
  (1n << 64n) - 1n,
  1n << 64n,
  (1n << 64n) + 1n,
];
const RAW_BYTES_MIN = 110;

interface Call {
  readonly type: FunctionCallType;
  readonly to: Account;
  readonly amount: bigint;
  readonly arguments: Readonly<Record<string, string | null>>;
  readonly effects: readonly PlannedEffect[];
  readonly referrer?: Account | null;
  readonly referrers?: {
    readonly request: Account | null;
    readonly offer: Account | null;
    readonly request_fee: bigint;
    readonly offer_fee: bigint;
  };
}

/** A call that its sender can afford, signed by one of the first `senders` people. */
export function planCall(random: Random, cast: Cast, senders: number, fee: bigint): Planned {
  const wanted = random.chance(0.5) ? 'Transfer' : random.pick(FUNCTION_CALL_TYPES);
  const sender =
    wanted === 'Mint'
      ? person(cast, 0)
      : person(cast, Math.floor(senders * (random.below(1 << 20) / (1 << 20)) ** 2));
  const call = decide(random, cast, sender, wanted, fee);
  const from = random.below(cast.raw.length - RAW_BYTES_MIN - 64);
  return {
    sender,
    effects: call.effects,
    transaction: {
      hash: random.bytes(32),
      from: sender.address,
      to: call.to.address,
      nonce: sender.nonce,
      amount: call.amount,
      function_call_type: call.type,
      arguments: call.arguments,
      referrer: call.referrer?.address ?? null,
      request_referrer: call.referrers?.request?.address ?? null,
      offer_referrer: call.referrers?.offer?.address ?? null,
      request_referrer_fee: call.referrers?.request_fee ?? 0n,
      offer_referrer_fee: call.referrers?.offer_fee ?? 0n,
      raw: cast.raw.subarray(from, from + RAW_BYTES_MIN + random.below(64)),
    },
  };
}

interface Situation {
  readonly random: Random;
  readonly cast: Cast;
  readonly sender: Account;
  /** somebody, now and then one never seen before */
  readonly other: Account;
  /** an amount that the sender can afford; 0: almost none */
  readonly amount: bigint;
  readonly hash: string;
}

function decide(
  random: Random,
  cast: Cast,
  sender: Account,
  type: FunctionCallType,
  fee: bigint,
): Call {
  const other = random.chance(0.01) ? newcomer(random, cast) : random.pick(cast.people);
  const affordable = (sender.balance - fee) / 4n;
  const amount = least(amountOf(random), affordable > 0n ? affordable : 0n);
  const situation: Situation = {
    random,
    cast,
    sender,
    other,
    amount,
    hash: toHex(random.bytes(32)),
  };
  return CALLS[type](situation) ?? request(situation);
}

/** Makes each call; undefined if no account can afford it. */
const CALLS: Readonly<Record<FunctionCallType, (situation: Situation) => Call | undefined>> = {
  Mint({ random, sender, other, hash }) {
    const amount = amountOf(random);
    const reference = random.chance(0.5) ? hash : null;
    const effects = [{ account: other, kind: 'mint', delta: amount, counterparty: sender }];
    return {
      type: 'Mint',
      to: other,
      amount,
      arguments: { to: toHex(other.address), amount: String(amount), reference },
      effects,
    };
  },
  Transfer({ random, sender, other, amount }) {
    if (amount === 0n) return undefined;
    const to = random.chance(0.02) ? sender : other;
    const effects = passed('transfer_out', 'transfer_in', sender, to, amount);
    return {
      type: 'Transfer',
      to,
      amount,
      arguments: { to: toHex(to.address), amount: String(amount) },
      effects,
    };
  },
  Burn({ random, cast, sender, amount, hash }) {
    if (amount === 0n) return undefined;
    const effects = [{ account: sender, kind: 'burn', delta: -amount, counterparty: null }];
    const reference = random.chance(0.5) ? null : hash;
    return {
      type: 'Burn',
      to: cast.nobody,
      amount,
      arguments: { amount: String(amount), redemption_ref: reference },
      effects,
    };
  },
  RideRequest: request,
  RideOffer({ random, cast, other, amount, hash }) {
    const referrer = random.chance(0.5) ? null : person(cast, 6);
    const named = {
      request_hash: hash,
      fare: String(amount),
      referrer: referrer && toHex(referrer.address),
    };
    return { type: 'RideOffer', to: other, amount, arguments: named, effects: [], referrer };
  },
  RideAcceptance({ cast, sender, other, amount, hash }) {
    if (amount === 0n) return undefined;
    const effects = passed('ride_escrow', 'ride_escrow', sender, cast.escrow, amount);
    return { type: 'RideAcceptance', to: other, amount, arguments: { offer_hash: hash }, effects };
  },
  RidePay({ random, cast, other, hash }) {
    const amount = least(amountOf(random), cast.escrow.balance);
    return amount === 0n ? undefined : pay(random, cast, other, amount, hash);
  },
  RideCancel({ random, cast, sender, other, hash }) {
    const amount = least(amountOf(random), cast.escrow.balance);
    if (amount === 0n) return undefined;
    const effects = passed('ride_refund', 'ride_refund', cast.escrow, sender, amount);
    return { type: 'RideCancel', to: other, amount, arguments: { acceptance_hash: hash }, effects };
  },
  RideRequestCancel({ cast, hash }) {
    return {
      type: 'RideRequestCancel',
      to: cast.nobody,
      amount: 0n,
      arguments: { request_hash: hash },
      effects: [],
    };
  },
};

function request({ random, cast, amount: fare }: Situation): Call {
  const referrer = random.chance(0.5) ? null : person(cast, 6);
  const degrees = (): string => (random.below(179_999) / 1_000 - 90 || 0).toString();
  return {
    type: 'RideRequest',
    to: cast.nobody,
    amount: fare,
    arguments: {
      pickup_lat: degrees(),
      pickup_lng: degrees(),
      dropoff_lat: degrees(),
      dropoff_lng: degrees(),
      fare: String(fare),
      referrer: referrer && toHex(referrer.address),
    },
    effects: [],
    referrer,
  };
}

function pay(random: Random, cast: Cast, driver: Account, amount: bigint, hash: string): Call {
  const requestReferrer = random.chance(0.5) ? null : person(cast, 6);
  const offerReferrer = random.chance(0.5) ? null : person(cast, 7);
  const requestFee = requestReferrer === null ? 0n : amount / 100n;
  const offerFee = offerReferrer === null ? 0n : amount / 200n;
  const effects: PlannedEffect[] = passed(
    'ride_pay',
    'ride_pay',
    cast.escrow,
    driver,
    amount,
    amount - requestFee - offerFee,
  );
  if (requestReferrer !== null)
    effects.push({
      account: requestReferrer,
      kind: 'referrer_fee',
      delta: requestFee,
      counterparty: driver,
    });
  if (offerReferrer !== null)
    effects.push({
      account: offerReferrer,
      kind: 'referrer_fee',
      delta: offerFee,
      counterparty: driver,
    });
  return {
    type: 'RidePay',
    to: driver,
    amount,
    arguments: { acceptance_hash: hash, fare: String(amount) },
    effects,
    referrers: {
      request: requestReferrer,
      offer: offerReferrer,
      request_fee: requestFee,
      offer_fee: offerFee,
    },
  };
}

function passed(
  out: string,
  into: string,
  from: Account,
  to: Account,
  amount: bigint,
  arriving: bigint = amount,
): PlannedEffect[] {
  return [
    { account: from, kind: out, delta: -amount, counterparty: to },
    { account: to, kind: into, delta: arriving, counterparty: from },
  ];
}

function amountOf(random: Random): bigint {
  const kind = random.below(10);
  if (kind === 0) return random.pick(EDGES);
  if (kind === 1) return (BigInt(random.uint32()) << 40n) + BigInt(random.uint32()) + 1n;
  return BigInt(random.uint32()) + 1n;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function person(cast: Cast, at: number): Account {
  return cast.people[at] ?? cast.nobody;
}

function newcomer(random: Random, cast: Cast): Account {
  const account: Account = { address: random.bytes(20), balance: 0n, nonce: 0 };
  cast.people.push(account);
  return account;
}
