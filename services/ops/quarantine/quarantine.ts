/** `ops quarantine list|skip`. A skip is an event: every replay skips the same record. */
import { randomBytes } from 'node:crypto';
import {
  skipEventId,
  skipKey,
  type RecordSkipped,
} from '../../../schemas/projector.skips/events.ts';
import { PROJECTOR_SKIPS } from '../../../schemas/topics.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { readLogRange } from '../../runtime/kafka/range.ts';
import { fingerprint as fingerprintOf } from '../../runtime/kafka/record.ts';
import { Skips, type RecordAt } from '../../runtime/kafka/skips.ts';
import { readTopicEnds } from '../../runtime/kafka/ends.ts';
import { ensureTopics } from '../../runtime/kafka/topics.ts';
import { KafkaWriter } from '../../runtime/kafka/writer.ts';
import { byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader, Statement } from '../../runtime/postgres/pool.ts';
import { KAFKA, POSTGRES_READER, readSettings, REGISTRY } from '../config.ts';
import { jsonOf, kafkaOf, LOG, print, withReader } from '../connections.ts';
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
  if (records.length === 0) return 'no record halts a projection, and none was ever skipped';
  const rows = records.map((record) => [
    record.projection,
    `${record.topic}/${record.partition}@${record.offset}`,
    coloured(record.state === 'halts' ? 'red' : 'dim', record.state.toUpperCase()),
    minute(record.skipped_at ?? record.found_at),
    record.error,
  ]);
  return table(['PROJECTION', 'RECORD', 'STATE', 'SINCE (UTC)', 'ERROR'], rows);
}

/** A record of the log, as services name it. */
const PLACE = /^(?<topic>[\w.-]+)\/(?<partition>\d{1,4})@(?<offset>\d{1,15})$/;

interface Skipped extends RecordAt {
  /** the projection that it halts; empty where the record was named itself */
  readonly projection: string;
  readonly error: string;
}

export async function skipRecord(
  args: SharedArguments & Decision & { readonly record: string },
): Promise<number> {
  const { record: name, json, stack } = args;
  const { actor, reason } = decision(args);
  const place = PLACE.exec(name)?.groups;
  const { projection, topic, partition, offset, fingerprint, error } =
    place === undefined
      ? await haltingRecord(name, stack)
      : await recordAt(
          place['topic'] ?? '',
          Number(place['partition']),
          BigInt(place['offset'] ?? 0),
          stack,
        );
  const event: RecordSkipped = {
    type: 'RecordSkipped',
    projection,
    topic,
    partition,
    record_offset: Number(offset),
    fingerprint,
    error,
    actor,
    reason,
    decided_at: Date.now(),
  };
  const appended = await appendOnce(event, stack);
  const done = appended === undefined ? 'before' : `now: ${PROJECTOR_SKIPS.name}/0@${appended}`;
  print(
    json === true
      ? jsonOf({ topic, partition, offset: offset.toString(), appended: appended ?? null })
      : `the skip of ${topic}/${partition}@${offset} was decided ${done}; every reader that cannot apply the record goes on by itself`,
  );
  return 0;
}

async function haltingRecord(projection: string, stack: string): Promise<Skipped> {
  const record = (await quarantineOf(stack)).find(
    (each) => each.projection === projection && each.state === 'halts',
  );
  if (record === undefined)
    throw new Misuse(
      `no record halts ${projection}: quarantine list shows those that halt a projection`,
    );
  const { offset, fingerprint } = record;
  return {
    ...record,
    offset: BigInt(offset),
    fingerprint: Buffer.from(fingerprint.slice(2), 'hex'),
  };
}

async function recordAt(
  topic: string,
  partition: number,
  offset: bigint,
  stack: string,
): Promise<Skipped> {
  const kafka = kafkaOf(readSettings(KAFKA, stack));
  const [end] = (await readTopicEnds(kafka, [topic])).filter(
    (each) => each.partition === partition,
  );
  if (end === undefined || offset < end.low || offset >= end.high)
    throw new Misuse(
      `there is no record ${topic}/${partition}@${offset}: ops tail ${topic} shows them`,
    );
  const found: Skipped[] = [];
  await readLogRange(kafka, topic, partition, offset, offset + 1n, (record) => {
    const at = { topic, partition, offset, fingerprint: fingerprintOf(record) };
    found.push({ ...at, projection: '', error: '' });
  });
  const [record] = found;
  if (record === undefined)
    throw new Misuse(
      `${topic}/${partition}@${offset} is no record: it is the mark of a transaction`,
    );
  return record;
}

/** The offset of the event; undefined when the same skip was decided before. */
async function appendOnce(event: RecordSkipped, stack: string): Promise<bigint | undefined> {
  const config = readSettings({ ...KAFKA, ...REGISTRY }, stack);
  const kafka = kafkaOf(config);
  const { name: topic } = PROJECTOR_SKIPS;
  await ensureTopics(kafka, [PROJECTOR_SKIPS]);
  const codec = await openCodec({ ...config, kafka, log: LOG }, [PROJECTOR_SKIPS]);
  const skips = new Skips({ kafka, codec });
  await skips.refresh();
  if (skips.has({ ...event, offset: BigInt(event.record_offset) })) return undefined;
  const headers = {
    event_id: skipEventId(event),
    event_type: event.type,
    schema_fingerprint: codec.fingerprintOf(event.type),
    source: 'ops',
    trace_id: randomBytes(16).toString('hex'),
  };
  const entry = {
    key: skipKey(event),
    value: codec.encode(event),
    headers,
    timestamp: event.decided_at,
  };
  const writer = new KafkaWriter(kafka, { log: LOG, signal: AbortSignal.timeout(APPEND_MS) });
  try {
    return await writer.append(topic, 0, [entry]);
  } finally {
    await writer.close();
  }
}
