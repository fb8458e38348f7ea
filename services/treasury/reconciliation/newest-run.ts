/** `reserve.runs` as far as it is read: the newest run, whoever made it. */
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { Position } from '../../runtime/kafka/position.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';

export class NewestRun {
  #run: ReserveReconciled | undefined;
  #end = 0n;
  #last: Buffer | null = null;
  #isRead = false;

  /** Undefined: there was none, as far as is read. */
  get run(): ReserveReconciled | undefined {
    return this.#run;
  }

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#end;
  }

  /** The log was read to its end once: what is the newest then is the newest. */
  get is_read(): boolean {
    return this.#isRead;
  }

  read(): void {
    this.#isRead = true;
  }

  get position(): Position {
    return { next_offset: this.#end, last_record: this.#last };
  }

  /**
   * Of the runs in the log the last one is the newest: whose clock is right is not known. One of an
   * older block or ledger than that of a run before it took longer to measure, and tells nothing
   * new.
   */
  fold({ events, fingerprints }: Decoded<ReserveReconciled>): void {
    for (const [at, { event, offset }] of events.entries()) {
      if (offset < this.#end) continue;
      this.#end = offset + 1n;
      this.#last = fingerprints[at] ?? null;
      if (this.#run === undefined || !isBehind(event, this.#run)) this.#run = event;
    }
  }
}

function isBehind(run: ReserveReconciled, known: ReserveReconciled): boolean {
  return run.block_height < known.block_height || run.ledger_offset < known.ledger_offset;
}
