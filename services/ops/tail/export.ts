/**
 * `ops export <topic>`: the records of a topic as lines or as a table. A file is written in a
 * folder beside it and then renamed, so that what has its name is whole.
 */
import { createReadStream, mkdtempSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { zstdCompress } from 'node:zlib';
import avro from 'avsc';
import { TOPICS } from '../../../schemas/topics.ts';
import { Rate } from '../../runtime/process/rate.ts';
import { messageOf } from '../../runtime/process/errors.ts';
import { jsonOf, note, print, stopAtSignals } from '../connections.ts';
import { openProgress, type Progress } from '../progress.ts';
import { Misuse } from '../usage.ts';
import { watchReader, writeOut } from './output.ts';
import {
  readTopic,
  type TopicArguments,
  type TopicOutput,
  type TopicReading,
} from './read-topic.ts';
import { plainColumns } from './plain-topics.ts';
import { columnName, RECORD_COLUMNS, recordJson, recordRow, RecordSchemas } from './records.ts';
import { fieldColumns, TABLE_OPTIONS, type Columns } from './shown-types.ts';
import { mergedColumns, writeTable, type Table } from './tables.ts';

export interface ExportArguments extends TopicArguments {
  readonly format: 'ndjson' | 'csv' | 'parquet';
  /** standard output where not given */
  readonly out: string | undefined;
}

const PROGRESS_EVERY_MS = 1_000;
const INTERRUPTED = 2;
const compressed = promisify(zstdCompress);

type Reading = Pick<TopicOutput, 'signal'> & Pick<TopicReading, 'onProgress'>;

/** Resolves to the exit code: 2 when interrupted. */
export async function exportTopic(args: ExportArguments): Promise<number> {
  const { topic, format, out, json } = args;
  if (out === undefined && format === 'parquet' && process.stdout.isTTY)
    throw new Misuse('Parquet is no text: name a file (--out FILE), or write to a pipe');
  const folder = folderFor(out);
  const file = join(folder, 'whole');
  const progress = openProgress(args);
  const stopping = stopAtSignals();
  const { signal } = stopping;
  let isWanted = true;
  const onGone = (): void => {
    isWanted = false;
    stopping.abort();
  };
  if (out === undefined) watchReader(signal, onGone);
  const reading = { signal, onProgress: showProgress(progress, topic) };
  try {
    const isStream = format === 'ndjson' && out === undefined;
    const records =
      format === 'ndjson'
        ? await exportLines(args, reading, isStream ? undefined : file)
        : await exportTable({ ...args, format }, reading, folder, file);
    signal.throwIfAborted();
    progress.end();
    if (out === undefined) {
      if (!isStream) await copyOut(file);
    } else {
      renameSync(file, out);
      if (json === true) print(jsonOf({ file: resolve(out), format, records }));
      else note(`${records} records in ${out}`);
    }
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    progress.end();
    if (!isWanted) return 0;
    note(out === undefined ? 'interrupted' : `interrupted: ${out} is as it was`, args);
    return INTERRUPTED;
  } finally {
    stopping.abort();
    progress.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Beside the file, so that it can be renamed. Throws `Misuse`. */
function folderFor(out: string | undefined): string {
  try {
    return mkdtempSync(out === undefined ? join(tmpdir(), 'ops-export-') : `${out}.part-`);
  } catch (error) {
    const place = out === undefined ? tmpdir() : dirname(resolve(out));
    throw new Misuse(`nothing can be written in ${place}: ${messageOf(error)}`, 'no_folder');
  }
}

async function copyOut(file: string): Promise<void> {
  for await (const piece of createReadStream(file)) if (!(await writeOut(piece))) return;
}

/** How many. To standard output where there is no file. */
async function exportLines(
  args: ExportArguments,
  reading: Reading,
  file: string | undefined,
): Promise<number> {
  const write = file === undefined ? writeOut : openFile(file);
  const { shown } = await readTopic(args, {
    ...reading,
    judged: false,
    write,
    render: (partition, record, line) => `${recordJson(args.topic, partition, record, line)}\n`,
  });
  return shown;
}

/** How many. The columns are those of all events of the topic, and of what was read. */
async function exportTable(
  args: ExportArguments & { readonly format: Table['format'] },
  reading: Reading,
  folder: string,
  file: string,
): Promise<number> {
  const { topic, format } = args;
  const rows = join(folder, 'rows');
  const write = openFile(rows);
  let schemas: RecordSchemas | undefined;
  let row_bytes_max = 0;
  const { shown } = await readTopic(args, {
    ...reading,
    judged: true,
    schemasOf: (settings) => (schemas = new RecordSchemas(settings, TABLE_OPTIONS)),
    write: async (text) => write(await compressed(text)),
    render: (partition, record, value, isEffective) => {
      const row = `${recordRow(topic, partition, record, value, isEffective)}\n`;
      row_bytes_max = Math.max(row_bytes_max, Buffer.byteLength(row));
      return row;
    },
  });
  const types = [...declaredTypes(topic), ...(schemas?.types ?? [])];
  const own = [plainColumns(topic), ...types.map(valueColumns)];
  const columns = own.reduce(mergedColumns, RECORD_COLUMNS);
  await writeTable({ format, columns, rows, row_bytes_max, file, folder }, reading.signal);
  return shown;
}

function openFile(file: string): (piece: string | Uint8Array) => Promise<boolean> {
  const fd = openSync(file, 'w');
  return (piece) => writeOut(piece, fd);
}

function declaredTypes(topic: string): readonly avro.Type[] {
  const events = TOPICS.filter(({ name }) => name === topic).flatMap((each) => each.events);
  return events.map(({ avsc }) => {
    const schema: avro.Schema = JSON.parse(readFileSync(avsc, 'utf8'));
    return avro.Type.forSchema(schema, { ...TABLE_OPTIONS });
  });
}

function valueColumns(type: avro.Type): Columns {
  if (!(type instanceof avro.types.RecordType)) return {};
  const fields = Object.entries(fieldColumns(type));
  return Object.fromEntries(fields.map(([name, column]) => [columnName(name), column]));
}

const STEPS = { judging: 'finding what has an effect', reading: 'reading' } as const;

function showProgress(progress: Progress, topic: string): NonNullable<Reading['onProgress']> {
  let rate = new Rate();
  let reported = performance.now();
  let before = { step: '', records: 0 };
  return (step, records, all) => {
    if (records === all || performance.now() - reported < PROGRESS_EVERY_MS) return;
    reported = performance.now();
    if (before.step !== step) [rate, before] = [new Rate(), { step, records: 0 }];
    rate.count(records - before.records);
    before = { step, records };
    const { seconds_left: secondsLeft } = rate.estimate(BigInt(all - records));
    const time = secondsLeft === undefined ? '' : `, about ${secondsLeft} s left`;
    progress.show(`${topic}: ${STEPS[step]}, ${records} of ${all} records${time}`, records / all);
  };
}
