/** Rows of the ride market as the interface's objects. Amounts stay the digits that Postgres wrote. */
import { byteaHex, type Cell } from '../../runtime/postgres/cells.ts';
import type { Cells } from '../../runtime/postgres/pool.ts';

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
    txHash: byteaHex(hash),
    pickupLocation: { latitude: Number(pickupLat), longitude: Number(pickupLng) },
    dropoffLocation: { latitude: Number(dropoffLat), longitude: Number(dropoffLng) },
    fare,
    passengerAddress: byteaHex(passenger),
    referrer: optionalHex(referrer),
  };
}

/** A row of `rideOffers`. */
export function offerObject([hash, requestHash, fare, driver, referrer]: Cells): object {
  return {
    txHash: byteaHex(hash),
    rideRequestTxHash: byteaHex(requestHash),
    fare,
    driverAddress: byteaHex(driver),
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
    txHash: byteaHex(hash),
    rideOfferTxHash: byteaHex(offerHash),
    rideRequestTxHash: byteaHex(requestHash),
    pickupLocation: { latitude: Number(pickupLat), longitude: Number(pickupLng) },
    dropoffLocation: { latitude: Number(dropoffLat), longitude: Number(dropoffLng) },
    fare,
    farePaid,
    driverAddress: byteaHex(driver),
    passengerAddress: byteaHex(passenger),
    tripStatus,
  };
}

function optionalHex(bytea: Cell): string | null {
  return bytea === null || bytea === undefined ? null : byteaHex(bytea);
}
