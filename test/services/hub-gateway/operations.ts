/** Every operation of the hub, and whether the specification asks for a token. */
const HASH = `0x${'11'.repeat(32)}`;
const ADDRESS = `0x${'22'.repeat(20)}`;

export interface MatrixRow {
  readonly name: string;
  readonly operation: string;
  readonly needs_token: boolean;
}

function row(
  kind: 'query' | 'mutation' | 'subscription',
  field: string,
  needsToken: boolean,
): MatrixRow {
  return {
    name: /^\w+/.exec(field)?.[0] ?? '',
    operation: `${kind} { ${field} }`,
    needs_token: needsToken,
  };
}

const SIGNATURE = `{ r: "${'1'.repeat(64)}", s: "${'1'.repeat(64)}", v: 27 }`;

export const QUERIES_AND_MUTATIONS: readonly MatrixRow[] = [
  row(
    'mutation',
    `generateToken(publicKey: "${ADDRESS}", timestamp: 1, signature: ${SIGNATURE}) { token expiresAt }`,
    false,
  ),
  row('query', 'chainInfo { chainId }', false),
  row('query', 'listRideRequests { txHash }', false),
  row('query', `listRideOffers(rideRequestTxHash: "${HASH}") { txHash }`, false),
  row('query', 'listActiveTrips { txHash }', false),
  row('query', 'listCompletedTrips { txHash }', false),
  row('query', 'listRecentTrips { txHash tripStatus }', false),
  row('query', `ride(txHash: "${HASH}") { status }`, false),
  row('query', 'accountBalance', true),
  row('query', `accountBalance(publicKey: "${ADDRESS}")`, true),
  row(
    'mutation',
    'createUnsignedRideRequest(pickupLatitude: 1, pickupLongitude: 1, dropoffLatitude: 1, dropoffLongitude: 1, fare: "1")',
    true,
  ),
  row(
    'mutation',
    `createUnsignedRideOffer(rideRequestTransactionHash: "${HASH}", fare: "1")`,
    true,
  ),
  row('mutation', `createUnsignedRideAcceptance(rideOfferTransactionHash: "${HASH}")`, true),
  row(
    'mutation',
    `createUnsignedRidePay(rideAcceptanceTransactionHash: "${HASH}", fare: "1")`,
    true,
  ),
  row('mutation', `createUnsignedRideCancel(rideAcceptanceTransactionHash: "${HASH}")`, true),
  row('mutation', `createUnsignedRideRequestCancel(rideRequestTransactionHash: "${HASH}")`, true),
  row('mutation', 'createUnsignedBurn(amount: "1")', true),
  row('mutation', 'sendRawTransaction(rawTransaction: "0x00")', true),
];

export const SUBSCRIPTIONS: readonly MatrixRow[] = [
  row('subscription', 'rideRequestsUpdated { txHash }', false),
  row('subscription', `rideOffersUpdated(rideRequestTxHash: "${HASH}") { txHash }`, false),
  row('subscription', 'activeTripsUpdated { txHash }', false),
  row('subscription', 'completedTripsUpdated { txHash }', false),
  row('subscription', 'recentTripsUpdated { txHash tripStatus }', false),
  row('subscription', `rideUpdated(txHash: "${HASH}") { status }`, false),
  row('subscription', `accountBalanceUpdated(publicKey: "${ADDRESS}")`, false),
];
