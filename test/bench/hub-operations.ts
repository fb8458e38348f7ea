/** Operations for the hub and for the server that it is compared with. */

const FIELDS =
  'txHash pickupLocation { latitude longitude } dropoffLocation { latitude longitude } fare passengerAddress referrer';

/** A document that no server has seen before: the list under a name of its own. */
export function coldBody(number: number): string {
  return JSON.stringify({ query: `{ list${number}: listRideRequests { ${FIELDS} } }` });
}

export const LIST_BODY = JSON.stringify({ query: `{ listRideRequests { ${FIELDS} } }` });
export const SUBSCRIPTION = `subscription { rideRequestsUpdated { ${FIELDS} } }`;
