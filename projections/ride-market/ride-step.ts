/**
 * The ride steps of a block. The chain has already checked permissions, so every ride call took
 * effect. A payment's amount comes from the balance effects, because the chain caps a payment at
 * the amount due. A call with unreadable arguments is no step.
 */
import { parseHash } from '../../schemas/address.ts';
import type { BlockAppended, BlockTransaction } from '../../schemas/chain.blocks/events.ts';
import { LATITUDE_MAX, LONGITUDE_MAX } from '../../schemas/coordinate.ts';
import { parseAmount } from '../../schemas/money.ts';

/** The position of a transaction in the chain. */
export interface ChainPosition {
  readonly height: number;
  readonly tx_index: number;
}

/** Wider than the devnet's canonical form, but always a number that Postgres can parse. */
const DEGREES = /^-?[0-9]{1,3}(?:\.[0-9]{1,30})?$/;

/** Decimal degrees, as signed. */
export interface Route {
  readonly pickup_lat: string;
  readonly pickup_lng: string;
  readonly dropoff_lat: string;
  readonly dropoff_lng: string;
}

/** Keyed by the hash of its transaction, as offers and trips are. Amounts are base units. */
export interface RideRequest extends Route, ChainPosition {
  readonly hash: Buffer;
  readonly passenger: Buffer;
  readonly fare: bigint;
  readonly referrer: Buffer | null;
}

export interface RideOffer extends ChainPosition {
  readonly hash: Buffer;
  readonly request_hash: Buffer;
  readonly driver: Buffer;
  readonly fare: bigint;
  readonly referrer: Buffer | null;
}

/** The transaction of a step. */
export interface At {
  readonly hash: Buffer;
  readonly at: ChainPosition;
}

export type RideStep =
  | { readonly step: 'requested'; readonly request: RideRequest }
  | { readonly step: 'offered'; readonly offer: RideOffer }
  | (At & { readonly step: 'accepted'; readonly offer_hash: Buffer })
  | (At & { readonly step: 'request_cancelled'; readonly request_hash: Buffer })
  | (At & { readonly step: 'paid'; readonly trip_hash: Buffer; readonly amount: bigint })
  | (At & { readonly step: 'cancelled'; readonly trip_hash: Buffer });

/** The steps of a block, in chain order. */
export function rideSteps(block: BlockAppended): readonly RideStep[] {
  const payments = escrowPayments(block);
  const steps: RideStep[] = [];
  for (const transaction of block.transactions) {
    const { hash, index } = transaction;
    const step = rideStep(transaction, {
      hash,
      at: { height: block.height, tx_index: index },
      paid: payments.get(index) ?? 0n,
    });
    if (step !== undefined) steps.push(step);
  }
  return steps;
}

/** The request, offer or trip that a call refers to, by its hash; undefined when it has none. */
export function hashArgument(transaction: BlockTransaction): Buffer | undefined {
  const { function_call_type: functionCallType, arguments: args } = transaction;
  switch (functionCallType) {
    case 'RideOffer':
    case 'RideRequestCancel':
      return parseHash(args['request_hash'] ?? '');
    case 'RideAcceptance':
      return parseHash(args['offer_hash'] ?? '');
    case 'RidePay':
    case 'RideCancel':
      return parseHash(args['acceptance_hash'] ?? '');
    default:
      return undefined;
  }
}

interface StepContext {
  readonly hash: Buffer;
  readonly at: ChainPosition;
  /** taken out of escrow by the transaction */
  readonly paid: bigint;
}

function rideStep(
  transaction: BlockTransaction,
  { hash, at, paid: amount }: StepContext,
): RideStep | undefined {
  if (transaction.function_call_type === 'RideRequest') return requestedStep(transaction, at);
  const target = hashArgument(transaction);
  if (target === undefined) return undefined;
  switch (transaction.function_call_type) {
    case 'RideOffer':
      return offeredStep(transaction, target, at);
    case 'RideAcceptance':
      return { step: 'accepted', hash, offer_hash: target, at };
    case 'RideRequestCancel':
      return { step: 'request_cancelled', hash, request_hash: target, at };
    case 'RidePay':
      return { step: 'paid', hash, trip_hash: target, amount, at };
    case 'RideCancel':
      return { step: 'cancelled', hash, trip_hash: target, at };
    default:
      return undefined;
  }
}

function requestedStep(
  { hash, from, arguments: args, referrer }: BlockTransaction,
  at: ChainPosition,
): RideStep | undefined {
  const fare = parseAmount(args['fare'] ?? '');
  const route = parsedRoute(args);
  if (fare === undefined || route === undefined) return undefined;
  return { step: 'requested', request: { hash, passenger: from, ...route, fare, referrer, ...at } };
}

function offeredStep(
  { hash, from, arguments: args, referrer }: BlockTransaction,
  requestHash: Buffer,
  at: ChainPosition,
): RideStep | undefined {
  const fare = parseAmount(args['fare'] ?? '');
  return fare === undefined
    ? undefined
    : {
        step: 'offered',
        offer: { hash, request_hash: requestHash, driver: from, fare, referrer, ...at },
      };
}

function parsedRoute(args: BlockTransaction['arguments']): Route | undefined {
  const pickup_lat = parsedDegrees(args['pickup_lat'], LATITUDE_MAX);
  const pickup_lng = parsedDegrees(args['pickup_lng'], LONGITUDE_MAX);
  const dropoff_lat = parsedDegrees(args['dropoff_lat'], LATITUDE_MAX);
  const dropoff_lng = parsedDegrees(args['dropoff_lng'], LONGITUDE_MAX);
  if (
    pickup_lat === undefined ||
    pickup_lng === undefined ||
    dropoff_lat === undefined ||
    dropoff_lng === undefined
  )
    return undefined;
  return { pickup_lat, pickup_lng, dropoff_lat, dropoff_lng };
}

function parsedDegrees(text: string | null | undefined, limit: number): string | undefined {
  const isValid = typeof text === 'string' && DEGREES.test(text) && Math.abs(Number(text)) <= limit;
  return isValid ? text : undefined;
}

/** The amount that each transaction took out of escrow, by transaction index. */
function escrowPayments(block: BlockAppended): ReadonlyMap<number, bigint> {
  const payments = new Map<number, bigint>();
  for (const { kind, delta, tx_index: txIndex } of block.balance_effects) {
    if (kind === 'ride_pay' && delta < 0n && txIndex !== null)
      payments.set(txIndex, (payments.get(txIndex) ?? 0n) - delta);
  }
  return payments;
}
