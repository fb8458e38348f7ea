/** The hub's subscriptions, as `schemas/hub.graphql` describes them. */
import type { Client } from 'graphql-ws/client';
import { useEffect, useState } from 'react';
import { socketClient } from '../../../../packages/wallet/src/socket.ts';
import type { KnownRide } from '../../../../schemas/explorer-api/words.ts';
import { TEXT } from '../text.ts';
import { ServiceError } from './service.ts';

/** Base units as decimal digits. */
type Amount = string;

export interface Coordinates {
  readonly latitude: number;
  readonly longitude: number;
}

export interface Bounds {
  readonly minLat: number;
  readonly maxLat: number;
  readonly minLng: number;
  readonly maxLng: number;
}

interface Route {
  readonly pickupLocation: Coordinates;
  readonly dropoffLocation: Coordinates;
}

export interface OpenRequest extends Route {
  readonly txHash: string;
  readonly fare: Amount;
  readonly passengerAddress: string;
}

export interface ActiveTrip extends Route {
  readonly txHash: string;
  readonly fare: Amount;
  readonly farePaid: Amount;
  readonly driverAddress: string;
}

export type StepName = 'requested' | 'offered' | 'accepted' | 'paid' | 'cancelled';

/** As sentences are made of it. */
type KnownStep = KnownRide['steps'][number];

export interface RideStep extends KnownStep {
  readonly step: StepName;
  readonly block_height: number;
}

export interface Ride extends KnownRide, Route {
  readonly rideRequestTxHash: string;
  readonly tripTxHash: string | null;
  readonly steps: readonly RideStep[];
}

/** Offers and payments that the hub names of one ride. */
export const STEPS_MAX = 200;

const ROUTE = 'pickupLocation { latitude longitude } dropoffLocation { latitude longitude }';

export const REQUESTS = `subscription ($bounds: MapBoundsInput, $limit: Int) {
  result: rideRequestsUpdated(bounds: $bounds, limit: $limit) { txHash ${ROUTE} fare passengerAddress }
}`;
export const TRIPS = `subscription ($limit: Int) {
  result: activeTripsUpdated(limit: $limit) { txHash ${ROUTE} fare farePaid driverAddress }
}`;
export const RIDE = `subscription ($hash: String!) {
  result: rideUpdated(txHash: $hash) {
    status rideRequestTxHash tripTxHash ${ROUTE} fare fare_paid: farePaid
    passenger: passengerAddress driver: driverAddress
    steps { step tx_hash: txHash block_height: blockHeight amount }
  }
}`;

function newest(list: string, fields: string): string {
  return `subscription ($limit: Int) { result: ${list}(limit: $limit) { txHash ${fields} } }`;
}
/** Newest first, without places. */
export const NEWEST_RIDES = {
  open: newest('rideRequestsUpdated', 'fare'),
  active: newest('activeTripsUpdated', 'fare farePaid'),
  paid: newest('completedTripsUpdated', 'fare'),
} as const;

export const BALANCE = `subscription ($account: String!) {
  result: accountBalanceUpdated(publicKey: $account)
}`;

interface Connection {
  readonly client: Client;
  /** callbacks that are told when the socket closes */
  readonly listeners: Set<() => void>;
}

/** After this time a subscription that the hub ended begins again: a limit may be gone by then. */
const AGAIN_MS = 10_000;

/** One socket for each hub, opened when somebody subscribes. */
const connections = new Map<string, Connection>();

function connectionTo(hubUrl: string): Connection {
  const known = connections.get(hubUrl);
  if (known !== undefined) return known;
  const listeners = new Set<() => void>();
  const client = socketClient({ url: `${hubUrl}/graphql` });
  client.on('closed', () => listeners.forEach((listener) => listener()));
  const opened = { client, listeners };
  connections.set(hubUrl, opened);
  return opened;
}

/** A result that `Answer` shows, like that of a query. */
export interface Live<Data> {
  readonly data: Data | undefined;
  readonly error: Error | null;
  /** Unix milliseconds */
  readonly dataUpdatedAt: number;
}

const NOTHING = { data: undefined, error: null, dataUpdatedAt: 0 } as const;

/** The newest result. While the hub is away the last one stays, with an error beside it. */
export function useSubscription<Data>(
  hubUrl: string,
  query: string,
  variables: object,
): Live<Data> {
  const [live, setLive] = useState<Live<Data>>(NOTHING);
  const [turn, setTurn] = useState(0);
  const asked = JSON.stringify(variables);
  useEffect(() => {
    const { client, listeners } = connectionTo(hubUrl);
    const failed = (status: number, message: string): void =>
      setLive((before) => ({
        ...before,
        error: new ServiceError(status, message),
        dataUpdatedAt: before.error === null ? Date.now() : before.dataUpdatedAt,
      }));
    let hasLeft = false;
    let again: ReturnType<typeof setTimeout> | undefined;
    const ended = (): void => {
      if (!hasLeft) again ??= setTimeout(() => setTurn(turn + 1), AGAIN_MS);
    };
    // the error ends with the next result: a new socket begins a subscription anew
    const listener = (): void => {
      if (again === undefined) failed(0, 'the socket is closed');
    };
    listeners.add(listener);
    const stop = client.subscribe<{ readonly result: Data }>(
      { query, variables: JSON.parse(asked) },
      {
        next: ({ data, errors }) => {
          if (data === null || data === undefined)
            failed(503, errors?.[0]?.message ?? TEXT.states.noData);
          else setLive({ data: data.result, error: null, dataUpdatedAt: Date.now() });
        },
        error: (error) => {
          const [first] = Array.isArray(error) ? error : [error];
          failed(400, first instanceof Error ? first.message : String(first?.message ?? first));
          ended();
        },
        complete: ended,
      },
    );
    return () => {
      hasLeft = true;
      clearTimeout(again);
      listeners.delete(listener);
      stop();
    };
  }, [hubUrl, query, asked, turn]);
  return live;
}
