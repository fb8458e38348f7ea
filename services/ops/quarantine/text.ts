/** Quarantined records as the operator sees them. */
import { byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells, Statement } from '../../runtime/postgres/pool.ts';

export interface Quarantined {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  /** 0x and hex */
  readonly fingerprint: string;
  readonly error: string;
  readonly found_at: string;
  readonly skipped_at: string | null;
  /** mended: the projection has gone past it since, without a person's decision */
  readonly state: 'halts' | 'skipped' | 'mended';
}

/** Newest first. What halts is what the checkpoint stands at. */
export const QUARANTINE: Statement = {
  name: 'ops_quarantine',
  text: `SELECT q.projection, q.topic, q.partition, q.record_offset, q.fingerprint, q.error, q.found_at, q.skipped_at,
                CASE WHEN q.skipped_at IS NOT NULL THEN 'skipped' WHEN c.next_offset > q.record_offset THEN 'mended' ELSE 'halts' END
           FROM projector.quarantine q
           LEFT JOIN projector.projections p ON p.projection = q.projection
           LEFT JOIN projector.checkpoints c
             ON c.projection = q.projection AND c.version = p.version AND c.topic = q.topic AND c.partition = q.partition
          ORDER BY q.found_at DESC, q.projection, q.topic, q.partition, q.record_offset DESC
          LIMIT 1000`,
  values: [],
};

/** Of `QUARANTINE`. */
export function quarantined([
  projection,
  topic,
  partition,
  offset,
  fingerprint,
  error,
  found,
  skipped,
  state,
]: Cells): Quarantined {
  return {
    projection: projection ?? '',
    topic: topic ?? '',
    partition: Number(partition),
    offset: offset ?? '',
    fingerprint: byteaHex(fingerprint),
    error: error ?? '',
    found_at: isoTime(found),
    skipped_at: skipped === null || skipped === undefined ? null : isoTime(skipped),
    state: state === 'skipped' || state === 'mended' ? state : 'halts',
  };
}

export function quarantineText(found: readonly Quarantined[]): string {
  if (found.length === 0) return 'nothing halts a projection, and nothing was ever passed over';
  return found
    .map(({ projection, topic, partition, offset, error, found_at, skipped_at, state }) => {
      const since =
        state === 'skipped'
          ? `passed over since ${skipped_at ?? ''}`
          : state === 'mended'
            ? `mended, found ${found_at}`
            : `HALTS since ${found_at}`;
      return `${projection.padEnd(12)} ${topic}/${partition}@${offset}  ${since}: ${error}`;
    })
    .join('\n');
}
