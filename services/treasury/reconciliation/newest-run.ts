/**
 * The newest run of anybody in `reserve.runs`, as read so far, and the newest own one, which this
 * process measured or which the mint authority's key signed (TRE-13); whether they allow minting.
 */
import {
  reconciliationJson,
  RUN_STATUSES,
  type Reconciliation,
} from '../../../schemas/treasury-api/reconciliation.ts';
import { GET_RECONCILIATION } from '../../../schemas/treasury-api/document.ts';
import { surplusOf } from '../../../projections/reserve/position.ts';
import { linked, NO_RECORDS } from '../../../schemas/hash-chain.ts';
import { signerOf } from '../../../schemas/operator-signature.ts';
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import { RUN_RULES } from '../../../schemas/reserve.runs/rules.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import { served } from '../../runtime/http/served.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';
import { Fault } from '../../runtime/process/errors.ts';

/**
 * Runs at the end of the log whose signatures are checked at the start, which takes 2 ms each. If
 * no own run is among them, minting waits for the first one of this process.
 */
const CHECKED_MAX = 100;

/** Everything that was folded. */
interface RunState {
  run: ReserveReconciled | undefined;
  /** the time of its record: the brokers take none from the future */
  written_at: number;
  own: ReserveReconciled | undefined;
  /** may be own ones, in the order of the log: the signatures are not checked yet */
  unchecked: ReserveReconciled[];
  end: bigint;
  head: Buffer;
  broken: number;
}

