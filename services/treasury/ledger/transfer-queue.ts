/**
 * The transfers that are read and not decided, by partition, in order. A partition is held up by a
 * transfer whose address is unknown. The queue is bounded: a full partition stops the reading of
 * all.
 */
import type { Recorded } from '../../../projections/contract/projection.ts';
import type { TransferEvent, TransferObserved } from '../../../schemas/tron.transfers/events.ts';
import { assert } from '../../runtime/process/errors.ts';
import { partitionKey, type Positions } from '../../runtime/kafka/position.ts';
import type { Decoded } from '../../runtime/kafka/decode.ts';

/** Transfers of one partition in the queue. */
const WAITING_MAX = 2_000;

type Transfer = Recorded<TransferObserved>;

interface Lane {
  readonly partition: number;
  /** offset */
  readonly newest: number;
  /** offset of the next record to take */
  next: bigint;
  /** fingerprint of the record before it */
  last: Buffer | null;
  /** offset behind what is read, also behind marks of transactions and skipped records */
  end: bigint;
  waiting: Transfer[];
  /** why its first transfer cannot be decided */
  held_up: string | undefined;
}

export class TransferQueue {
  readonly #topic: string;
  readonly #lanes: readonly Lane[];
  readonly #waitingMax: number;

  /** `decided`: of each partition, the newest offset that earlier starts have decided; -1: none. */
  constructor(topic: string, decided: readonly number[], waitingMax: number = WAITING_MAX) {
    this.#topic = topic;
    this.#waitingMax = waitingMax;
    this.#lanes = decided.map((newest, partition) => ({
      partition,
      newest,
      next: 0n,
      last: null,
      end: 0n,
      waiting: [],
      held_up: undefined,
    }));
  }

  /** Everything that is read, to be copied at once: it changes with the next record. */
  get state() {
    return this.#lanes.map(({ next, last, end, waiting }) => ({ next, last, end, waiting }));
  }

  /** Goes on from the state of another. */
  restore(state: TransferQueue['state']): void {
    for (const [partition, read] of state.entries()) Object.assign(this.#lane(partition), read);
  }

  /** Where reading continues. */
  get positions(): Positions {
    return new Map(
      this.#lanes.map(({ partition, next, last }) => [
        partitionKey(this.#topic, partition),
        { next_offset: next, last_record: last },
      ]),
    );
  }

  /** The first undecided offset of each partition. */
  get decided(): readonly bigint[] {
    return this.#lanes.map(
      ({ waiting, next, end }) => waiting[0]?.offset ?? (end > next ? end : next),
    );
  }

  get waiting(): number {
    return this.#lanes.reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** Why partitions are held up. */
  get held_up(): readonly string[] {
    return this.#lanes.flatMap(({ partition, waiting: [first], held_up: heldUp }) =>
      heldUp === undefined || first === undefined
        ? []
        : [`${this.#topic}/${partition} is held up at offset ${first.offset}: ${heldUp}`],
    );
  }

  /** False while a partition is full. */
  get has_room(): boolean {
    return this.#lanes.every(({ waiting }) => waiting.length < this.#waitingMax);
  }

  /** Adds records. */
  put({ partition, events, fingerprints, next }: Decoded<TransferEvent>): void {
    const lane = this.#lane(partition);
    if (next > lane.end) lane.end = next;
    for (const [at, recorded] of events.entries()) {
      if (recorded.offset < lane.next) continue;
      if (isTransfer(recorded)) lane.waiting.push(recorded);
      lane.next = recorded.offset + 1n;
      lane.last = fingerprints[at] ?? null;
    }
  }

  /** The first transfers of each partition. */
  first(ofEach: number): readonly Transfer[] {
    return this.#lanes.flatMap(({ waiting }) => waiting.slice(0, ofEach));
  }

  /** Whether an earlier start has decided it, and has reported it where it was refused. */
  wasDecided({ partition, offset }: Transfer): boolean {
    return offset <= this.#lane(partition).newest;
  }

  /** Removes decided transfers from the front of each partition and returns them. */
  settle(isDecided: (transfer: Transfer) => boolean): readonly Transfer[] {
    return this.#lanes.flatMap((lane) => {
      const undecided = lane.waiting.findIndex((transfer) => !isDecided(transfer));
      const settled = lane.waiting.splice(0, undecided === -1 ? lane.waiting.length : undecided);
      if (settled.length > 0) lane.held_up = undefined;
      return settled;
    });
  }

  /** Holds up just the partitions that begin with one of these transfers; true at a change. */
  holdUp(undecided: readonly { readonly observed: Transfer; readonly why: string }[]): boolean {
    const changed = this.#lanes.filter((lane) => {
      const why = undecided.find(({ observed }) => observed === lane.waiting[0])?.why;
      const isNews = why !== lane.held_up;
      lane.held_up = why;
      return isNews;
    });
    return changed.length > 0;
  }

  #lane(partition: number): Lane {
    const lane = this.#lanes[partition];
    assert(lane !== undefined, `${this.#topic} has no partition ${partition}`);
    return lane;
  }
}

function isTransfer(recorded: Recorded<TransferEvent>): recorded is Transfer {
  return recorded.event.type === 'TransferObserved';
}
