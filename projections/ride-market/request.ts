/**
 * The life of a ride request. A passenger asks; drivers make offers while it is open; it is closed by the acceptance of one offer, which begins a trip, or by the passenger, who takes it back.
 * Neither can be undone, save by a reorganisation.
 *
 * An offer has no life of its own: once made it says the same for ever. It is open as long as its request is, and afterwards either the accepted one or lapsed.
 *
 * Steps that do not fit a state have no effect.
 */
import type { Place, RideRequest } from './ride-step.ts';

export type Request = AbsentRequest | OpenRequest | AcceptedRequest | CancelledRequest;

export interface AbsentRequest {
  readonly status: 'absent';
}

export interface OpenRequest {
  readonly status: 'open';
  readonly request: RideRequest;
}

export interface AcceptedRequest {
  readonly status: 'accepted';
  readonly request: RideRequest;
  readonly offer_hash: Buffer;
  readonly closed: Place;
}

export interface CancelledRequest {
  readonly status: 'cancelled';
  readonly request: RideRequest;
  readonly closed: Place;
}

export type RequestStep =
  | { readonly step: 'requested'; readonly request: RideRequest }
  | { readonly step: 'accepted'; readonly offer_hash: Buffer; readonly at: Place }
  | { readonly step: 'request_cancelled'; readonly at: Place };

export const NO_REQUEST: AbsentRequest = { status: 'absent' };

/** The one step of the fold: the state afterwards, which is the same object where the step does not fit. Never throws. */
export function evolve(state: Request, step: RequestStep): Request {
  switch (step.step) {
    case 'requested':
      return state.status === 'absent' ? { status: 'open', request: step.request } : state;
    case 'accepted':
      if (state.status !== 'open') return state;
      return {
        status: 'accepted',
        request: state.request,
        offer_hash: step.offer_hash,
        closed: step.at,
      };
    case 'request_cancelled':
      return state.status === 'open'
        ? { status: 'cancelled', request: state.request, closed: step.at }
        : state;
  }
}
