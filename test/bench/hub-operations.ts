/** What is asked of the hub and of what it is measured against. */

const FIELDS =
  'txHash pickupLocation { latitude longitude } dropoffLocation { latitude longitude } fare passengerAddress referrer';

export const LIST_BODY = JSON.stringify({ query: `{ listRideRequests { ${FIELDS} } }` });
export const SUBSCRIPTION = `subscription { rideRequestsUpdated { ${FIELDS} } }`;
