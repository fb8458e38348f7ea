/** Chain events as records whose key, headers and time make sense to a plain console consumer. */
import { randomBytes } from 'node:crypto';
import { chainEventId, type ChainEvent } from '../../schemas/chain.blocks/events.ts';
import type { Codec } from '../runtime/kafka/codec.ts';
import type { LogEntry } from '../runtime/kafka/writer.ts';

export interface Part {
  readonly events: readonly ChainEvent[];
  readonly entries: readonly LogEntry[];
}

/** In order, in parts of at most about `bytesMax`; a larger event goes alone. */
export function* toEntries(
  codec: Codec,
  events: readonly ChainEvent[],
  bytesMax: number,
): Generator<Part> {
  const trace = randomBytes(16).toString('hex');
  let part: { events: ChainEvent[]; entries: LogEntry[] } = { events: [], entries: [] };
  let bytes = 0;
  for (const event of events) {
    const value = codec.encode(event);
    if (part.events.length > 0 && bytes + value.length > bytesMax) {
      yield part;
      part = { events: [], entries: [] };
      bytes = 0;
    }
    part.events.push(event);
    part.entries.push({
      key: String(event.height),
      value,
      headers: {
        event_id: chainEventId(event),
        event_type: event.type,
        source: 'chain-ingester',
        trace_id: trace,
      },
      timestamp: event.type === 'BlockAppended' ? event.timestamp : Date.now(),
    });
    bytes += value.length;
  }
  if (part.events.length > 0) yield part;
}
