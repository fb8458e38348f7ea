/** Rows of the ride market as the interface's objects. Amounts stay the digits that Postgres wrote. */
import type { Cells } from '../../runtime/postgres/pool.ts';

type Cell = Cells[number] | undefined;

/** A row of `rideRequests`. */
export function requestObject([
  hash,
  pickupLat,
  pickupLng,
  dropoffLat,
  dropoffLng,
  fare,
  passenger,
  referrer,
]: Cells): object {
  return {
    txHash: hex(hash),
    pickupLocation: { latitude: Number(pickupLat), longitude: Number(pickupLng) },
    dropoffLocation: { latitude: Number(dropoffLat), longitude: Number(dropoffLng) },
    fare,
    passengerAddress: hex(passenger),
    referrer: optionalHex(referrer),
  };
}

/** A row of `rideOffers`. */
export function offerObject([hash, requestHash, fare, driver, referrer]: Cells): object {
  return {
    txHash: hex(hash),
    rideRequestTxHash: hex(requestHash),
    fare,
    driverAddress: hex(driver),
    referrer: optionalHex(referrer),
  };
}

/** A row of `activeTrips`, `completedTrips` or `recentTrips`. */
export function tripObject(cells: Cells): object {
  const [
    hash,
    offerHash,
    requestHash,
    pickupLat,
    pickupLng,
    dropoffLat,
    dropoffLng,
    fare,
    farePaid,
    driver,
    passenger,
    tripStatus,
  ] = cells;
  return {
    txHash: hex(hash),
    rideOfferTxHash: hex(offerHash),
    rideRequestTxHash: hex(requestHash),
    pickupLocation: { latitude: Number(pickupLat), longitude: Number(pickupLng) },
    dropoffLocation: { latitude: Number(dropoffLat), longitude: Number(dropoffLng) },
    fare,
    farePaid,
    driverAddress: hex(driver),
    passengerAddress: hex(passenger),
    tripStatus,
  };
}

/** Of a bytea, `\x..`: 0x.. */
export function hex(bytea: Cell): string {
  return `0x${(bytea ?? '').slice(2)}`;
}

function optionalHex(bytea: Cell): string | null {
  return bytea === null || bytea === undefined ? null : hex(bytea);
}
