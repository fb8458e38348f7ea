/** `ops quarantine list|skip`. A skip is an event: every replay skips the same record. */
import { randomBytes } from 'node:crypto';
import {
  skipEventId,
  skipKey,
  type RecordSkipped,
} from '../../../schemas/projector.skips/events.ts';
import { PROJECTOR_SKIPS, TOPICS } from '../../../schemas/topics.ts';
import { openCodec, openDecoder, poisonReason, type Decoder } from '../../runtime/kafka/codec.ts';
import { learnSchemas } from '../../runtime/kafka/decode.ts';
import { readLogBatches } from '../../runtime/kafka/range.ts';
import { fingerprint as fingerprintOf, type LogRecord } from '../../runtime/kafka/record.ts';
import { Skips } from '../../runtime/kafka/skips.ts';
import type { RecordAt } from '../../runtime/kafka/position.ts';
import { readTopicEnds } from '../../runtime/kafka/ends.ts';
import { ensureTopics } from '../../runtime/kafka/topics.ts';
import { KafkaWriter } from '../../runtime/kafka/writer.ts';
import { byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader, Statement } from '../../runtime/postgres/pool.ts';
import { KAFKA, POSTGRES_READER, readSettings, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, note, print, withReader } from '../connections.ts';
import { coloured, minute, printPaged, table } from '../text.ts';
import { decision, Misuse, type Decision, type SharedArguments } from '../usage.ts';

const APPEND_MS = 30_000;

