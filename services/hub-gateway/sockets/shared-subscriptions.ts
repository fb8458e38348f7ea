/**
 * Open subscriptions. Subscribers to the same operation with the same variables share one
 * subscription: it is executed once and serialized once, and each subscriber gets the same text. A
 * subscription is executed again after changes that touch it, one execution at a time, so changes
 * in quick succession are coalesced. Subscribers get a result only when it differs from the one
 * before.
 */
import type { FormattedExecutionResult } from 'graphql';
import {
  LINKS_MAX,
  NO_TRACING,
  type Span,
  type Traced,
  type Tracing,
} from '../../runtime/process/tracing.ts';
import { Clients, turnOf } from '../../runtime/limits/clients.ts';
import { ON, type Limit, type Limits } from '../../runtime/limits/limits.ts';
import {
  HeldSubscriptions,
  holdersOf,
  type SubscriptionSettings,
} from '../../runtime/limits/subscriptions.ts';
import { Turns } from '../../runtime/limits/turns.ts';
import type { Dependency, Hub, Model } from '../graphql/context.ts';
import type { ErrorCode } from '../graphql/errors.ts';
import type { ListSources } from '../graphql/list-reader.ts';
import type { Operation, Pipeline } from '../graphql/pipeline.ts';
import { textOfResult } from '../graphql/result-text.ts';

/** Executions at once that read lists. The other connections to Postgres answer queries. */
const EXECUTIONS_MAX = 4;
/** After this many deliveries the event loop has a turn. */
const DELIVERIES_PER_TURN = 250;

const FULL = refusal('too many different subscriptions are open: try again later');
const CLOSED = refusal('the socket is closed');
const TOO_LARGE = refusal(
  'the results of your subscriptions are too large together: complete others first',
);

/** The payload of a `next` message: a serialized result. */
export class Payload {
  readonly text: string;
  #bytes: Buffer | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get bytes(): Buffer {
    return (this.#bytes ??= Buffer.from(this.text));
  }
}

export interface Subscriber {
  /** Must not throw. */
  deliver(payload: Payload): void;
  /** Told when the place is gone, after a first read that failed. Must not throw. */
  refuse(errors: FormattedExecutionResult): void;
}

export interface SharedSubscriptionsOptions extends SubscriptionSettings {
  /** default: all, and none is counted */
  readonly limits?: Pick<Limits, 'subscriptions' | 'turns'>;
  readonly pipeline: Pick<Pipeline, 'execute'>;
  readonly hub: Pick<Hub, 'shared_reads' | 'list_rows_max'>;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  /** of the latest results of all subscriptions together; beyond, new subscriptions are refused */
  readonly subscription_bytes_max: number;
}

/** Who holds a place. */
export interface Holder {
  readonly client: string;
  /** 0x + hex; undefined: anonymous */
  readonly account: string | undefined;
  /** aborted when the socket of the holder is closed */
  readonly left: AbortSignal;
}

/** A place in a shared subscription. Its holder calls `stop` in the end, started or not. */
export interface Subscription {
  /** Delivers the latest result at once, and each one that follows. */
  start(subscriber: Subscriber): void;
  latest(): Payload | undefined;
  stop(): void;
}

/** The side of a place that its holder does not see. */
interface Place {
  readonly holder: Holder;
  /** Ends it, and tells its subscriber. */
  refuse(errors: FormattedExecutionResult): void;
}

class SharedSubscription {
  readonly key: string;
  readonly operation: Operation;
  readonly subscribers = new Set<Subscriber>();
  readonly places = new Set<Place>();
  /** places of each account or client, with and without a subscriber */
  readonly clients = new Map<string, number>();
  /** clients whom the last execution reads lists for */
  reading: Clients | undefined;
  /** empty before the first execution: then every change counts */
  dependencies: Dependency[] = [];
  latest: Payload | undefined;
  /** the errors of the first execution, if any, but those of a server that is away */
  first: Promise<FormattedExecutionResult | undefined> = Promise.resolve(undefined);
  is_executing = true;
  /** changed while it was executed */
  is_stale = false;
  /** the limits of memory count its results; before, only the error of a server that is away */
  has_result = false;
  /** the last execution failed */
  has_failed = false;
  /** the newest traced changes since the last execution began */
  changes: Traced[] = [];

  constructor(key: string, operation: Operation) {
    this.key = key;
    this.operation = operation;
  }

  isTouchedBy(model: Model, keys: readonly string[] | undefined): boolean {
    if (this.dependencies.length === 0) return true;
    return this.dependencies.some(
      ({ model: read, isTouchedBy }) =>
        read === model &&
        (keys === undefined || isTouchedBy === undefined || keys.some(isTouchedBy)),
    );
  }
}

export class SharedSubscriptions {
  readonly #options: SharedSubscriptionsOptions;
  readonly #shared = new Map<string, SharedSubscription>();
  readonly #held: HeldSubscriptions;
  readonly #limit: Limit;
  readonly #lists: ListSources;
  #deliveries = 0;
  /** of the latest results */
  #characters = 0;

