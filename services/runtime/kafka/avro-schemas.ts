/** The Avro schemas of events: those that this software declares, and those of the registry. */
import { readFile } from 'node:fs/promises';
import avro from 'avsc';
import type { Unread } from '../../../projections/contract/projection.ts';
import { subjectOf, type Topic } from '../../../schemas/topics.ts';
import { AVRO_OPTIONS, UNREAD } from './avro-types.ts';

/** A zero byte and the schema's id in four. */
export const HEADER_BYTES = 5;
/** Ids are positive, and have a sign. */
const ID_MIN = 1;
const FINGERPRINT_BYTES = 8;

/** An event's schema as this software knows it. */
export interface Declared {
  readonly topic: Topic;
  readonly subject: string;
  /** without its namespace */
  readonly event_type: string;
  readonly text: string;
  readonly type: avro.Type;
  /** skips unread fields */
  readonly reader: avro.Type;
}

/** The schemas of these topics' events. */
export function readSchemas(
  topics: readonly Topic[],
  unread: Unread = {},
): Promise<readonly Declared[]> {
  return Promise.all(
    topics.flatMap((topic) =>
      topic.events.map(async (event) => {
        const text = await readFile(event.avsc, 'utf8');
        const schema: avro.schema.RecordType = JSON.parse(text);
        const lean: avro.schema.RecordType = JSON.parse(text, (_, part: unknown) =>
          withoutUnread(part, unread),
        );
        const subject = subjectOf(topic, event, schema.namespace ?? '');
        const types = { type: typeOf(schema), reader: typeOf(lean) };
        return { topic, subject, event_type: event.type, text, ...types };
      }),
    ),
  );
}

function typeOf(schema: avro.Schema): avro.Type {
  return avro.Type.forSchema(schema, { ...AVRO_OPTIONS });
}

/** Marks the unread fields of a record. */
function withoutUnread(part: unknown, unread: Unread): unknown {
  if (!isRecord(part)) return part;
  for (const name of unread[part.name] ?? []) {
    const field = part.fields.find((each) => each.name === name);
    // a named type may be used by other fields
    if (
      field === undefined ||
      Array.isArray(field.type) ||
      (typeof field.type === 'object' && 'name' in field.type)
    )
      throw new Error(`${part.name} has no field ${name} that can be skipped`);
    if (typeof field.type === 'object') Object.assign(field.type, { logicalType: UNREAD });
    else Object.assign(field, { type: { type: field.type, logicalType: UNREAD } });
  }
  return part;
}

function isRecord(part: unknown): part is avro.schema.RecordType {
  return typeof part === 'object' && part !== null && 'type' in part && part.type === 'record';
}

/** The first 8 bytes of the SHA-256 of the schema's Parsing Canonical Form, as hex. */
export function schemaFingerprint(type: avro.Type): string {
  return type.fingerprint('sha256').toString('hex', 0, FINGERPRINT_BYTES);
}

/** Whether the bytes of one mean the same by the other: documentation and defaults do not count. */
export function sameSchema(one: string | avro.Type, other: string | avro.Type): boolean {
  if (one === other) return true;
  try {
    const [first, second] = [one, other].map((schema) =>
      schemaFingerprint(typeof schema === 'string' ? typeOf(JSON.parse(schema)) : schema),
    );
    return first === second;
  } catch {
    return false;
  }
}

/** The name of a schema's record, without its namespace. */
export function recordName(schema: avro.Type | string): string {
  if (typeof schema === 'string') return 'what is not Avro';
  const { name = 'no record' } = schema;
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Whether this text is the schema of the record that a subject is named after. */
export function isSchemaOf(subject: string, schema: string): boolean {
  try {
    const { name } = typeOf(JSON.parse(schema));
    return name !== undefined && subject.endsWith(`-${name}`);
  } catch {
    return false;
  }
}

/** The schema id of a value; undefined when it has none, or one that no registry can have. */
export function schemaIdOf(value: Buffer): number | undefined {
  if (value.length < HEADER_BYTES || value[0] !== 0) return undefined;
  const id = value.readInt32BE(1);
  return id < ID_MIN ? undefined : id;
}
