/** Operations for the hub and for the server that it is compared with. */

const FIELDS =
  'txHash pickupLocation { latitude longitude } dropoffLocation { latitude longitude } fare passengerAddress referrer';

export const LIST_BODY = JSON.stringify({ query: `{ listRideRequests { ${FIELDS} } }` });
export const SUBSCRIPTION = `subscription { rideRequestsUpdated { ${FIELDS} } }`;
