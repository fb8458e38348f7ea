/** Events of the treasury as records: key, headers and time that make sense to a plain console consumer. */
import { randomBytes } from 'node:crypto';
import {
  treasuryEventId,
  treasuryEventKey,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import type { Codec } from '../../runtime/kafka/codec.ts';
import type { LogEntry } from '../../runtime/kafka/writer.ts';

export function toEntries(codec: Codec, events: readonly TreasuryEvent[]): readonly LogEntry[] {
  const trace = randomBytes(16).toString('hex');
  return events.map((event) => ({
    key: treasuryEventKey(event),
    value: codec.encode(event),
    headers: {
      event_id: treasuryEventId(event),
      event_type: event.type,
      source: 'treasury',
      trace_id: trace,
    },
    timestamp: event.decided_at,
  }));
}
