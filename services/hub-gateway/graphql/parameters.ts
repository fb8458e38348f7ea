/** Strict reading of arguments beyond GraphQL's types. A refusal never repeats the input. */
import type { Bounds, Parties } from '../../../projections/ride-market/queries.ts';
import { parseAddress, parseHash, toHex } from '../../../schemas/address.ts';
import { coordinateText, LATITUDE_MAX, LONGITUDE_MAX } from '../../../schemas/coordinate.ts';
import { parseAmount } from '../../../schemas/money.ts';
import {
  decodeRaw,
  parseRawText,
  recoverSigner,
  transactionHash,
} from '../../../schemas/raw-transaction.ts';
import { accountOfKey } from '../../../schemas/sign-in.ts';
import type { Caller } from './authentication.ts';
import { forbidden, invalid, type Refused } from './errors.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
/** of what is open */
const OPEN_LIMIT_MAX = 1_000;

/** Base units above zero. */
export function readAmount(name: string, text: string): bigint {
  const amount = parseAmount(text);
  if (amount === undefined)
    throw invalid(
      `${name} must be a decimal integer in base units without sign, point, exponent or leading zeros, below 2^256`,
    );
  if (amount === 0n) throw invalid(`${name} must be above zero`);
  return amount;
}

export function readHash(name: string, text: string): Buffer {
  const hash = parseHash(text);
  if (hash === undefined) throw invalid(`${name} must be 0x and 64 hex digits`);
  return hash;
}

/** The account, 20 bytes, of a wallet address or a public key. */
export function readPublicKey(text: string): Buffer {
  const account = accountOfKey(text);
  if (account === undefined)
    throw invalid(
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
  // the negation also refuses NaN
  if (!(Math.abs(degrees) <= limit))
    throw invalid(`${name} must be in degrees from -${limit} to ${limit}`);
  return degrees;
}

export interface BoundsArgument {
  readonly minLat: number;
  readonly maxLat: number;
  readonly minLng: number;
  readonly maxLng: number;
}

export function readBounds(bounds: BoundsArgument | null | undefined): Bounds | undefined {
  if (bounds === null || bounds === undefined) return undefined;
  const read = {
    min_lat: within('minLat', bounds.minLat, LATITUDE_MAX),
    max_lat: within('maxLat', bounds.maxLat, LATITUDE_MAX),
    ...readMeridians(bounds),
  };
  if (read.min_lat > read.max_lat)
    throw invalid(
      'minLat must not be above maxLat; only minLng may be above maxLng, for bounds across the antimeridian',
    );
  return read;
}

/** Maps that wrap count on beyond 180 and below -180, and may show the world more than once. */
function readMeridians({ minLng, maxLng }: BoundsArgument): Pick<Bounds, 'min_lng' | 'max_lng'> {
  for (const [name, degrees] of Object.entries({ minLng, maxLng }))
    if (!Number.isFinite(degrees)) throw invalid(`${name} must be in degrees`);
  return maxLng - minLng >= 360
    ? { min_lng: -LONGITUDE_MAX, max_lng: LONGITUDE_MAX }
    : { min_lng: normalLongitude(minLng), max_lng: normalLongitude(maxLng) };
}

function normalLongitude(degrees: number): number {
  if (Math.abs(degrees) <= LONGITUDE_MAX) return degrees;
  return ((((degrees + 180) % 360) + 360) % 360) - 180;
}

export interface PartiesArgument {
  readonly driverAddress?: string | null;
  readonly passengerAddress?: string | null;
}

export function readParties({ driverAddress, passengerAddress }: PartiesArgument): Parties {
  return {
    driver: readAddress('driverAddress', driverAddress),
    passenger: readAddress('passengerAddress', passengerAddress),
  };
}

function readAddress(name: string, text: string | null | undefined): Buffer | undefined {
  if (text === null || text === undefined) return undefined;
  const address = parseAddress(text);
  if (address === undefined) throw invalid(`${name} must be an address, 0x and 40 hex digits`);
  return address;
}

export function readLimit(limit: number | null | undefined): number {
  return limitUpTo(LIMIT_MAX, limit) ?? LIMIT_DEFAULT;
}

export function readOpenLimit(limit: number | null | undefined): number | undefined {
  return limitUpTo(OPEN_LIMIT_MAX, limit);
}

function limitUpTo(most: number, limit: number | null | undefined): number | undefined {
  if (limit === null || limit === undefined) return undefined;
  if (limit < 1 || limit > most) throw invalid(`limit must be from 1 to ${most}`);
  return limit;
}

export interface Submission {
  /** signed; 0x + hex, for the node */
  readonly raw: string;
  readonly hash: Buffer;
  /** the account, 20 bytes */
  readonly sender: Buffer;
  readonly nonce: number;
}

/** A transaction that the caller signed for this chain, no mint. */
export function readSubmission(text: string, { account }: Caller, chainId: number): Submission {
  const bytes = parseRawText(text);
  if ('refused' in bytes) throw unreadable(bytes.refused);
  const decoded = decodeRaw(bytes.raw);
  if ('refused' in decoded) throw unreadable(decoded.refused);
  const { transaction } = decoded;
  if (transaction.chain_id !== chainId)
    throw invalid(`rawTransaction is signed for another chain: sign it for chain ${chainId}`);
  const recovered = recoverSigner(transaction);
  if ('refused' in recovered) throw unreadable(recovered.refused);
  if (recovered.signer !== account)
    throw forbidden(
      'rawTransaction is not signed by the key of your token: sign in with the key that signs it',
    );
  if (transaction.call.function_call_type === 'Mint')
    throw forbidden('Mint is not sent through the hub: the treasury sends it to the node');
  return {
    raw: toHex(bytes.raw),
    hash: Buffer.from(transactionHash(bytes.raw).slice(2), 'hex'),
    sender: Buffer.from(account.slice(2), 'hex'),
    nonce: transaction.nonce,
  };
}

function unreadable(reason: string): Refused {
  return invalid(
    `rawTransaction must be the hex of a signed transaction of this chain, which a browser wallet does not make: ${reason}`,
  );
}
