/** The event of topic `projector.skips`, as it stands in its Avro schema beside this file. */

export interface RecordSkipped {
  readonly type: 'RecordSkipped';
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly record_offset: number;
  /** SHA-256 of the whole record, 32 bytes */
  readonly fingerprint: Buffer;
  /** why it could not be applied */
  readonly error: string;
  readonly actor: string;
  readonly reason: string;
  /** Unix milliseconds */
  readonly decided_at: number;
}

type Place = Pick<RecordSkipped, 'projection' | 'topic' | 'partition'> & {
  readonly record_offset: bigint | number;
};

/** Key of the record: the projection and the place. */
export function skipKey({ projection, topic, partition, record_offset: offset }: Place): string {
  return `${projection} ${topic}/${partition}@${offset}`;
}

/** What the keys of all records begin with that a projection passes over in a topic. */
export function skipKeysOf(projection: string, topic: string): string {
  return `${projection} ${topic}/`;
}

/** The same decision has the same id in every retry. */
export function skipEventId(event: RecordSkipped): string {
  return `${skipKey(event)}:${event.fingerprint.toString('hex').slice(0, 16)}`;
}

export function isSkipEvent(event: { readonly type: string }): event is RecordSkipped {
  return event.type === 'RecordSkipped';
}
