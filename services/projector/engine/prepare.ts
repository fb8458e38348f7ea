/** Decoded records with what the transaction that folds them needs. */
import type { Load, Projection } from '../../../projections/contract/projection.ts';
import type { Decoded, Poison } from '../../runtime/kafka/decode.ts';
import { assert } from '../../runtime/process/errors.ts';

export interface Prepared<Event> extends Decoded<Event> {
  /** the rows that folding all of these events needs */
  readonly loads: readonly Load[];
}

/** With what its fold needs to be loaded. */
export function withLoads<Event extends { readonly type: string }>(
  projection: Pick<Projection<Event>, 'loads'>,
  decoded: Decoded<Event>,
): Prepared<Event> {
  return { ...decoded, loads: projection.loads(decoded.events) };
}

/** Of what the fold found to break the log. */
export function poisonIn<Event>(
  { events, fingerprints }: Decoded<Event>,
  { offset, reason }: Omit<Poison, 'fingerprint'>,
): Poison {
  const print = fingerprints[events.findIndex((event) => event.offset === offset)];
  assert(print !== undefined, 'what breaks a batch is one of its records');
  return { offset, reason, fingerprint: print };
}
