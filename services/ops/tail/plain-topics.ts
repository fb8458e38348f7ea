/** The topics whose values are no Avro by design, and how these are shown. */
import { parsePin } from '../../../schemas/schema.ids/pin.ts';
import { SCHEMA_IDS, TREASURY_SNAPSHOTS } from '../../../schemas/topics.ts';
import { messageOf } from '../../runtime/process/errors.ts';
import type { Shown } from './records.ts';
import type { Columns } from './shown-types.ts';

interface PlainTopic {
  readonly type: string;
  /** of the values, in a table */
  readonly columns: Columns;
  /** Throws where the value is not what the topic is for. */
  readonly read: (value: Buffer) => object;
}

const PLAIN: Readonly<Record<string, PlainTopic>> = {
  [SCHEMA_IDS.name]: {
    type: 'SchemaPin',
    columns: { id: 'INTEGER', subject: 'VARCHAR', schema: 'VARCHAR' },
    read: (value) => parsePin(value.toString('utf8')),
  },
  [TREASURY_SNAPSHOTS.name]: {
    type: 'SnapshotPart',
    columns: { bytes: 'INTEGER' },
    read: (value) => ({ bytes: value.length }),
  },
};

export function isPlain(topic: string): boolean {
  return Object.hasOwn(PLAIN, topic);
}

/** Columns of the topic's own; none where its values are events. */
export function plainColumns(topic: string): Columns {
  return PLAIN[topic]?.columns ?? {};
}

/** The value as it is shown; undefined where the topic's values are events. */
export function plainValue(topic: string, value: Buffer | null): Shown | undefined {
  const plain = PLAIN[topic];
  if (plain === undefined) return undefined;
  const { type, read } = plain;
  if (value === null) return { type: null, schema_id: null, unreadable: 'the record has no value' };
  try {
    return { type, schema_id: null, value: read(value) };
  } catch (error) {
    return { type: null, schema_id: null, unreadable: `no ${type}: ${messageOf(error)}` };
  }
}
