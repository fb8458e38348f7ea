/** What each field of the schema gives. Thin: arguments are read strictly, the read model is asked, rows become objects. */
import type { GraphQLResolveInfo } from 'graphql';
import type { Caller } from '../http/callers.ts';
import { Refused } from './errors.ts';
import type { HubContext } from '../hub.ts';
import {
  activeTripsList,
  completedTripsList,
  offersList,
  recentTripsList,
  requestsList,
  type ListOf,
} from './lists.ts';
import { readPublicKey } from './parameters.ts';
import type { RideRequestArguments } from './builders.ts';
import type { SignInRequest } from '../../../schemas/sign-in.ts';
import { readSubmission } from './submission.ts';

type Resolver<Arguments> = (
  root: unknown,
  args: Arguments,
  context: HubContext,
  info: Pick<GraphQLResolveInfo, 'path'>,
) => unknown;
/** As GraphQL calls it: the schema has made sure of the arguments' types. */
export type AnyResolver = Resolver<never>;

function listed<Arguments>(list: ListOf<Arguments>): Resolver<Arguments> {
  return async (_root, args, { hub, waitFor, cut }, { path }) => {
    const {
      query,
      toObject,
      isTouchedBy,
      rows_max: max = Number.POSITIVE_INFINITY,
    } = list(args, hub.list_rows_max);
    waitFor?.({ of: 'market', isTouchedBy });
    const rows = await hub.reader.rows(query);
    if (rows.length <= max) return rows.map(toObject);
    cut?.(String(path.key));
    return rows.slice(0, max).map(toObject);
  };
}

/** Only for those with a token. */
function guarded<Arguments>(
  resolve: (caller: Caller, args: Arguments, context: HubContext) => unknown,
): Resolver<Arguments> {
  return (_root, args, context) => {
    if (context.caller === undefined) {
      throw new Refused(
        'UNAUTHENTICATED',
        'a token is needed: sign in with generateToken and send it as Authorization: Bearer <token>',
      );
    }
    return resolve(context.caller, args, context);
  };
}

const SIGN_IN_REFUSALS = {
  wrong_time:
    "timestamp must be in Unix seconds and at most 120 s from the server's time: check your clock",
  wrong_signature:
    'the signature is not one of publicKey over the challenge service-auth:{chain_id}:{publicKey}:{timestamp}',
  used_before: 'this challenge was used before: sign a new one',
} as const;

const signIn: Resolver<SignInRequest> = async (_root, args, { hub }) => {
  const signed = await hub.sign_ins.signIn(args);
  if ('refused' in signed) throw new Refused('UNAUTHENTICATED', SIGN_IN_REFUSALS[signed.refused]);
  return signed;
};

export const RESOLVERS: Readonly<
  Record<'Query' | 'Mutation' | 'Subscription', Readonly<Record<string, AnyResolver>>>
> = {
  Query: {
    chainInfo: (_root, _args, { hub }) => hub.chain.info,
    listRideRequests: listed(requestsList),
    listRideOffers: listed(offersList),
    listActiveTrips: listed(activeTripsList),
    listCompletedTrips: listed(completedTripsList),
    listRecentTrips: listed(recentTripsList),
    accountBalance: guarded(
      ({ account }, { publicKey }: { readonly publicKey?: string | null }, { hub }) =>
        hub.balances.of(readPublicKey(publicKey ?? account)),
    ),
  },
  Mutation: {
    generateToken: signIn,
    createUnsignedRideRequest: guarded((caller, args: RideRequestArguments, { hub }) =>
      hub.builders.rideRequest(caller, args),
    ),
    createUnsignedRideOffer: guarded(
      (
        caller,
        args: { readonly rideRequestTransactionHash: string; readonly fare: string },
        { hub },
      ) => hub.builders.rideOffer(caller, args.rideRequestTransactionHash, args.fare),
    ),
    createUnsignedRideAcceptance: guarded(
      (caller, args: { readonly rideOfferTransactionHash: string }, { hub }) =>
        hub.builders.rideAcceptance(caller, args.rideOfferTransactionHash),
    ),
    createUnsignedRidePay: guarded(
      (
        caller,
        args: { readonly rideAcceptanceTransactionHash: string; readonly fare: string },
        { hub },
      ) => hub.builders.ridePay(caller, args.rideAcceptanceTransactionHash, args.fare),
    ),
    createUnsignedRideCancel: guarded(
      (caller, args: { readonly rideAcceptanceTransactionHash: string }, { hub }) =>
        hub.builders.rideCancel(caller, args.rideAcceptanceTransactionHash),
    ),
    createUnsignedRideRequestCancel: guarded(
      (caller, args: { readonly rideRequestTransactionHash: string }, { hub }) =>
        hub.builders.rideRequestCancel(caller, args.rideRequestTransactionHash),
    ),
    createUnsignedBurn: guarded(
      (
        caller,
        args: { readonly amount: string; readonly redemptionRef?: string | null },
        { hub },
      ) => hub.builders.burn(caller, args.amount, args.redemptionRef),
    ),
    sendRawTransaction: guarded(
      async (caller, { rawTransaction }: { readonly rawTransaction: string }, { hub }) =>
        (await hub.node.submit(readSubmission(rawTransaction, caller, hub.chain_id))).json,
    ),
  },
  Subscription: {
    rideRequestsUpdated: listed(requestsList),
    rideOffersUpdated: listed(offersList),
    activeTripsUpdated: listed(activeTripsList),
    completedTripsUpdated: listed(completedTripsList),
    recentTripsUpdated: listed(recentTripsList),
    accountBalanceUpdated: (
      _root,
      { publicKey }: { readonly publicKey: string },
      { hub, waitFor },
    ) => {
      const account = readPublicKey(publicKey);
      waitFor?.({ of: 'accounts' });
      return hub.balances.of(account);
    },
  },
};
