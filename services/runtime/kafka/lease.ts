/**
 * A lease: of the instances of a service, one at a time works, and the others stand by. Kafka's
 * group assignment decides: the member that has the topic's partitions holds the lease. It loses
 * the lease at a rebalance, when it leaves, and by its own clock when the brokers have acknowledged
 * no heartbeat for two thirds of the session: that is before they give the partitions to another
 * member. A frozen process cannot look at its clock, so the offsets that events are written for
 * stay the fence against a former holder.
 */
import { waitingFor, type HealthProblem } from '../process/health.ts';
import type { Logger } from '../process/log.ts';
import type { Metrics } from '../process/metrics.ts';
import { aborted } from '../process/retry.ts';
import { Membership } from './membership.ts';
import type { Claim, Kafka } from './port.ts';

/** The share of the session for which a holder believes in an acknowledged heartbeat. */
const BELIEVED = 2 / 3;

/** `heard_at`: when the newest acknowledged heartbeat was sent, in ms of a monotonic clock. */
export type Tenure =
  /** not a member, or the group is rebalancing; with a time, it held the lease before */
  | { readonly status: 'outside'; readonly heard_at?: number }
  | { readonly status: 'standby' }
  | { readonly status: 'holding'; readonly heard_at: number };

export type TenureEvent =
  | { readonly type: 'assigned'; readonly partitions: number; readonly at: number }
  | { readonly type: 'heard'; readonly at: number }
  /** the group rebalances: others get our partitions once we have joined again, or are late */
  | { readonly type: 'revoked' }
  | { readonly type: 'left' };

export const OUTSIDE: Tenure = { status: 'outside' };

export function tenureAfter(tenure: Tenure, event: TenureEvent): Tenure {
  switch (event.type) {
    case 'assigned':
      return event.partitions > 0
        ? { status: 'holding', heard_at: event.at }
        : { status: 'standby' };
    case 'heard':
      return tenure.status === 'holding' ? { ...tenure, heard_at: event.at } : tenure;
    case 'revoked':
      return tenure.status === 'standby' ? OUTSIDE : { ...tenure, status: 'outside' };
    case 'left':
      return OUTSIDE;
  }
}

function isRecent(heardAt: number | undefined, session_ms: number, now: number): boolean {
  return heardAt !== undefined && now - heardAt < session_ms * BELIEVED;
}

export function isHeldAt(tenure: Tenure, session_ms: number, now: number): boolean {
  return tenure.status === 'holding' && isRecent(tenure.heard_at, session_ms, now);
}

/** Whether a member that joins again asks to keep the lease. */
export function keepsAt(tenure: Tenure, session_ms: number, now: number): boolean {
  return tenure.status !== 'standby' && isRecent(tenure.heard_at, session_ms, now);
}

/** A lease as those see it who work under it. */
export interface Held {
  readonly is_held: boolean;
  /** grows each time that it is gained: between two terms others may have worked */
  readonly term: number;
  /** Resolves when it is gained or given up next. Take it before looking at the others. */
  readonly changed: Promise<void>;
  /** Resolves once it is held, or the process stops. */
  held(): Promise<void>;
  /** For one that halted, until its process ends: any other that has not works instead of it. */
  yield(): void;
}

/** For processes that run alone. */
export const ALWAYS_HELD: Held = {
  is_held: true,
  term: 1,
  changed: Promise.withResolvers<void>().promise,
  held: () => Promise.resolve(),
  yield: () => undefined,
};

export interface LeaseOptions {
  readonly kafka: Kafka;
  /** the service: its instances have one lease */
  readonly group_id: string;
  /** the topic that the holder writes */
  readonly topic: string;
  /** a holder that is silent for this long is replaced; the brokers must allow it */
  readonly session_ms: number;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly signal: AbortSignal;
  /** at each acknowledged heartbeat of a standby */
  readonly onStandbyHeard?: () => void;
}

export class Lease implements Held {
  readonly #options: LeaseOptions;
  readonly #membership: Membership;
  #tenure: Tenure = OUTSIDE;
  #term = 0;
  #changed = Promise.withResolvers<void>();
  #isYielded = false;
  /** at the newest join */
  #claimed: Claim = 'standby';

  constructor(options: LeaseOptions) {
    this.#options = options;
    const { kafka, group_id, topic, session_ms, log, signal } = options;
    this.#membership = new Membership({
      kafka,
      group_id,
      session_ms,
      log,
      signal,
      topics: [topic],
      claim: () => (this.#claimed = this.#claim()),
      onAssigned: (assigned, sentMs) => {
        const partitions = assigned?.get(topic)?.length ?? 0;
        const at = performance.now() - sentMs;
        this.#apply(
          assigned === undefined ? { type: 'revoked' } : { type: 'assigned', partitions, at },
        );
      },
      onHeld: (sentMs) => {
        this.#apply({ type: 'heard', at: performance.now() - sentMs });
        if (!this.is_held) options.onStandbyHeard?.();
        else if (this.#isYielded && this.#claimed !== 'halted') this.#membership.rejoin();
      },
    });
    const held = (): number => Number(this.is_held);
    options.metrics.gauge(
      'lease_held',
      '1: this instance works; 0: it stands by, another one works',
      [],
      function () {
        this.set(held());
      },
    );
  }

  get is_held(): boolean {
    return isHeldAt(this.#tenure, this.#options.session_ms, performance.now());
  }

  get term(): number {
    return this.#term;
  }

  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** The group cannot be joined, so this instance can take over from no other. */
  get problem(): HealthProblem | undefined {
    const { fault } = this.#membership;
    return fault && waitingFor(fault, { message: fault.message });
  }

  /** The phase of the process: it works, or waits for the lease. */
  phase(working: string): string {
    return this.is_held ? working : 'standing_by';
  }

  async held(): Promise<void> {
    const { signal } = this.#options;
    const stopped = aborted(signal);
    while (!this.is_held && !signal.aborted) await Promise.race([this.changed, stopped]);
  }

  /** At the next heartbeat; without another member that can work it gets the lease back. */
  yield(): void {
    this.#isYielded = true;
  }

  /** Joins the group until `close`. Throws a fault when the brokers do not answer. */
  async start(): Promise<void> {
    await this.#membership.start();
  }

  /** Leaves the group, so that another instance takes over at once. */
  async close(): Promise<void> {
    this.#apply({ type: 'left' });
    await this.#membership.close();
  }

  #claim(): Claim {
    if (this.#isYielded) return 'halted';
    const keeps = keepsAt(this.#tenure, this.#options.session_ms, performance.now());
    return keeps ? 'holder' : 'standby';
  }

  #apply(event: TenureEvent): void {
    const { is_held: isHeld } = this;
    const { status: was } = this.#tenure;
    this.#tenure = tenureAfter(this.#tenure, event);
    const { status: is } = this.#tenure;
    if (event.type === 'assigned' && event.partitions > 0) this.#term++;
    const { log, group_id: groupId } = this.#options;
    if (was !== is) log.info({ group: groupId, was, is }, 'lease');
    // an expired lease that is acknowledged again is held again
    else if (this.is_held === isHeld) return;
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}
