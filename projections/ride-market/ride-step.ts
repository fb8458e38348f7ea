/**
 * What a block's transactions mean to the ride market. The chain has checked who may do what, so that a transaction that stands did what it says; how much a payment
 * moved is what the chain recorded in its balance effects, since it caps a payment at what is due. Arguments that cannot be read mean nothing.
 */
import { parseHash } from '../../schemas/address.ts';
import type { BlockAppended, BlockTransaction } from '../../schemas/chain.blocks/events.ts';
import { LATITUDE_MAX, LONGITUDE_MAX } from '../../schemas/coordinate.ts';
import { parseAmount } from '../../schemas/money.ts';

/** Where in the chain a transaction stands. */
export interface Place {
  readonly height: number;
  readonly tx_index: number;
}

/** What a chain may write that is no coordinate as ours writes it, but one all the same. Never what Postgres could not read as a number. */
const DEGREES = /^-?[0-9]{1,3}(?:\.[0-9]{1,30})?$/;

/** Decimal degrees as the chain has them. */
export interface Route {
  readonly pickup_lat: string;
  readonly pickup_lng: string;
  readonly dropoff_lat: string;
  readonly dropoff_lng: string;
}

/** Named by the hash of its transaction, as offers and trips are. Amounts are base units. */
export interface RideRequest extends Route, Place {
  readonly hash: Buffer;
  readonly passenger: Buffer;
  readonly fare: bigint;
  readonly referrer: Buffer | null;
}

export interface RideOffer extends Place {
  readonly hash: Buffer;
  readonly request_hash: Buffer;
  readonly driver: Buffer;
  readonly fare: bigint;
  readonly referrer: Buffer | null;
}

export type RideStep =
  | { readonly step: 'requested'; readonly request: RideRequest }
  | { readonly step: 'offered'; readonly offer: RideOffer }
  | {
      readonly step: 'accepted';
      readonly hash: Buffer;
      readonly offer_hash: Buffer;
      readonly at: Place;
    }
  | { readonly step: 'request_cancelled'; readonly request_hash: Buffer; readonly at: Place }
  | {
      readonly step: 'paid';
      readonly trip_hash: Buffer;
      readonly amount: bigint;
      readonly at: Place;
    }
  | { readonly step: 'cancelled'; readonly trip_hash: Buffer; readonly at: Place };

/** The steps of a block, in its order. */
export function rideSteps(block: BlockAppended): readonly RideStep[] {
  const payments = paymentsOf(block);
  const steps: RideStep[] = [];
  for (const transaction of block.transactions) {
    const { hash, index } = transaction;
    const step = stepOf(transaction, {
      hash,
      at: { height: block.height, tx_index: index },
      paid: payments.get(index) ?? 0n,
    });
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

/** The hash that a transaction names, of what its type is about; undefined where it names none. */
export function namedHash({
  function_call_type: type,
  arguments: named,
}: BlockTransaction): Buffer | undefined {
  switch (type) {
    case 'RideOffer':
    case 'RideRequestCancel':
      return hashIn(named['request_hash']);
    case 'RideAcceptance':
      return hashIn(named['offer_hash']);
    case 'RidePay':
    case 'RideCancel':
      return hashIn(named['acceptance_hash']);
    default:
      return undefined;
  }
}

interface Circumstances {
  readonly hash: Buffer;
  readonly at: Place;
  /** what the transaction took out of escrow */
  readonly paid: bigint;
}

function stepOf(
  transaction: BlockTransaction,
  { hash, at, paid: amount }: Circumstances,
): RideStep | undefined {
  if (transaction.function_call_type === 'RideRequest') return requestedIn(transaction, at);
  const named = namedHash(transaction);
  if (named === undefined) return undefined;
  switch (transaction.function_call_type) {
    case 'RideOffer':
      return offeredIn(transaction, named, at);
    case 'RideAcceptance':
      return { step: 'accepted', hash, offer_hash: named, at };
    case 'RideRequestCancel':
      return { step: 'request_cancelled', request_hash: named, at };
    case 'RidePay':
      return { step: 'paid', trip_hash: named, amount, at };
    case 'RideCancel':
      return { step: 'cancelled', trip_hash: named, at };
    default:
      return undefined;
  }
}

function requestedIn(
  { hash, from, arguments: named, referrer }: BlockTransaction,
  at: Place,
): RideStep | undefined {
  const fare = amountIn(named['fare']);
  const route = routeIn(named);
  if (fare === undefined || route === undefined) return undefined;
  return { step: 'requested', request: { hash, passenger: from, ...route, fare, referrer, ...at } };
}

function offeredIn(
  { hash, from, arguments: named, referrer }: BlockTransaction,
  requestHash: Buffer,
  at: Place,
): RideStep | undefined {
  const fare = amountIn(named['fare']);
  return fare === undefined
    ? undefined
    : {
        step: 'offered',
        offer: { hash, request_hash: requestHash, driver: from, fare, referrer, ...at },
      };
}

function routeIn(named: BlockTransaction['arguments']): Route | undefined {
  const pickup_lat = degreesIn(named['pickup_lat'], LATITUDE_MAX);
  const pickup_lng = degreesIn(named['pickup_lng'], LONGITUDE_MAX);
  const dropoff_lat = degreesIn(named['dropoff_lat'], LATITUDE_MAX);
  const dropoff_lng = degreesIn(named['dropoff_lng'], LONGITUDE_MAX);
  if (
    pickup_lat === undefined ||
    pickup_lng === undefined ||
    dropoff_lat === undefined ||
    dropoff_lng === undefined
  )
    return undefined;
  return { pickup_lat, pickup_lng, dropoff_lat, dropoff_lng };
}

function hashIn(text: string | null | undefined): Buffer | undefined {
  return typeof text === 'string' ? parseHash(text) : undefined;
}

function amountIn(text: string | null | undefined): bigint | undefined {
  return typeof text === 'string' ? parseAmount(text) : undefined;
}

function degreesIn(text: string | null | undefined, limit: number): string | undefined {
  return typeof text === 'string' && DEGREES.test(text) && Math.abs(Number(text)) <= limit
    ? text
    : undefined;
}

/** What each transaction's payment took out of escrow, by its index. */
function paymentsOf(block: BlockAppended): ReadonlyMap<number, bigint> {
  const payments = new Map<number, bigint>();
  for (const { kind, delta, tx_index: index } of block.balance_effects) {
    if (kind === 'ride_pay' && delta < 0n && index !== null)
      payments.set(index, (payments.get(index) ?? 0n) - delta);
  }
  return payments;
}