  constructor(options: SharedSubscriptionsOptions) {
    this.#options = options;
    const { subscriptions: limit = ON, turns = ON } = options.limits ?? {};
    this.#limit = limit;
    this.#held = new HeldSubscriptions(options, limit);
    this.#lists = {
      shared_reads: options.hub.shared_reads,
      turns: new Turns(EXECUTIONS_MAX, { adds_up: true, limit: turns }),
      list_rows_max: options.hub.list_rows_max,
    };
  }

  /** How many different subscriptions are open. */
  get size(): number {
    return this.#shared.size;
  }

  /** Results delivered so far. */
  get deliveries(): number {
    return this.#deliveries;
  }

  /** A place once the first result is there, or the errors. `key`: operation and variables. */
  async open(
    key: string,
    operation: Operation,
    holder: Holder,
  ): Promise<Subscription | FormattedExecutionResult> {
    if (holder.left.aborted) return CLOSED;
    const holders = holdersOf(holder.client, holder.account);
    if (!this.#held.take(holders, key)) {
      const max = this.#options.subscriptions_per_client_max;
      return refusal(`at most ${max} different subscriptions at once: complete others first`);
    }
    const shared = this.#shared.get(key) ?? new SharedSubscription(key, operation);
    const isNew = shared.clients.size === 0;
    const lane = turnOf(holder.client, holder.account);
    shared.clients.set(lane, (shared.clients.get(lane) ?? 0) + 1);
    shared.reading?.add(lane);
    if (isNew) {
      this.#shared.set(key, shared);
      shared.first = this.#executeFirst(shared);
    }
    // nobody waits for its first result any more
    const leave = (): void => this.#leave(shared, holder);
    holder.left.addEventListener('abort', leave);
    const failed = await shared.first;
    if (holder.left.aborted) return CLOSED;
    holder.left.removeEventListener('abort', leave);
    const characters = shared.has_result ? (shared.latest?.text.length ?? 0) : 0;
    if (failed === undefined && this.#held.fit(holders, key, characters))
      return this.#place(shared, holder);
    this.#leave(shared, holder);
    return failed ?? TOO_LARGE;
  }

  /** Schedules what a change of these keys touches; without keys, all that reads the model. */
  notify(model: Model, keys: readonly string[] | undefined, traceparent?: string): void {
    for (const shared of this.#shared.values()) {
      if (!shared.isTouchedBy(model, keys)) continue;
      if (traceparent !== undefined)
        shared.changes = [...shared.changes.slice(-LINKS_MAX), { headers: { traceparent } }];
      this.#schedule(shared);
    }
  }

  /** Schedules the subscriptions whose last execution failed. */
  retryFailed(): void {
    for (const shared of this.#shared.values()) if (shared.has_failed) this.#schedule(shared);
  }

  #place(shared: SharedSubscription, holder: Holder): Subscription {
    let started: Subscriber | undefined;
    let isOpen = true;
    let refused: FormattedExecutionResult | undefined;
    const stop = (): void => {
      if (!isOpen) return;
      isOpen = false;
      shared.places.delete(place);
      if (started !== undefined) shared.subscribers.delete(started);
      this.#leave(shared, holder);
    };
    const place: Place = {
      holder,
      refuse: (errors) => {
        refused = errors;
        started?.refuse(errors);
        stop();
      },
    };
    shared.places.add(place);
    return {
      start: (subscriber) => {
        if (refused !== undefined) return subscriber.refuse(refused);
        started = subscriber;
        shared.subscribers.add(subscriber);
        if (shared.latest !== undefined) this.#deliver(subscriber, shared.latest);
      },
      latest: () => shared.latest,
      stop,
    };
  }

  /** Without places the subscription is forgotten. */
  #leave(shared: SharedSubscription, holder: Holder): void {
    this.#held.leave(holdersOf(holder.client, holder.account), shared.key);
    const lane = turnOf(holder.client, holder.account);
    const places = (shared.clients.get(lane) ?? 0) - 1;
    if (places > 0) shared.clients.set(lane, places);
    else {
      shared.clients.delete(lane);
      shared.reading?.delete(lane);
    }
    if (shared.clients.size === 0) this.#forget(shared);
  }

  #forget(shared: SharedSubscription): void {
    if (!this.#isOpen(shared)) return;
    this.#shared.delete(shared.key);
    this.#characters -= shared.latest?.text.length ?? 0;
  }

  #isOpen(shared: SharedSubscription): boolean {
    return this.#shared.get(shared.key) === shared;
  }

  /** The errors, after which the subscription is forgotten; none where a retry may help. */
  async #executeFirst(shared: SharedSubscription): Promise<FormattedExecutionResult | undefined> {
    const { failed, text } = await this.#execute(shared);
    shared.is_executing = false;
    // all that waited for it have left
    if (!this.#isOpen(shared)) return CLOSED;
    // a server that is away comes back: until then its subscribers have the error
    shared.has_failed = failed !== undefined && isFault(failed);
    const refused = shared.has_failed ? undefined : (failed ?? this.#fullOf(text));
    if (refused !== undefined) {
      this.#forget(shared);
      return refused;
    }
    shared.has_result = !shared.has_failed;
    this.#setLatest(shared, new Payload(failed === undefined ? text : JSON.stringify(failed)));
    if (shared.is_stale) this.#schedule(shared);
    return undefined;
  }

  /** A first result that comes late is counted as one in time: places without room are refused. */
  #hasRoom(shared: SharedSubscription, text: string): boolean {
    if (shared.has_result) return true;
    const isFull = this.#fullOf(text) !== undefined;
    for (const place of shared.places) {
      const { client, account } = place.holder;
      const holders = holdersOf(client, account);
      if (isFull) place.refuse(FULL);
      else if (!this.#held.fit(holders, shared.key, text.length)) place.refuse(TOO_LARGE);
    }
    shared.has_result = !isFull;
    return shared.has_result;
  }

  /** The refusal of a first result that the memory has no room for. */
  #fullOf(text: string): FormattedExecutionResult | undefined {
    const isFull = this.#characters + text.length > this.#options.subscription_bytes_max;
    if (!isFull) return undefined;
    this.#limit.refused();
    return FULL;
  }

  #setLatest(shared: SharedSubscription, payload: Payload): void {
    this.#characters += payload.text.length - (shared.latest?.text.length ?? 0);
    shared.latest = payload;
  }

  #schedule(shared: SharedSubscription): void {
    if (shared.is_executing) {
      shared.is_stale = true;
      return;
    }
    shared.is_executing = true;
    void this.#refresh(shared);
  }

  async #refresh(shared: SharedSubscription): Promise<void> {
    shared.is_stale = false;
    const { tracing = NO_TRACING } = this.#options;
    const read = tracing.continued('read', shared.changes.splice(0));
    const { failed, text } = await read.run(() => this.#execute(shared));
    read.end(failed && new Error(failed.errors?.[0]?.message));
    if (!this.#isOpen(shared)) return;
    shared.has_failed = failed !== undefined || !this.#hasRoom(shared, text);
    if (!this.#isOpen(shared)) return;
    // after an error subscribers keep the result that they have
    if (!shared.has_failed) await this.#publish(shared, text, read);
    else if (failed !== undefined && !shared.has_result) await this.#tell(shared, failed, read);
    if (!this.#isOpen(shared)) return;
    shared.is_executing = false;
    if (shared.is_stale) this.#schedule(shared);
  }

  /** Without a result its subscribers hear why there is none, also when the reason changes. */
  async #tell(
    shared: SharedSubscription,
    failed: FormattedExecutionResult,
    read: Span,
  ): Promise<void> {
    if (isPassing(failed)) return this.#publish(shared, JSON.stringify(failed), read);
    for (const place of shared.places) place.refuse(failed);
  }

  async #publish(shared: SharedSubscription, text: string, read: Span): Promise<void> {
    if (text === shared.latest?.text) return;
    const span = read.child('socket');
    const payload = new Payload(text);
    this.#setLatest(shared, payload);
    const { subscribers } = shared;
    const all = [...subscribers];
    for (let from = 0; from < all.length; from += DELIVERIES_PER_TURN) {
      if (from > 0) await new Promise((resolve) => setImmediate(resolve));
      // those that started meanwhile have the result, those that stopped get nothing
      for (const subscriber of all.slice(from, from + DELIVERIES_PER_TURN))
        if (subscribers.has(subscriber)) this.#deliver(subscriber, payload);
    }
    span.set('clt.subscribers', all.length);
    span.end();
  }

  #deliver(subscriber: Subscriber, payload: Payload): void {
    this.#deliveries++;
    subscriber.deliver(payload);
  }

  /** The result as text, or the one with errors. */
  async #execute(
    shared: SharedSubscription,
  ): Promise<{ readonly failed?: FormattedExecutionResult; readonly text: string }> {
    const dependencies: Dependency[] = [];
    const asker = {
      caller: undefined,
      client: undefined,
      clients: () => (shared.reading = new Clients(shared.clients.keys())),
      sources: this.#lists,
      dependsOn: (dependency: Dependency) => void dependencies.push(dependency),
    };
    try {
      const result = await this.#options.pipeline.execute(shared.operation, asker);
      if (result.errors !== undefined) return { failed: result, text: '' };
      return { text: await textOfResult(result) };
    } finally {
      shared.dependencies = dependencies;
    }
  }
}

const AWAY: ErrorCode = 'UPSTREAM_ERROR';
const PASSING: ReadonlySet<unknown> = new Set<ErrorCode>([AWAY, 'RATE_LIMITED']);

function isFault({ errors = [] }: FormattedExecutionResult): boolean {
  return errors.every(({ extensions }) => extensions?.['code'] === AWAY);
}

/** A server comes back, and so does a turn that was not given in time. */
function isPassing({ errors = [] }: FormattedExecutionResult): boolean {
  return errors.every(({ extensions }) => PASSING.has(extensions?.['code']));
}

function refusal(message: string): FormattedExecutionResult {
  const code: ErrorCode = 'RATE_LIMITED';
  return { errors: [{ message, extensions: { code } }] };
}
