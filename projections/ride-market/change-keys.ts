/**
 * Keys of this projection's change notifications: the lists that changed. A notification without
 * keys means that any list may have changed. A reader re-reads a list when its key is named. The
 * narrower keys never come without the wider one; they only save reading unchanged lists.
 *
 *   requests                        the list of open requests
 *   requests:<lat>,<lng>            a request with this pickup was opened, closed or restored
 *   offers:0x<request hash>         the offers of this request; none is listed once it is closed
 *   trips                           active trips, including what is paid of them
 *   trips:0x<address>               active trips with this driver or passenger
 *   ended_trips                     completed and recent trips
 *   ended_trips:0x<address>         ended trips with this driver or passenger
 */
import { toHex } from '../../schemas/address.ts';

export const REQUESTS_KEY = 'requests';
export const TRIPS_KEY = 'trips';
export const ENDED_TRIPS_KEY = 'ended_trips';
export type TripsKey = typeof TRIPS_KEY | typeof ENDED_TRIPS_KEY;

/** `pickup` in decimal degrees. */
export function pickupKey(pickup: { readonly lat: string; readonly lng: string }): string {
  return `${REQUESTS_KEY}:${pickup.lat},${pickup.lng}`;
}

export function offersKey(requestHash: Buffer): string {
  return `offers:${toHex(requestHash)}`;
}

/** `party`: the driver or the passenger. */
export function partyKey(list: TripsKey, party: Buffer): string {
  return `${list}:${toHex(party)}`;
}
