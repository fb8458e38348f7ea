/** The executable schema: schemas/hub.graphql with a resolver for each of its root fields. */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import {
  buildSchema,
  Kind,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  type SelectionSetNode,
} from 'graphql';
import { rideByHash } from '../../../projections/ride-market/queries.ts';
import type { SignInRequest } from '../../../schemas/sign-in.ts';
import { assert } from '../../runtime/process/errors.ts';
import type { Caller } from './authentication.ts';
import type { HubContext } from './context.ts';
import { Refused } from './errors.ts';
import { toObjects } from './list-reader.ts';
import {
  activeTripsList,
  completedTripsList,
  offersList,
  recentTripsList,
  requestsList,
  rideObject,
  STEPS_MAX,
  touchesRide,
  type ListOf,
} from './lists.ts';
import { readHash, readPublicKey, readSubmission } from './parameters.ts';
import { sendTransaction } from './submission.ts';
import {
  burn,
  rideAcceptance,
  rideCancel,
  rideOffer,
  ridePay,
  rideRequest,
  rideRequestCancel,
} from './unsigned-transactions.ts';

export const HUB_SDL = readFileSync(
  new URL('../../../schemas/hub.graphql', import.meta.url),
  'utf8',
);

type Resolver<Arguments> = (
  root: unknown,
  args: Arguments,
  context: HubContext,
  info: Pick<GraphQLResolveInfo, 'path' | 'fieldNodes' | 'fragments'>,
) => unknown;
/** GraphQL calls them with the arguments' types that the schema declares. */
type Resolvers = Readonly<Record<string, Resolver<never>>>;

function resolveList<Arguments>(list: ListOf<Arguments>): Resolver<Arguments> {
  return async (_root, args, { lists, dependsOn, truncation }, info) => {
    const { query, limit, toObject, isTouchedBy } = list(args);
    dependsOn?.({ model: 'market', isTouchedBy });
    const fields = info.fieldNodes.reduce((sum, node) => sum + fieldsIn(node, info.fragments), 0);
    const { rows, isTruncated } = await lists.read(query, { limit, fields });
    if (isTruncated) truncation.add(String(info.path.key));
    return toObjects(rows, toObject);
  };
}

const resolveRide: Resolver<{ readonly txHash: string }> = async (
  _root,
  args,
  { lists, dependsOn },
) => {
  const hash = readHash('txHash', args.txHash);
  dependsOn?.({ model: 'market', isTouchedBy: touchesRide });
  return rideObject((await lists.read(() => rideByHash(hash, STEPS_MAX))).rows);
};

/** The fields below a node, those of fragments included. */
function fieldsIn(
  { selectionSet }: { readonly selectionSet?: SelectionSetNode | undefined },
  fragments: GraphQLResolveInfo['fragments'],
): number {
  return (selectionSet?.selections ?? []).reduce((sum, selection) => {
    if (selection.kind === Kind.FIELD) return sum + 1 + fieldsIn(selection, fragments);
    const fragment =
      selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments[selection.name.value];
    return fragment === undefined ? sum : sum + fieldsIn(fragment, fragments);
  }, 0);
}

function authenticated<Arguments>(
  resolve: (caller: Caller, args: Arguments, context: HubContext) => unknown,
): Resolver<Arguments> {
  return (_root, args, context) => {
    if (context.caller === undefined)
      throw new Refused(
        'UNAUTHENTICATED',
        'a token is needed: sign in with generateToken and send it as Authorization: Bearer <token>, on a socket in connection_init',
      );
    return resolve(context.caller, args, context);
  };
}

/** Recovering the signer takes the time of so many queries more. */
const SIGN_IN_REQUESTS = 4;

const signIn: Resolver<SignInRequest> = async (_root, args, { hub, client = '' }) => {
  const wait = hub.rate?.take(client, performance.now(), SIGN_IN_REQUESTS) ?? 0;
  if (wait > 0)
    throw new Refused(
      'RATE_LIMITED',
      `too many sign-ins: try again in ${Math.ceil(wait / 1_000)} s`,
    );
  const signed = await hub.sign_ins.signIn(args);
  if ('refused' in signed) throw new Refused('UNAUTHENTICATED', signed.message);
  return signed;
};

const QUERIES: Resolvers = {
  chainInfo: (_root, _args, { hub }) => hub.chain.info,
  listRideRequests: resolveList(requestsList),
  listRideOffers: resolveList(offersList),
  listActiveTrips: resolveList(activeTripsList),
  listCompletedTrips: resolveList(completedTripsList),
  listRecentTrips: resolveList(recentTripsList),
  ride: resolveRide,
  accountBalance: authenticated(
    ({ account }, { publicKey }: { readonly publicKey?: string | null }, { hub }) =>
      hub.balances.of(readPublicKey(publicKey ?? account)),
  ),
};

const MUTATIONS: Resolvers = {
  generateToken: signIn,
  createUnsignedRideRequest: authenticated(rideRequest),
  createUnsignedRideOffer: authenticated(rideOffer),
  createUnsignedRideAcceptance: authenticated(rideAcceptance),
  createUnsignedRidePay: authenticated(ridePay),
  createUnsignedRideCancel: authenticated(rideCancel),
  createUnsignedRideRequestCancel: authenticated(rideRequestCancel),
  createUnsignedBurn: authenticated(burn),
  sendRawTransaction: authenticated(
    (caller, { rawTransaction }: { readonly rawTransaction: string }, { hub }) =>
      sendTransaction(hub, readSubmission(rawTransaction, caller, hub.chain_id)),
  ),
};

const SUBSCRIPTIONS: Resolvers = {
  rideRequestsUpdated: resolveList(requestsList),
  rideOffersUpdated: resolveList(offersList),
  activeTripsUpdated: resolveList(activeTripsList),
  completedTripsUpdated: resolveList(completedTripsList),
  recentTripsUpdated: resolveList(recentTripsList),
  rideUpdated: resolveRide,
  accountBalanceUpdated: (
    _root,
    { publicKey }: { readonly publicKey: string },
    { hub, dependsOn },
  ) => {
    const account = readPublicKey(publicKey);
    dependsOn?.({ model: 'accounts' });
    return hub.balances.of(account);
  },
};

export function hubSchema(): GraphQLSchema {
  const schema = buildSchema(HUB_SDL);
  for (const [type, resolvers] of [
    [schema.getQueryType(), QUERIES],
    [schema.getMutationType(), MUTATIONS],
    [schema.getSubscriptionType(), SUBSCRIPTIONS],
  ] as const) {
    const fields = type?.getFields() ?? {};
    assert(
      Object.keys(fields).toSorted().join() === Object.keys(resolvers).toSorted().join(),
      `the fields of ${type?.name} and their resolvers differ`,
    );
    for (const [field, resolve] of Object.entries(resolvers))
      Object.assign(fields[field] ?? {}, { resolve });
  }
  return schema;
}
