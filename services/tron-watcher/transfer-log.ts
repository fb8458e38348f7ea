/** Appends to `tron.transfers` and remembers the ends of its partitions. */
import { randomBytes } from 'node:crypto';
import { TRON_TRANSFERS } from '../../schemas/topics.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { transferEventId, type TransferEvent } from '../../schemas/tron.transfers/events.ts';
import type { Codec } from '../runtime/kafka/codec.ts';
import type { KafkaWriter } from '../runtime/kafka/writer.ts';
import { NO_SPAN, NO_TRACING, type Tracing } from '../runtime/process/tracing.ts';

interface TransferLogOptions {
  readonly writer: Pick<KafkaWriter, 'append'>;
  readonly codec: Pick<Codec, 'encode' | 'fingerprintOf'>;
  /** off when not given */
  readonly tracing?: Tracing | undefined;
  /** after each acknowledged append */
  readonly onAppended: (events: readonly TransferEvent[]) => void;
}

export class TransferLog {
  readonly #options: TransferLogOptions;
  readonly #ends = new Map<number, bigint>();

  constructor(options: TransferLogOptions) {
    this.#options = options;
  }

  /** Appends one batch, all or none. Throws `append_refused` or `append_unknown`. */
  async append(partition: number, events: readonly TransferEvent[]): Promise<void> {
    if (events.length === 0) return;
    const { writer, codec, tracing = NO_TRACING, onAppended } = this.#options;
    const trace = randomBytes(16).toString('hex');
    // a transfer begins a trace, which its deposit continues
    const spans = events.map(({ type }) =>
      type === 'TransferObserved' ? tracing.begin(type) : NO_SPAN,
    );
    const entries = events.map((event, at) => ({
      // a record that names several addresses has a constant key
      key: event.type === 'TransferObserved' ? toTronAddress(event.to) : 'checked',
      value: codec.encode(event),
      headers: {
        event_id: transferEventId(event),
        event_type: event.type,
        schema_fingerprint: codec.fingerprintOf(event.type),
        source: 'tron-watcher',
        trace_id: trace,
        ...spans[at]?.headers,
      },
      timestamp: event.type === 'TransferObserved' ? event.block_timestamp : event.checked_at,
    }));
    const first = await writer.append(TRON_TRANSFERS.name, partition, entries);
    for (const span of spans) span.end();
    this.endsAt([[partition, first + BigInt(entries.length)]]);
    onAppended(events);
  }

  /** The partitions end at least at these offsets. */
  endsAt(ends: Iterable<readonly [partition: number, end: bigint]>): void {
    for (const [partition, end] of ends)
      if (end > (this.#ends.get(partition) ?? 0n)) this.#ends.set(partition, end);
  }

  /** The known ends of the partitions at this moment: the offsets after their last records. */
  ends(): ReadonlyMap<number, bigint> {
    return new Map(this.#ends);
  }

  /** Whether all records before `ends` are folded, which `folded` gives in the same way. */
  isFolded(folded: ReadonlyMap<number, bigint>, ends = this.ends()): boolean {
    return [...ends].every(([partition, end]) => (folded.get(partition) ?? 0n) >= end);
  }
}
