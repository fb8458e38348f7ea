/**
 * What a notification of this projection names: the lists that changed. A notification without keys means that any may have. Who shows a list re-reads it when its area is named;
 * the narrower areas only save reading what cannot have changed, and never come without the wider one.
 *
 *   requests                        the list of open requests
 *   requests:<lat>,<lng>            one with this pickup came, closed or came back
 *   offers:0x<request hash>         the offers of this request; none is listed once it is closed
 *   trips                           active trips, what is paid of them too
 *   trips:0x<address>               those with this driver or passenger
 *   ended_trips                     completed and recent trips
 *   ended_trips:0x<address>         those with this driver or passenger
 */
import { toHex } from '../../schemas/address.ts';

export const REQUESTS = 'requests';
export const TRIPS = 'trips';
export const ENDED_TRIPS = 'ended_trips';

/** Decimal degrees. */
export function requestsAt(pickup: { readonly lat: string; readonly lng: string }): string {
  return `${REQUESTS}:${pickup.lat},${pickup.lng}`;
}

export function offersFor(requestHash: Buffer): string {
  return `offers:${toHex(requestHash)}`;
}

export function tripsOf(area: typeof TRIPS | typeof ENDED_TRIPS, address: Buffer): string {
  return `${area}:${toHex(address)}`;
}
