/**
 * The limits of the gateways, by name. Each is a class or a rule of this folder; `docs/limits.md`
 * tells what each stops, and shows what happens without it.
 */
import type { Logger } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';

export const LIMIT_NAMES = [
  'rate',
  'addresses',
  'connections',
  'bytes',
  'documents',
  'starts',
  'turns',
  'subscriptions',
  'long_reads',
] as const;
export type LimitName = (typeof LIMIT_NAMES)[number];

export interface Limit {
  /** false: nothing is refused */
  readonly is_on: boolean;
  /** Counts a refusal. */
  refused(): void;
}

/** Refuses, and counts nothing. */
export const ON: Limit = { is_on: true, refused: () => undefined };

export type Limits = Readonly<Record<LimitName, Limit>>;

/** Thrown when a limit refuses an operation that has begun. */
export class LimitReached extends Error {
  override readonly name = 'LimitReached';
}

/** The limits of a process; without metrics none is counted. `off`: those that are switched off. */
export function openLimits(
  off: ReadonlySet<LimitName> = new Set(),
  metrics?: Metrics,
  log?: Logger,
): Limits {
  const refusals = metrics?.counter(
    'limit_refusals_total',
    'Requests, messages and connections that a limit refused',
    ['limit'],
  );
  const open = (name: LimitName): Limit => {
    // an alert compares with an earlier value
    refusals?.inc({ limit: name }, 0);
    return { is_on: !off.has(name), refused: () => refusals?.inc({ limit: name }) };
  };
  if (off.size > 0)
    log?.warn({ limits: [...off] }, 'limits are switched off: one client can slow all others');
  return {
    rate: open('rate'),
    addresses: open('addresses'),
    connections: open('connections'),
    bytes: open('bytes'),
    documents: open('documents'),
    starts: open('starts'),
    turns: open('turns'),
    subscriptions: open('subscriptions'),
    long_reads: open('long_reads'),
  };
}