export class NewestRun {
  readonly #authority: Buffer | undefined;
  #changed = new AbortController();
  #isRead = false;
  /** the newest one of this process, while the log has none that is not older */
  #made: ReserveReconciled | undefined;
  #state: RunState = {
    run: undefined,
    written_at: 0,
    own: undefined,
    unchecked: [],
    end: 0n,
    head: NO_RECORDS,
    broken: 0,
  };

  /** `authority`: runs with a signature of this account are own ones, 20 bytes; none: no run is. */
  constructor(authority?: Buffer) {
    this.#authority = authority;
  }

  /** Everything that was folded, to be copied at once: it changes with the next record. */
  get state() {
    return this.#state;
  }

  /** Goes on from the state of another. */
  restore(state: NewestRun['state']): void {
    this.#state = state;
  }

  /** Undefined: there is none, as read so far. */
  get run(): ReserveReconciled | undefined {
    return this.#state.run;
  }

  /** Undefined: there is none, as read so far. */
  get own(): ReserveReconciled | undefined {
    return this.#made ?? this.#state.own;
  }

  /** Takes a run that this process measured, which counts before it is in the log. */
  made(own: ReserveReconciled): void {
    this.#made = own;
  }

  /** Aborted when another run becomes the newest in the log. */
  get changed(): AbortSignal {
    return this.#changed.signal;
  }

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#state.end;
  }

  /** The hash of the last record folded; empty before the first. */
  get head(): Buffer {
    return this.#state.head;
  }

  /** Records that break a rule of their fields: they have no effect. */
  get broken(): number {
    return this.#state.broken;
  }

  /** The log was read to its end once: its newest run is known. */
  get is_read(): boolean {
    return this.#isRead;
  }

  read(): void {
    this.#isRead = true;
    this.#check();
  }

  /**
   * The last run in the log is the newest, since clocks differ, unless its block or ledger offset
   * is older than that of a run before it, which was written while it was measured. A run that was
   * begun later is the newest, whatever a forged one before it claims. A signed run at another
   * place than it names may be a copy, which can only close the gate. Throws `BrokenChain`.
   */
  fold({ events }: Decoded<ReserveReconciled>): void {
    for (const { event, offset, timestamp, value_hash: valueHash } of events) {
      if (offset < this.#state.end) continue;
      const isWhole = brokenRule(RUN_RULES, event) === undefined;
      const { sequence, previous = NO_RECORDS } = event;
      const isInPlace = sequence === Number(offset) && previous.equals(this.#state.head);
      this.#state.head = linked(this.#state.head, event, offset, valueHash);
      this.#state.end = offset + 1n;
      if (!isWhole) {
        this.#state.broken++;
        continue;
      }
      if (isInPlace || runForbids(event) !== undefined) this.#state.unchecked.push(event);
      if (isOlder(event, this.#state.run, this.#state.written_at)) continue;
      this.#state.run = event;
      this.#state.written_at = timestamp;
      this.#changed.abort();
      this.#changed = new AbortController();
    }
    if (this.#isRead) this.#check();
    else this.#state.unchecked = this.#state.unchecked.slice(-CHECKED_MAX);
  }

  #check(): void {
    const authority = this.#authority;
    for (const run of this.#state.unchecked) {
      const isOwn = authority !== undefined && signerOf(run)?.equals(authority) === true;
      if (!isOwn) continue;
      const { own } = this.#state;
      if (!isOlder(run, own, own?.run_at)) this.#state.own = run;
      if (!isOlder(run, this.#made, this.#made?.run_at)) this.#made = undefined;
    }
    this.#state.unchecked = [];
  }
}

/** `known` was written, at this time, while the run was measured, and is of newer logs. */
function isOlder(
  run: ReserveReconciled,
  known: ReserveReconciled | undefined,
  writtenAt = 0,
): boolean {
  if (known === undefined || run.begun_at >= writtenAt) return false;
  return run.block_height < known.block_height || run.ledger_offset < known.ledger_offset;
}

const PASSES: ReadonlySet<string> = new Set(['ok', 'over_backed_drift']);

/** The newest runs as far as they are known. */
type Known = Pick<NewestRun, 'run' | 'own' | 'is_read'>;

/**
 * Why nothing may be minted at this moment (Unix milliseconds), and what to do: the newest run of
 * anybody or the newest own one forbids it, or there is no own one that began at most `ageMax`
 * milliseconds ago (0: no limit). Undefined when minting is allowed.
 */
export function mintingForbidden(
  { run, own, is_read: isRead }: Known,
  ageMax: number,
  now: number,
): string | undefined {
  if (!isRead) return 'the reconciliations are not read yet: it goes on by itself';
  const why = runForbids(run) ?? runForbids(own);
  if (why !== undefined || ageMax === 0) return why;
  if (own === undefined)
    return 'there is no reconciliation that this treasury made, or signed with APP_MINT_KEY before its start: it goes on after the first; if there is none, the log of the treasury says why';
  const age = now - measuredAt(own);
  return Math.abs(age) <= ageMax ? undefined : outOfDate(own, age);
}

/** Why nothing may be minted after this run, of whatever age: a mismatch, or too little custody. */
export function runForbids(run: ReserveReconciled | undefined): string | undefined {
  if (run === undefined) return undefined;
  if (!PASSES.has(run.status)) return mismatched(run);
  return run.uncovered > 0n ? uncovered(run) : undefined;
}

/** Texts about a run that allows minting, for a person. `tolerance`: accepted surplus. */
export function runNotes(run: ReserveReconciled, tolerance: bigint): readonly string[] {
  const { run_id: runId, status } = run;
  const { unproven = 0n, unminted = 0n, unproven_refunds: unprovenRefunds = 0n, frozen = 0n } = run;
  const notes: string[] = [];
  if (status === 'over_backed_drift')
    notes.push(
      `custody has ${surplusOf(run)} micro-USDT more than is explained, above the tolerance of ${tolerance} (reconciliation ${runId}). What to do: see whether somebody has paid it (npx ops deposit watch names addresses that received more than the log has); only what nobody has paid is explained by npx ops surplus book`,
    );
  if (unminted > 0n)
    notes.push(
      `${unminted} micro-USDT are credited in the ledger and minted in no final block (reconciliation ${runId}): the treasury voids or sends these mints; \`ops audit\` names the records`,
    );
  if (unproven > 0n)
    notes.push(
      `TRON does not show deposits of together ${unproven} micro-USDT (reconciliation ${runId}): they cover nothing and are not minted until it does`,
    );
  if (unprovenRefunds > 0n)
    notes.push(
      `refunds of together ${unprovenRefunds} micro-USDT are not shown by TRON (reconciliation ${runId}): they explain no missing money`,
    );
  if (frozen > 0n)
    notes.push(
      `${frozen} micro-USDT in custody are blocked by the token (reconciliation ${runId}), and cover nothing`,
    );
  return notes;
}

function mismatched(run: ReserveReconciled): string {
  return `the reserve does not match (${nameOf(run)})${frozenIn(run)}. What to do: \`ops reserve runs\` shows by how much; find the mint or the money, then \`ops reserve run\``;
}

function uncovered(run: ReserveReconciled): string {
  return `custody does not cover what is owed and what waits: ${run.uncovered} micro-USDT are missing (${nameOf(run)})${frozenIn(run)}. What to do: \`ops reserve runs\` shows the amounts; find the money or pay it into custody, then \`ops reserve run\``;
}

function nameOf({ run_id: runId, run_at: runAt }: ReserveReconciled): string {
  return `reconciliation ${runId} of ${timeOf(runAt)}`;
}

function frozenIn({ frozen = 0n }: ReserveReconciled): string {
  return frozen === 0n
    ? ''
    : `; ${frozen} micro-USDT in custody are frozen: the token blocks them, so they cover nothing, and the treasury's log names where they are`;
}

/** When the measurement began; runs of older code only say when it ended. */
export function measuredAt({ run_at, begun_at }: ReserveReconciled): number {
  return begun_at === 0 ? run_at : begun_at;
}

function outOfDate(run: ReserveReconciled, age: number): string {
  const at = measuredAt(run);
  const how =
    age > 0
      ? `${Math.round(age / 1_000)} s old`
      : `${Math.round(-age / 1_000)} s ahead of this clock`;
  return `the newest reconciliation of this treasury, of ${timeOf(at)}, is ${how}. What to do: look why there is no newer one (the treasury's log says it), or set the clock right`;
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

const HEADERS = { 'cache-control': 'public, max-age=1' };

/** `tolerance`: accepted surplus. */
export function reconciliationRoute(
  newest: Pick<NewestRun, 'run' | 'is_read'>,
  tolerance: bigint,
): GetRoute {
  let made: { readonly of: ReserveReconciled | undefined; readonly body: string } | undefined;
  return served(GET_RECONCILIATION, () => {
    // "never" must not be published before the log is read
    if (!newest.is_read)
      throw new Fault('starting', 'the reconciliations are not read yet', { retry: true });
    const { run } = newest;
    if (made === undefined || made.of !== run)
      made = { of: run, body: reconciliationJson({ last_run: published(run), tolerance }) };
    return { status: 200, body: made.body, headers: HEADERS };
  });
}

function published(run: ReserveReconciled | undefined): Reconciliation['last_run'] {
  if (run === undefined) return null;
  return {
    ...run,
    run_at: new Date(run.run_at).toISOString(),
    // an unknown status is not relied on
    status: RUN_STATUSES.find((status) => status === run.status) ?? 'mismatch',
  };
}
