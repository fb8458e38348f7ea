/**
 * The ledger against the heads of its chain that reserve runs published (LOG-8). A ledger that was
 * written anew from some record on is a chain of its own, but not the one that the runs are of.
 */
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import { LogLost } from '../../runtime/kafka/position.ts';

/** Heads of the ledger that are remembered: runs of other processes are read later than they. */
const PASSED_MAX = 10_000;

type Published = Pick<ReserveReconciled, 'run_id' | 'ledger_offset' | 'ledger_head'>;

export class PublishedHeads {
  readonly #topic: string;
  #state = {
    /** runs ahead of the ledger, by its offset */
    awaited: new Map<bigint, Published>(),
    /** the newest heads of the ledger, by its end */
    passed: new Map<bigint, Buffer>(),
    furthest: 0n,
    /** the end of the ledger */
    end: 0n,
  };

  constructor(topic: string) {
    this.#topic = topic;
  }

  /** Everything that was folded, to be copied at once: it changes with the next record. */
  get state() {
    return this.#state;
  }

  /** Goes on from the state of another. */
  restore(state: PublishedHeads['state']): void {
    this.#state = state;
  }

  /** The end that the ledger has at least. */
  get furthest(): bigint {
    return this.#state.furthest;
  }

  /** Takes each run. Throws `LogLost`. */
  published(run: Published): void {
    if (run.ledger_head === undefined || run.ledger_head.length === 0) return;
    const end = BigInt(run.ledger_offset);
    if (end > this.#state.furthest) this.#state.furthest = end;
    const head = this.#state.passed.get(end) ?? this.#state.awaited.get(end)?.ledger_head;
    if (head !== undefined) this.#compare(run, head);
    else if (end > this.#state.end) this.#state.awaited.set(end, run);
  }

  /** Takes the ledger after each record. Throws `LogLost`. */
  folded({ end, head }: { readonly end: bigint; readonly head: Buffer }): void {
    const run = this.#state.awaited.get(end);
    if (run !== undefined) this.#compare(run, head);
    this.#state.awaited.delete(end);
    this.#state.end = end;
    this.#state.passed.set(end, head);
    for (const oldest of this.#state.passed.keys()) {
      if (this.#state.passed.size <= PASSED_MAX) break;
      this.#state.passed.delete(oldest);
    }
  }

  #compare({ run_id: runId, ledger_head: ledgerHead }: Published, head: Buffer): void {
    if (ledgerHead?.equals(head) === true) return;
    throw new LogLost(
      `${this.#topic}: reserve run ${runId} published ${ledgerHead?.toString('hex')} as the hash of its last record, and it is ${head.toString('hex')}: records before it were changed, removed or moved`,
      'restore the topic from a replica or a backup, look for who wrote to it, then start again',
    );
  }
}
