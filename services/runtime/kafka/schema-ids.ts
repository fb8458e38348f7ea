/**
 * The ids of schemas are pinned where the log is: `schema.ids` says which schema each id names, and
 * has said so before the first record with that id is appended. So a registry is known by these
 * ids, and one that has lost its data gets them back from the log (`ops registry seed`).
 *
 * A service that writes compares the whole registry with the pins before it registers anything: a
 * registry that lacks a part would give the lost ids to other schemas. Two services that pin the
 * same id for different schemas have different registries; the first pin counts, and the other
 * service finds that before it writes anything else.
 *
 * A log of older software has no pins. Its first and last records name their event in a header, and
 * have to fit the registry; then everything that the registry has of its subjects is pinned.
 */
import type avro from 'avsc';
import { parsePin, pinText, type Pin } from '../../../schemas/schema.ids/pin.ts';
import { SCHEMA_IDS, type Topic } from '../../../schemas/topics.ts';
import { Fault } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import { isSchemaOf, recordName, sameSchema, schemaIdOf, type Declared } from './avro-schemas.ts';
import { readTopicEnds } from './ends.ts';
import type { Kafka } from './port.ts';
import { readLogRange } from './range.ts';
import type { LogRecord } from './record.ts';
import type { SchemaRegistry } from './schema-registry.ts';
import { ensureTopics } from './topics.ts';
import { KafkaWriter } from './writer.ts';

const PARTITION = 0;
const APPEND_MS = 30_000;
/** Records of a log without pins that are compared, at each end of each partition. */
const COMPARED = 20n;

export interface PinnedIds {
  readonly kafka: Kafka;
  readonly log: Logger;
  /** default `schema.ids` */
  readonly pins?: Topic;
}

/** A pinned id with which a registry differs from the log. */
export interface Difference {
  readonly pin: Pin;
  /** what it names at the registry; undefined: nothing */
  readonly found: avro.Type | string | undefined;
}

/**
 * The pins of a log, those that count: the first one of each id and subject. A record that is no
 * pin pins nothing.
 */
export async function readPins({
  kafka,
  pins: topic = SCHEMA_IDS,
}: Pick<PinnedIds, 'kafka' | 'pins'>): Promise<readonly Pin[]> {
  const [end] = await readTopicEnds(kafka, [topic.name]);
  const pins: Pin[] = [];
  await readLogRange(kafka, topic.name, PARTITION, 0n, end?.high ?? 0n, ({ value }) => {
    try {
      const pin = parsePin(String(value));
      // what no registry would take could never be mended
      if (isSchemaOf(pin.subject, pin.schema)) pins.push(pin);
    } catch {
      // one who may write here must not be able to stop all readers
    }
  });
  return withoutRepeated(pins);
}

/** Two services that start together pin the same. */
function withoutRepeated(pins: readonly Pin[]): readonly Pin[] {
  const first = new Map<number, Pin>();
  const counting = new Map<string, Pin>();
  for (const pin of pins) {
    const known = first.get(pin.id) ?? pin;
    if (!sameSchema(known.schema, pin.schema)) continue;
    first.set(pin.id, known);
    const key = `${pin.id} ${pin.subject}`;
    if (!counting.has(key)) counting.set(key, pin);
  }
  return [...counting.values()];
}

/** Asks the registry for every pinned id. */
export async function findDifferences(
  registry: SchemaRegistry,
  pins: readonly Pin[],
): Promise<readonly Difference[]> {
  const byId = new Map(pins.map((pin) => [pin.id, pin]));
  const found = await Promise.all(
    [...byId.values()].map(async (pin) => ({ pin, found: await registry.schema(pin.id) })),
  );
  return found.filter(
    ({ pin, found: schema }) => schema === undefined || !sameSchema(schema, pin.schema),
  );
}

