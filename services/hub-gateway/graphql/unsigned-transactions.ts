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

/** Makes `{from, nonce, chain_id, data: {function_call_type, arguments}}`, the schema's JSON. */
type UnsignedOf<Arguments> = (
  caller: Caller,
  args: Arguments,
  context: HubContext,
) => Promise<object>;

type Fare = Readonly<{ fare: string }>;
type RequestHash = Readonly<{ rideRequestTransactionHash: string }>;
type OfferHash = Readonly<{ rideOfferTransactionHash: string }>;
type AcceptanceHash = Readonly<{ rideAcceptanceTransactionHash: string }>;
type Route = Readonly<
  Record<'pickupLatitude' | 'pickupLongitude' | 'dropoffLatitude' | 'dropoffLongitude', number>
>;

export const rideRequest: UnsignedOf<Route & Fare> = (caller, args, { hub }) =>
  unsigned(hub, caller, {
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

export const rideOffer: UnsignedOf<RequestHash & Fare> = async (caller, args, { hub }) => {
  const hash = readHash('rideRequestTransactionHash', args.rideRequestTransactionHash);
  const fare = readAmount('fare', args.fare);
  const { status, passenger } = await findRequest(hub, hash);
  if (passenger === caller.account) throw forbidden('nobody can offer a ride to themselves');
  if (status !== 'open')
    throw invalid(`the ride request is ${status}: only an open one takes offers`);
  const { offer_referrer: offerReferrer } = hub;
  return unsigned(hub, caller, {
    function_call_type: 'RideOffer',
    arguments: { request_hash: toHex(hash), fare, referrer: offerReferrer },
  });
};

export const rideAcceptance: UnsignedOf<OfferHash> = async (caller, args, { hub }) => {
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
};

export const ridePay: UnsignedOf<AcceptanceHash & Fare> = async (caller, args, { hub }) => {
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
};

export const rideCancel: UnsignedOf<AcceptanceHash> = async (caller, args, { hub }) => {
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
};

export const rideRequestCancel: UnsignedOf<RequestHash> = async (caller, args, { hub }) => {
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
};

export function burn(
  caller: Caller,
  { amount, redemptionRef }: { readonly amount: string; readonly redemptionRef?: string | null },
  { hub }: HubContext,
): Promise<object> {
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

async function unsigned(hub: Hub, { account }: Caller, call: FunctionCall): Promise<object> {
  const nonce = await hub.node.nextNonce(account);
  const data = { function_call_type: call.function_call_type, arguments: argumentsJson(call) };
  return { from: account, nonce, chain_id: hub.chain_id, data };
}
