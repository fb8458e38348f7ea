/** Unsigned transactions for wallets to sign: what the chain would refuse anyhow is refused here, as far as the read model knows. */
import {
  offerByHash,
  requestByHash,
  tripByHash,
} from '../../../projections/ride-market/queries.ts';
import { toHex } from '../../../schemas/address.ts';
import { argumentsJson, type FunctionCall } from '../../../schemas/function-call.ts';
import { byteaHex } from '../../runtime/postgres/cells.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import type { Caller } from '../http/callers.ts';
import { Refused } from './errors.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import { readAmount, readHash, readLatitude, readLongitude } from './parameters.ts';

/** As the interface shows it. */
export interface UnsignedTransactionJson {
  readonly from: string;
  readonly nonce: number;
  readonly chain_id: number;
  readonly data: {
    readonly function_call_type: string;
    readonly arguments: Readonly<Record<string, string | null>>;
  };
}

export interface BuilderOptions {
  readonly reader: Reader;
  readonly node: Pick<ChainNode, 'nextNonce'>;
  readonly chain_id: number;
  readonly request_referrer: string | null;
  readonly offer_referrer: string | null;
}

export interface RideRequestArguments {
  readonly pickupLatitude: number;
  readonly pickupLongitude: number;
  readonly dropoffLatitude: number;
  readonly dropoffLongitude: number;
  readonly fare: string;
}

export class Builders {
  readonly #options: BuilderOptions;

  constructor(options: BuilderOptions) {
    this.#options = options;
  }

  rideRequest(caller: Caller, args: RideRequestArguments): Promise<UnsignedTransactionJson> {
    return this.#unsigned(caller, {
      function_call_type: 'RideRequest',
      arguments: {
        pickup_lat: readLatitude('pickupLatitude', args.pickupLatitude),
        pickup_lng: readLongitude('pickupLongitude', args.pickupLongitude),
        dropoff_lat: readLatitude('dropoffLatitude', args.dropoffLatitude),
        dropoff_lng: readLongitude('dropoffLongitude', args.dropoffLongitude),
        fare: readAmount('fare', args.fare),
        referrer: this.#options.request_referrer,
      },
    });
  }

  async rideOffer(
    caller: Caller,
    requestHash: string,
    fare: string,
  ): Promise<UnsignedTransactionJson> {
    const hash = readHash('rideRequestTransactionHash', requestHash);
    const amount = readAmount('fare', fare);
    const { status, passenger } = await this.#request(hash);
    if (passenger === caller.account)
      throw new Refused('FORBIDDEN', 'nobody can offer a ride to themselves');
    if (status !== 'open')
      throw new Refused(
        'BAD_USER_INPUT',
        `the ride request is ${status}: only an open one takes offers`,
      );
    const { offer_referrer: referrer } = this.#options;
    return this.#unsigned(caller, {
      function_call_type: 'RideOffer',
      arguments: { request_hash: toHex(hash), fare: amount, referrer },
    });
  }

  async rideAcceptance(caller: Caller, offerHash: string): Promise<UnsignedTransactionJson> {
    const hash = readHash('rideOfferTransactionHash', offerHash);
    const [row] = await this.#options.reader.rows(offerByHash(hash));
    if (row === undefined)
      throw new Refused(
        'NOT_FOUND',
        'there is no such ride offer; one that was sent just now is there once a block holds it',
      );
    const [status, , , , passenger] = row;
    if (byteaHex(passenger) !== caller.account)
      throw new Refused(
        'FORBIDDEN',
        'only the passenger of the ride request can accept its offers',
      );
    if (status !== 'open')
      throw new Refused(
        'BAD_USER_INPUT',
        `the ride offer is ${status}: only an open one can be accepted`,
      );
    return this.#unsigned(caller, {
      function_call_type: 'RideAcceptance',
      arguments: { offer_hash: toHex(hash) },
    });
  }

  async ridePay(
    caller: Caller,
    acceptanceHash: string,
    fare: string,
  ): Promise<UnsignedTransactionJson> {
    const hash = readHash('rideAcceptanceTransactionHash', acceptanceHash);
    const amount = readAmount('fare', fare);
    const { status, passenger } = await this.#trip(hash);
    if (passenger !== caller.account)
      throw new Refused('FORBIDDEN', 'only the passenger can pay for the trip');
    if (status !== 'active')
      throw new Refused(
        'BAD_USER_INPUT',
        `the trip is ${status}: only an active one can be paid for`,
      );
    return this.#unsigned(caller, {
      function_call_type: 'RidePay',
      arguments: { acceptance_hash: toHex(hash), fare: amount },
    });
  }

  async rideCancel(caller: Caller, acceptanceHash: string): Promise<UnsignedTransactionJson> {
    const hash = readHash('rideAcceptanceTransactionHash', acceptanceHash);
    const { status, driver, passenger } = await this.#trip(hash);
    if (passenger !== caller.account && driver !== caller.account)
      throw new Refused('FORBIDDEN', 'only a party of the trip can cancel it');
    if (status !== 'active')
      throw new Refused(
        'BAD_USER_INPUT',
        `the trip is ${status}: only an active one can be cancelled`,
      );
    return this.#unsigned(caller, {
      function_call_type: 'RideCancel',
      arguments: { acceptance_hash: toHex(hash) },
    });
  }

  async rideRequestCancel(caller: Caller, requestHash: string): Promise<UnsignedTransactionJson> {
    const hash = readHash('rideRequestTransactionHash', requestHash);
    const { status, passenger } = await this.#request(hash);
    if (passenger !== caller.account)
      throw new Refused('FORBIDDEN', 'only the passenger can cancel the ride request');
    if (status !== 'open')
      throw new Refused(
        'BAD_USER_INPUT',
        `the ride request is ${status}: only an open one can be cancelled`,
      );
    return this.#unsigned(caller, {
      function_call_type: 'RideRequestCancel',
      arguments: { request_hash: toHex(hash) },
    });
  }

  burn(
    caller: Caller,
    amount: string,
    redemptionRef: string | null | undefined,
  ): Promise<UnsignedTransactionJson> {
    const reference =
      redemptionRef === null || redemptionRef === undefined
        ? null
        : toHex(readHash('redemptionRef', redemptionRef));
    return this.#unsigned(caller, {
      function_call_type: 'Burn',
      arguments: { amount: readAmount('amount', amount), redemption_ref: reference },
    });
  }

  async #request(hash: Buffer): Promise<{ readonly status: string; readonly passenger: string }> {
    const [row] = await this.#options.reader.rows(requestByHash(hash));
    if (row === undefined)
      throw new Refused(
        'NOT_FOUND',
        'there is no such ride request; one that was sent just now is there once a block holds it',
      );
    return { status: String(row[0]), passenger: byteaHex(row[1]) };
  }

  async #trip(
    hash: Buffer,
  ): Promise<{ readonly status: string; readonly driver: string; readonly passenger: string }> {
    const [row] = await this.#options.reader.rows(tripByHash(hash));
    if (row === undefined)
      throw new Refused(
        'NOT_FOUND',
        'there is no trip of this acceptance; one that was sent just now is there once a block holds it',
      );
    return { status: String(row[0]), driver: byteaHex(row[1]), passenger: byteaHex(row[2]) };
  }

  async #unsigned({ account }: Caller, call: FunctionCall): Promise<UnsignedTransactionJson> {
    const nonce = await this.#options.node.nextNonce(account);
    const data = { function_call_type: call.function_call_type, arguments: argumentsJson(call) };
    return { from: account, nonce, chain_id: this.#options.chain_id, data };
  }
}