/** The id of each of these schemas, pinned. Throws `another_registry`, and faults with retry. */
export async function pinIds(
  options: PinnedIds,
  registry: SchemaRegistry,
  schemas: readonly Declared[],
): Promise<readonly number[]> {
  const { kafka, log, pins: topic = SCHEMA_IDS } = options;
  await ensureTopics(kafka, [topic]);
  const pins = await readPins(options);
  const [difference] = await findDifferences(registry, pins);
  if (difference !== undefined) throw anotherRegistry(differenceText(difference));

  const adopted = await adopt(kafka, registry, schemas, pins);
  const known = [...pins, ...adopted];
  const added: Pin[] = [...adopted];
  const ids: number[] = [];
  for (const { subject, text } of schemas) {
    const pinned = known.find((pin) => pin.subject === subject && isSameText(pin.schema, text));
    const id = pinned?.id ?? (await registry.register(subject, text));
    if (pinned === undefined) added.push({ id, subject, schema: text });
    ids.push(id);
  }
  if (added.length === 0) return ids;

  const writer = new KafkaWriter(kafka, { log, signal: AbortSignal.timeout(APPEND_MS) });
  try {
    const entries = added.map((pin) => ({
      key: String(pin.id),
      value: Buffer.from(pinText(pin)),
      headers: {},
      timestamp: Date.now(),
    }));
    await writer.append(topic.name, PARTITION, entries);
  } finally {
    await writer.close();
  }
  const counting = await readPins(options);
  for (const { id, subject, schema } of added) {
    const first = counting.find((pin) => pin.id === id);
    if (first === undefined || !sameSchema(first.schema, schema))
      throw anotherRegistry(
        `it gave id ${id} to ${subject}, and in this log that id names ${first?.subject}`,
      );
  }
  return ids;
}

/** Pins for topics of which none is pinned, but which have records. */
async function adopt(
  kafka: Kafka,
  registry: SchemaRegistry,
  schemas: readonly Declared[],
  pins: readonly Pin[],
): Promise<readonly Pin[]> {
  const pinned = new Set(pins.map(({ subject }) => subject));
  const topics = new Map<Topic, readonly string[]>();
  for (const { topic, subject } of schemas)
    topics.set(topic, [...(topics.get(topic) ?? []), subject]);
  const adopted: Pin[] = [];
  for (const [topic, subjects] of topics) {
    if (subjects.some((subject) => pinned.has(subject))) continue;
    if (!(await compareRecords(kafka, registry, topic))) continue;
    for (const subject of subjects) adopted.push(...(await registry.versions(subject)));
  }
  return adopted;
}

/**
 * Compares records with what the registry says of them; false where there are none. A record
 * without a header, or of another format, says nothing here.
 */
async function compareRecords(
  kafka: Kafka,
  registry: SchemaRegistry,
  { name }: Topic,
): Promise<boolean> {
  const records: (LogRecord & { readonly partition: number })[] = [];
  const ends = await readTopicEnds(kafka, [name]);
  for (const { partition, low, high } of ends) {
    const first = low + COMPARED < high ? low + COMPARED : high;
    const last = high - COMPARED > first ? high - COMPARED : first;
    for (const [from, to] of [
      [low, first],
      [last, high],
    ] as const)
      await readLogRange(kafka, name, partition, from, to, (record) =>
        records.push({ ...record, partition }),
      );
  }
  const schemas = new Map<number, Difference['found']>();
  for (const { value, headers, partition, offset } of records) {
    const id = value === null ? undefined : schemaIdOf(value);
    const type = headers['event_type']?.toString();
    if (id === undefined || type === undefined) continue;
    if (!schemas.has(id)) schemas.set(id, await registry.schema(id));
    const schema = schemas.get(id);
    const named = schema === undefined ? 'nothing' : recordName(schema);
    if (named !== type)
      throw anotherRegistry(
        `the record ${name}/${partition}@${offset} is ${type}, and its schema id ${id} names ${named} there`,
      );
  }
  return records.length > 0;
}

export function differenceText({ pin: { id, subject }, found }: Difference): string {
  const named = found === undefined ? 'nothing' : recordName(found);
  return `in this log id ${id} names ${subject}, and there it names ${named}`;
}

/** Retried, so that a service goes on by itself once a person has mended the registry. */
export function anotherRegistry(reason: string): Fault {
  return new Fault(
    'another_registry',
    `the schema registry is not the one of this log: ${reason}. What to do: correct APP_REGISTRY_URL, or give a registry that lost its data the schemas of this log again (ops registry check, ops registry seed; docs/operations/backup.md)`,
    { retry: true },
  );
}

function isSameText(one: string, other: string): boolean {
  return one === other || JSON.stringify(JSON.parse(one)) === JSON.stringify(JSON.parse(other));
}
