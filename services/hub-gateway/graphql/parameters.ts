/** Arguments that GraphQL's types leave wide open, read strictly. What is not as it must be is refused with what it must be, never with what was given. */
import type { Bounds, Parties } from '../../../projections/ride-market/queries.ts';
import { parseAddress, parseHash } from '../../../schemas/address.ts';
import { coordinateText, LATITUDE_MAX, LONGITUDE_MAX } from '../../../schemas/coordinate.ts';
import { parseAmount } from '../../../schemas/money.ts';
import { accountOfKey } from '../../../schemas/sign-in.ts';
import { Refused } from './errors.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;

function bad(message: string): Refused {
  return new Refused('BAD_USER_INPUT', message);
}

/** Base units above zero. */
export function readAmount(name: string, text: string): bigint {
  const amount = parseAmount(text);
  if (amount === undefined)
    throw bad(
      `${name} must be a decimal integer in base units without sign, point, exponent or leading zeros, below 2^256`,
    );
  if (amount === 0n) throw bad(`${name} must be above zero`);
  return amount;
}

export function readHash(name: string, text: string): Buffer {
  const hash = parseHash(text);
  if (hash === undefined) throw bad(`${name} must be 0x and 64 hex digits`);
  return hash;
}

/** 20 bytes. */
export function readAddress(name: string, text: string): Buffer {
  const address = parseAddress(text);
  if (address === undefined) throw bad(`${name} must be an address, 0x and 40 hex digits`);
  return address;
}

/** The account, 20 bytes, of a wallet's address or of a public key. */
export function readPublicKey(text: string): Buffer {
  const account = accountOfKey(text);
  if (account === undefined)
    throw bad(
      'publicKey must be an address, 0x and 40 hex digits, or an uncompressed public key of 130 hex digits',
    );
  return Buffer.from(account.slice(2), 'hex');
}

/** Canonical decimal degrees, to about a centimetre. */
export function readLatitude(name: string, degrees: number): string {
  return coordinateText(within(name, degrees, LATITUDE_MAX));
}

export function readLongitude(name: string, degrees: number): string {
  return coordinateText(within(name, degrees, LONGITUDE_MAX));
}

function within(name: string, degrees: number, limit: number): number {
  // also what is no number at all
  if (!(Math.abs(degrees) <= limit))
    throw bad(`${name} must be in degrees from -${limit} to ${limit}`);
  return degrees;
}

export interface BoundsArgument {
  readonly minLat: number;
  readonly maxLat: number;
  readonly minLng: number;
  readonly maxLng: number;
}

/** Undefined when none were given. */
export function readBounds(bounds: BoundsArgument | null | undefined): Bounds | undefined {
  if (bounds === null || bounds === undefined) return undefined;
  const { minLat, maxLat, minLng, maxLng } = bounds;
  for (const [name, degrees] of [
    ['minLat', minLat],
    ['maxLat', maxLat],
  ] as const)
    within(name, degrees, LATITUDE_MAX);
  for (const [name, degrees] of [
    ['minLng', minLng],
    ['maxLng', maxLng],
  ] as const)
    within(name, degrees, LONGITUDE_MAX);
  if (minLat > maxLat)
    throw bad(
      'minLat must not be above maxLat; only minLng may be above maxLng, for bounds across the antimeridian',
    );
  return { min_lat: minLat, max_lat: maxLat, min_lng: minLng, max_lng: maxLng };
}

export interface PartiesArgument {
  readonly driverAddress?: string | null;
  readonly passengerAddress?: string | null;
}

export function readParties({ driverAddress, passengerAddress }: PartiesArgument): Parties {
  return {
    driver: optionalAddress('driverAddress', driverAddress),
    passenger: optionalAddress('passengerAddress', passengerAddress),
  };
}

function optionalAddress(name: string, text: string | null | undefined): Buffer | undefined {
  return text === null || text === undefined ? undefined : readAddress(name, text);
}

export function readLimit(limit: number | null | undefined): number {
  if (limit === null || limit === undefined) return LIMIT_DEFAULT;
  if (limit < 1 || limit > LIMIT_MAX) throw bad(`limit must be from 1 to ${LIMIT_MAX}`);
  return limit;
}
