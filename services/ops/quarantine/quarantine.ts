/** `ops quarantine list|skip`. A skip is an event: every replay skips the same record. */
import { randomBytes } from 'node:crypto';
import {
  isSkipEvent,
  skipEventId,
  skipKey,
  type RecordSkipped,
} from '../../../schemas/projector.skips/events.ts';
import { PROJECTOR_SKIPS } from '../../../schemas/topics.ts';
import { openCodec } from '../../runtime/kafka/codec.ts';
import { readLogEvents } from '../../runtime/kafka/range.ts';
import { readLogEnds } from '../../runtime/kafka/ends.ts';
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

export async function skipRecord(
  args: SharedArguments & Decision & { readonly projection: string },
): Promise<number> {
  const { projection, json, stack } = args;
  const { actor, reason } = decision(args);
  const record = (await quarantineOf(stack)).find(
    (each) => each.projection === projection && each.state === 'halts',
  );
  if (record === undefined)
    throw new Misuse(
      `no record that may be skipped halts ${projection}: quarantine list shows those that halt`,
    );
  const { topic, partition, offset, error } = record;
  const event: RecordSkipped = {
    type: 'RecordSkipped',
    projection,
    topic,
    partition,
    record_offset: Number(offset),
    fingerprint: Buffer.from(record.fingerprint.slice(2), 'hex'),
    error,
    actor,
    reason,
    decided_at: Date.now(),
  };
  const appended = await appendOnce(event, stack);
  const done = appended === undefined ? 'before' : `now: ${PROJECTOR_SKIPS.name}/0@${appended}`;
  print(
    json === true
      ? jsonOf({ projection, topic, partition, offset, appended: appended ?? null })
      : `the skip of ${topic}/${partition}@${offset} by ${projection} was decided ${done}; its projector goes on by itself`,
  );
  return 0;
}

/** The offset of the event; undefined when the same skip was decided before. */
async function appendOnce(event: RecordSkipped, stack: string): Promise<bigint | undefined> {
  const config = readSettings({ ...KAFKA, ...REGISTRY }, stack);
  const kafka = kafkaOf(config);
  const { name: topic } = PROJECTOR_SKIPS;
  await ensureTopics(kafka, [PROJECTOR_SKIPS]);
  const codec = await openCodec({ ...config, kafka, log: LOG }, [PROJECTOR_SKIPS]);
  const key = skipKey(event);
  let isDecided = false;
  const { low: from, high: to } = await readLogEnds(kafka, topic, 0);
  const range = { topic, partition: 0, from, to };
  await readLogEvents({ kafka, codec }, range, (known) => {
    if (isSkipEvent(known) && skipKey(known) === key)
      isDecided ||= known.fingerprint.equals(event.fingerprint);
  });
  if (isDecided) return undefined;
  const headers = {
    event_id: skipEventId(event),
    event_type: event.type,
    schema_fingerprint: codec.fingerprintOf(event.type),
    source: 'ops',
    trace_id: randomBytes(16).toString('hex'),
  };
  const entry = { key, value: codec.encode(event), headers, timestamp: event.decided_at };
  const writer = new KafkaWriter(kafka, { log: LOG, signal: AbortSignal.timeout(APPEND_MS) });
  try {
    return await writer.append(topic, 0, [entry]);
  } finally {
    await writer.close();
  }
}
