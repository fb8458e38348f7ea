/** The event of topic `projector.skips`. */

export interface RecordSkipped {
  readonly type: 'RecordSkipped';
  /** the halted projection, for people: the decision counts for every reader; may be empty */
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly record_offset: number;
  /** SHA-256 of the whole record, 32 bytes */
  readonly fingerprint: Buffer;
  /** why the record could not be applied */
  readonly error: string;
  readonly actor: string;
  readonly reason: string;
  /** Unix milliseconds */
  readonly decided_at: number;
}

type RecordPosition = Pick<RecordSkipped, 'projection' | 'topic' | 'partition'> & {
  readonly record_offset: bigint | number;
};

/** The record's key: the projection, if one was named, and the position of the skipped record. */
export function skipKey({
  projection,
  topic,
  partition,
  record_offset: recordOffset,
}: RecordPosition): string {
  return `${projection} ${topic}/${partition}@${recordOffset}`;
}

/** Stable across retries. */
export function skipEventId(event: RecordSkipped): string {
  return `${skipKey(event)}:${event.fingerprint.toString('hex').slice(0, 16)}`;
}

export function isSkipEvent(event: { readonly type: string }): event is RecordSkipped {
  return event.type === 'RecordSkipped';
}
