/** The newest run of any process in `reserve.runs`, as read so far. */
import type { ReserveReconciled } from '../../../schemas/reserve.runs/events.ts';
import type { Position } from '../../runtime/kafka/position.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';

export class NewestRun {
  #run: ReserveReconciled | undefined;
  #end = 0n;
  #last: Buffer | null = null;
  #isRead = false;

  /** Undefined: there is none, as read so far. */
  get run(): ReserveReconciled | undefined {
    return this.#run;
  }

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#end;
  }

  /** The log was read to its end once: its newest run is known. */
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
   * The last run in the log is the newest, since clocks differ, unless its block or ledger offset
   * is older than that of a run before it: that run took longer to measure.
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