/** Newest first. A record halts its projection when the checkpoint is at its offset. */
const QUARANTINE: Statement = {
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

function quarantined(cells: Cells) {
  const [projection, topic, partition, offset, fingerprint, error, found, skipped, state] = cells;
  return {
    projection: projection ?? '',
    topic: topic ?? '',
    partition: Number(partition),
    offset: offset ?? '',
    fingerprint: byteaHex(fingerprint),
    error: error ?? '',
    found_at: isoTime(found),
    skipped_at: typeof skipped === 'string' ? isoTime(skipped) : null,
    /** `mended`: the projection has applied the record since, without a person's decision */
    state: state === 'skipped' || state === 'mended' ? state : 'halts',
  } as const;
}

export type Quarantined = ReturnType<typeof quarantined>;

export async function readQuarantine(reader: Reader): Promise<readonly Quarantined[]> {
  return (await reader.rows(QUARANTINE)).map(quarantined);
}

function quarantineOf(stack: string): Promise<readonly Quarantined[]> {
  return withReader(readSettings(POSTGRES_READER, stack), readQuarantine);
}

export async function listQuarantine({
  all,
  json,
  stack,
}: SharedArguments & { readonly all: boolean | undefined }): Promise<number> {
  const records = (await quarantineOf(stack)).filter(
    ({ state }) => all === true || state !== 'mended',
  );
  if (json === true) print(jsonOf(records));
  else printPaged(listText(records));
  return 0;
}

function listText(records: readonly Quarantined[]): string {
  if (records.length === 0)
    return 'no record halts a projection; `ops audit` lists every skipped record';
  const rows = records.map((record) => [
    record.projection,
    `${record.topic}/${record.partition}@${record.offset}`,
    coloured(record.state === 'halts' ? 'red' : 'dim', record.state.toUpperCase()),
    minute(record.skipped_at ?? record.found_at),
    record.error,
  ]);
  return table(['PROJECTION', 'RECORD', 'STATE', 'SINCE (UTC)', 'ERROR'], rows);
}

/** A record of the log, as services name it, or those up to a last one. */
const PLACE =
  /^(?<topic>[\w.-]+)\/(?<partition>\d{1,4})@(?<offset>\d{1,15})(?:-(?<last>\d{1,15}))?$/;
const APPENDED_AT_ONCE = 1_000;

export async function skipRecord(
  args: SharedArguments & Decision & { readonly record: string },
): Promise<number> {
  const { record: name, json, stack } = args;
  const { actor, reason } = decision(args);
  const place = PLACE.exec(name)?.groups;
  if (place === undefined)
    throw new Misuse(
      `${name} names no record: give TOPIC/PARTITION@OFFSET, as /status of the service that halts and ops quarantine list have it`,
    );
  const records = await recordsAt(
    place['topic'] ?? '',
    Number(place['partition']),
    BigInt(place['offset'] ?? 0),
    place['last'] === undefined ? undefined : BigInt(place['last']),
    stack,
  );
  const decided_at = Date.now();
  const events = records.map(({ topic, partition, offset, fingerprint }): RecordSkipped => ({
    type: 'RecordSkipped',
    projection: '',
    topic,
    partition,
    record_offset: Number(offset),
    fingerprint,
    error: '',
    actor,
    reason,
    decided_at,
  }));
  const appended = await appendOnce(events, stack);
  for (const { topic, partition, offset } of records) {
    const at = appended.get(Number(offset));
    const done = at === undefined ? 'before' : `now: ${PROJECTOR_SKIPS.name}/0@${at}`;
    print(
      json === true
        ? jsonOf({ topic, partition, offset: offset.toString(), appended: at ?? null })
        : `the skip of ${topic}/${partition}@${offset} was decided ${done}; every reader that cannot apply the record goes on by itself`,
    );
  }
  note(
    `the header source of a record names its writer (npx ops tail ${place['topic']} --partition ${place['partition']} --from ${place['offset']} --limit 1); where it is none of yours, take away its access to the brokers; once all readers go on: npx ops audit`,
    args,
  );
  return 0;
}

/** The record; with `last` those up to it that this software cannot read. */
async function recordsAt(
  topic: string,
  partition: number,
  from: bigint,
  last: bigint | undefined,
  stack: string,
): Promise<readonly RecordAt[]> {
  const config = readSettings({ ...KAFKA, ...REGISTRY }, stack);
  const kafka = kafkaOf(config);
  const end = (await readTopicEnds(kafka, [topic])).find((each) => each.partition === partition);
  const to = (last ?? from) + 1n;
  const name = `${topic}/${partition}@${from}${last === undefined ? '' : `-${last}`}`;
  if (end === undefined || from < end.low || to > end.high || to <= from)
    throw new Misuse(`there is no record ${name}: ops tail ${topic} shows them`);
  const declared = TOPICS.filter((each) => each.name === topic);
  if (last !== undefined && declared.length === 0)
    throw new Misuse(`${topic} is no topic of events: name each record by its own offset`);
  const types = declared.flatMap(({ events }) => events.map(({ type }) => type));
  const codec = await openDecoder(config, { kafka }, declared);
  const found: RecordAt[] = [];
  await readLogBatches(kafka, { topic, partition, from, to }, async (records) => {
    if (last !== undefined) await learnSchemas(codec, { topic, partition, records });
    for (const record of records) {
      const { offset } = record;
      if (last === undefined || !isReadable(codec, types, record))
        found.push({ topic, partition, offset, fingerprint: fingerprintOf(record) });
    }
  });
  if (found.length === 0)
    throw new Misuse(
      last === undefined
        ? `${name} is no record: it is the mark of a transaction`
        : `each record of ${name} can be read: one that does not follow from those before it is skipped by its own offset`,
    );
  return found;
}

function isReadable(
  codec: Decoder,
  types: readonly string[],
  { value, headers }: LogRecord,
): boolean {
  try {
    return types.includes(codec.decode(value, headers).type);
  } catch (error) {
    poisonReason(error);
    return false;
  }
}

/** The offsets of the new decisions, by those of the records; some were made before. */
async function appendOnce(
  events: readonly RecordSkipped[],
  stack: string,
): Promise<ReadonlyMap<number, bigint>> {
  const config = readSettings({ ...KAFKA, ...REGISTRY }, stack);
  const kafka = kafkaOf(config);
  const { name: topic } = PROJECTOR_SKIPS;
  await ensureTopics(kafka, [PROJECTOR_SKIPS]);
  const codec = await openCodec(config, { kafka, log: LOG }, [PROJECTOR_SKIPS]);
  const skips = new Skips({ kafka, codec });
  await skips.refresh();
  const trace_id = randomBytes(16).toString('hex');
  const isNew = (event: RecordSkipped): boolean =>
    !skips.has({ ...event, offset: BigInt(event.record_offset) });
  const entries = events.filter(isNew).map((event) => ({
    key: skipKey(event),
    value: codec.encode(event),
    headers: {
      event_id: skipEventId(event),
      event_type: event.type,
      schema_fingerprint: codec.fingerprintOf(event.type),
      source: 'ops',
      trace_id,
    },
    timestamp: event.decided_at,
    of: event.record_offset,
  }));
  const appended = new Map<number, bigint>();
  const writer = new KafkaWriter(kafka, { log: LOG, signal: AbortSignal.timeout(APPEND_MS) });
  try {
    for (let at = 0; at < entries.length; at += APPENDED_AT_ONCE) {
      const part = entries.slice(at, at + APPENDED_AT_ONCE);
      const first = await writer.append(topic, 0, part);
      for (const [place, { of }] of part.entries()) appended.set(of, first + BigInt(place));
    }
  } finally {
    await writer.close();
  }
  return appended;
}
