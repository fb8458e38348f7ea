/**
 * The life cycle of a ride request. A passenger opens it; drivers make offers while it is open. The
 * passenger closes it by accepting one offer, which begins a trip, or by cancelling it. Only a
 * reorganisation reopens it. A step that does not fit the state has no effect.
 *
 * An offer never changes. It is open while its request is; then it is accepted or has lapsed.
 */
import type { At, ChainPosition, RideRequest } from './ride-step.ts';

export type Request =
  | { readonly status: 'absent' }
  | { readonly status: 'open'; readonly request: RideRequest }
  | (Closed & { readonly status: 'accepted'; readonly offer_hash: Buffer })
  | (Closed & { readonly status: 'cancelled' });

interface Closed {
  readonly request: RideRequest;
  /** by this transaction */
  readonly closed: ChainPosition;
  readonly closed_hash: Buffer;
}

export type RequestStep =
  | { readonly step: 'requested'; readonly request: RideRequest }
  | (At & { readonly step: 'accepted'; readonly offer_hash: Buffer })
  | (At & { readonly step: 'request_cancelled' });

export const NO_REQUEST: Request = { status: 'absent' };

/** The next state: the same object when the step does not fit. Never throws. */
export function evolve(state: Request, step: RequestStep): Request {
  switch (step.step) {
    case 'requested':
      return state.status === 'absent' ? { status: 'open', request: step.request } : state;
    case 'accepted':
      if (state.status !== 'open') return state;
      return { status: 'accepted', offer_hash: step.offer_hash, ...closedBy(state.request, step) };
    case 'request_cancelled':
      return state.status === 'open'
        ? { status: 'cancelled', ...closedBy(state.request, step) }
        : state;
  }
}

function closedBy(request: RideRequest, { hash, at }: At): Closed {
  return { request, closed: at, closed_hash: hash };
}
