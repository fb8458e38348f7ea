/**
 * The life cycle of a ride request. A passenger opens it; drivers make offers while it is open. The
 * passenger closes it by accepting one offer, which begins a trip, or by cancelling it. Only a
 * reorganisation reopens it. A step that does not fit the state has no effect.
 *
 * An offer never changes. It is open while its request is; then it is accepted or has lapsed.
 */
import type { ChainPosition, RideRequest } from './ride-step.ts';

export type Request =
  | { readonly status: 'absent' }
  | { readonly status: 'open'; readonly request: RideRequest }
  | (Closed & { readonly status: 'accepted'; readonly offer_hash: Buffer })
  | (Closed & { readonly status: 'cancelled' });

interface Closed {
  readonly request: RideRequest;
  readonly closed: ChainPosition;
}

export type RequestStep =
  | { readonly step: 'requested'; readonly request: RideRequest }
  | { readonly step: 'accepted'; readonly offer_hash: Buffer; readonly at: ChainPosition }
  | { readonly step: 'request_cancelled'; readonly at: ChainPosition };

export const NO_REQUEST: Request = { status: 'absent' };

/** The next state: the same object when the step does not fit. Never throws. */
export function evolve(state: Request, step: RequestStep): Request {
  switch (step.step) {
    case 'requested':
      return state.status === 'absent' ? { status: 'open', request: step.request } : state;
    case 'accepted':
      if (state.status !== 'open') return state;
      return { ...state, status: 'accepted', offer_hash: step.offer_hash, closed: step.at };
    case 'request_cancelled':
      return state.status === 'open'
        ? { status: 'cancelled', request: state.request, closed: step.at }
        : state;
  }
}
