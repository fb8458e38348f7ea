/** Unsigned transactions to sign. Refuses what the chain would, as far as the read model knows. */
import {
  offerByHash,
  requestByHash,
  tripByHash,
} from '../../../projections/ride-market/queries.ts';
import { toHex } from '../../../schemas/address.ts';
import { argumentsJson, type FunctionCall } from '../../../schemas/function-call.ts';
import { byteaHex } from '../../runtime/postgres/cells.ts';
import type { Caller } from './authentication.ts';
import type { Hub, HubContext } from './context.ts';
import { forbidden, invalid, notFound } from './errors.ts';
import { readAmount, readHash, readLatitude, readLongitude } from './parameters.ts';

/** `{from, nonce, chain_id, data: {function_call_type, arguments}}`, the schema's JSON. */
type Unsigned = Promise<object>;

export function rideRequest(
  caller: Caller,
  args: {
    readonly pickupLatitude: number;
    readonly pickupLongitude: number;
    readonly dropoffLatitude: number;
    readonly dropoffLongitude: number;
    readonly fare: string;
  },
  { hub }: HubContext,
): Unsigned {
  return unsigned(hub, caller, {
    function_call_type: 'RideRequest',
    arguments: {
      pickup_lat: readLatitude('pickupLatitude', args.pickupLatitude),
      pickup_lng: readLongitude('pickupLongitude', args.pickupLongitude),
      dropoff_lat: readLatitude('dropoffLatitude', args.dropoffLatitude),
      dropoff_lng: readLongitude('dropoffLongitude', args.dropoffLongitude),
      fare: readAmount('fare', args.fare),
      referrer: hub.request_referrer,
    },
  });
}

export async function rideOffer(
  caller: Caller,
  args: { readonly rideRequestTransactionHash: string; readonly fare: string },
  { hub }: HubContext,
): Unsigned {
  const hash = readHash('rideRequestTransactionHash', args.rideRequestTransactionHash);
  const fare = readAmount('fare', args.fare);
  const { status, passenger } = await findRequest(hub, hash);
  if (passenger === caller.account) throw forbidden('nobody can offer a ride to themselves');
  if (status !== 'open')
    throw invalid(`the ride request is ${status}: only an open one takes offers`);
  const { offer_referrer: referrer } = hub;
  return unsigned(hub, caller, {
    function_call_type: 'RideOffer',
    arguments: { request_hash: toHex(hash), fare, referrer },
  });
}

export async function rideAcceptance(
  caller: Caller,
  args: { readonly rideOfferTransactionHash: string },
  { hub }: HubContext,
): Unsigned {
  const hash = readHash('rideOfferTransactionHash', args.rideOfferTransactionHash);
  const [row] = await hub.reader.rows(offerByHash(hash));
  if (row === undefined) throw notFound('there is no such ride offer');
  const [status, , , , passenger] = row;
  if (byteaHex(passenger) !== caller.account)
    throw forbidden('only the passenger of the ride request can accept its offers');
  if (status !== 'open')
    throw invalid(`the ride offer is ${status}: only an open one can be accepted`);
  return unsigned(hub, caller, {
    function_call_type: 'RideAcceptance',
    arguments: { offer_hash: toHex(hash) },
  });
}

export async function ridePay(
  caller: Caller,
  args: { readonly rideAcceptanceTransactionHash: string; readonly fare: string },
  { hub }: HubContext,
): Unsigned {
  const hash = readHash('rideAcceptanceTransactionHash', args.rideAcceptanceTransactionHash);
  const fare = readAmount('fare', args.fare);
  const { status, passenger } = await findTrip(hub, hash);
  if (passenger !== caller.account) throw forbidden('only the passenger can pay for the trip');
  if (status !== 'active')
    throw invalid(`the trip is ${status}: only an active one can be paid for`);
  return unsigned(hub, caller, {
    function_call_type: 'RidePay',
    arguments: { acceptance_hash: toHex(hash), fare },
  });
}

export async function rideCancel(
  caller: Caller,
  args: { readonly rideAcceptanceTransactionHash: string },
  { hub }: HubContext,
): Unsigned {
  const hash = readHash('rideAcceptanceTransactionHash', args.rideAcceptanceTransactionHash);
  const { status, driver, passenger } = await findTrip(hub, hash);
  if (passenger !== caller.account && driver !== caller.account)
    throw forbidden('only a party of the trip can cancel it');
  if (status !== 'active')
    throw invalid(`the trip is ${status}: only an active one can be cancelled`);
  return unsigned(hub, caller, {
    function_call_type: 'RideCancel',
    arguments: { acceptance_hash: toHex(hash) },
  });
}

export async function rideRequestCancel(
  caller: Caller,
  args: { readonly rideRequestTransactionHash: string },
  { hub }: HubContext,
): Unsigned {
  const hash = readHash('rideRequestTransactionHash', args.rideRequestTransactionHash);
  const { status, passenger } = await findRequest(hub, hash);
  if (passenger !== caller.account)
    throw forbidden('only the passenger can cancel the ride request');
  if (status !== 'open')
    throw invalid(`the ride request is ${status}: only an open one can be cancelled`);
  return unsigned(hub, caller, {
    function_call_type: 'RideRequestCancel',
    arguments: { request_hash: toHex(hash) },
  });
}

export function burn(
  caller: Caller,
  { amount, redemptionRef }: { readonly amount: string; readonly redemptionRef?: string | null },
  { hub }: HubContext,
): Unsigned {
  const reference =
    redemptionRef === null || redemptionRef === undefined
      ? null
      : toHex(readHash('redemptionRef', redemptionRef));
  return unsigned(hub, caller, {
    function_call_type: 'Burn',
    arguments: { amount: readAmount('amount', amount), redemption_ref: reference },
  });
}

async function findRequest(
  { reader }: Hub,
  hash: Buffer,
): Promise<{ readonly status: string; readonly passenger: string }> {
  const [row] = await reader.rows(requestByHash(hash));
  if (row === undefined) throw notFound('there is no such ride request');
  return { status: String(row[0]), passenger: byteaHex(row[1]) };
}

async function findTrip(
  { reader }: Hub,
  hash: Buffer,
): Promise<{ readonly status: string; readonly driver: string; readonly passenger: string }> {
  const [row] = await reader.rows(tripByHash(hash));
  if (row === undefined) throw notFound('there is no trip of this acceptance');
  return { status: String(row[0]), driver: byteaHex(row[1]), passenger: byteaHex(row[2]) };
}

async function unsigned(hub: Hub, { account }: Caller, call: FunctionCall): Unsigned {
  const nonce = await hub.node.nextNonce(account);
  const data = { function_call_type: call.function_call_type, arguments: argumentsJson(call) };
  return { from: account, nonce, chain_id: hub.chain_id, data };
}
