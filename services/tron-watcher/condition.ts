/**
 * The health of the watcher: its step, the last fault, and for how long nothing has succeeded. A
 * request that the provider answers is a success only while nothing else keeps passes from ending.
 */
import type { Fault } from '../runtime/process/errors.ts';
import { waitingFor, type HealthProblem } from '../runtime/process/health.ts';

/** A step that succeeds in time is never shown; until then it is what the watcher waits for. */
const STEPS = {
  opening: { status: 'starting', message: 'starting' },
  joining_group: {
    status: 'waiting',
    waits_for: 'kafka',
    message: 'joining the group of watchers: are the brokers there?',
  },
  awaiting_read_model: {
    status: 'waiting',
    waits_for: 'projection:watch',
    message: 'waiting for the read model to show what was appended: is projector-watch running?',
  },
  reading_queue: { status: 'waiting', waits_for: 'postgres', message: 'reading the queue' },
  asking_provider: { status: 'waiting', waits_for: 'trongrid', message: "asking TRON's provider" },
  reading_ends: { status: 'waiting', waits_for: 'kafka', message: 'reading the ends of the log' },
  appending: { status: 'waiting', waits_for: 'kafka', message: 'appending to tron.transfers' },
} as const satisfies Readonly<Record<string, HealthProblem>>;

export type Step = keyof typeof STEPS;

export class Condition {
  readonly #now: () => number;
  readonly #silenceMs: number;
  #step: Step = 'opening';
  readonly #about: () => string | undefined;
  #fault: Fault | undefined;
  /** the times of the first and the newest of the faults, none of the provider, since a pass */
  #failing: { readonly since: number; readonly until: number } | undefined;
  #wellAt: number | undefined;
  #halted: string | undefined;
  /** in flight */
  #appends = 0;
  /** when an append ended, or began while there was none */
  #appendingSince = Number.NEGATIVE_INFINITY;
  #appendFault: () => Fault | undefined = () => undefined;
  /** by `now` */
  #sharedUntil = Infinity;

  /**
   * `now`: milliseconds of a monotonic clock; `silenceMs`: how long nothing may succeed; `about`:
   * the address and transaction that the provider is asked about.
   */
  constructor(now: () => number, silenceMs: number, about: () => string | undefined) {
    this.#now = now;
    this.#silenceMs = silenceMs;
    this.#about = about;
  }

  doing(step: Step): void {
    this.#step = step;
  }

  /** For so long the group leaves its share of the quota; without one no question is asked. */
  shared(ms: number): void {
    this.#sharedUntil = this.#now() + ms;
  }

  /**
   * Until it ends the watcher waits for the brokers, also where it asks the provider meanwhile.
   * `fault`: why it has not ended yet.
   */
  async appending<Result>(
    append: () => Promise<Result>,
    fault: () => Fault | undefined = () => undefined,
  ): Promise<Result> {
    if (this.#appends++ === 0) this.#appendingSince = this.#now();
    this.#appendFault = fault;
    try {
      return await append();
    } finally {
      this.#appends--;
      this.#appendingSince = this.#now();
    }
  }

  /** A request, an append or a pass has succeeded. */
  well(): void {
    this.#wellAt = this.#now();
  }

  failed(fault: Fault): void {
    const now = this.#now();
    const isOfProvider = fault.code.startsWith('tron_');
    this.#failing = isOfProvider ? undefined : { since: this.#failing?.since ?? now, until: now };
    this.#fault = fault;
  }

  /** The attempt that had failed has succeeded. */
  recovered(): void {
    this.#fault = undefined;
    this.#failing = undefined;
  }

  passed(): void {
    this.well();
    this.recovered();
  }

  /** Halts until a person intervenes. */
  halted(reason: string): void {
    this.#halted = reason;
  }

  /** Why the watcher is not ready, and what to do. */
  get problem(): HealthProblem | undefined {
    if (this.#halted !== undefined)
      return { status: 'halted', phase: 'halted', message: `halted: ${this.#halted}` };
    const silent =
      this.#wellAt === undefined ? undefined : this.#now() - this.#idleSince(this.#wellAt);
    if (silent !== undefined && silent <= this.#silenceMs) return undefined;
    const why = this.#why;
    if (silent === undefined) return why;
    const about = why.phase === 'asking_provider' ? this.#about() : undefined;
    const asked = about === undefined ? '' : ` (it is asked about ${about})`;
    const message = `no address was watched for ${Math.round(silent / 1_000)} s: ${why.message}${asked}`;
    return { ...why, status: 'waiting', message };
  }

  /** Since when nothing succeeds, passes fail one after the other, or no append ends. */
  #idleSince(wellAt: number): number {
    const { since = Infinity, until = 0 } = this.#failing ?? {};
    // a pass that goes on for long without a fault may end well
    const isFailing = this.#now() - until <= this.#silenceMs;
    return Math.min(
      wellAt,
      isFailing ? since : Infinity,
      this.#appends > 0 ? this.#appendingSince : Infinity,
    );
  }

  get #phase(): Step {
    if (this.#appends > 0) return 'appending';
    const isShareOver = this.#now() > this.#sharedUntil;
    return this.#step === 'asking_provider' && isShareOver ? 'joining_group' : this.#step;
  }

  get #why(): HealthProblem {
    const phase = this.#phase;
    const fault = phase === 'appending' ? this.#appendFault() : this.#fault;
    if (fault === undefined) return { phase, ...STEPS[phase] };
    const message = `${fault.code}: ${fault.message}`;
    return waitingFor(fault, { message, phase, projection: 'watch' });
  }
}
