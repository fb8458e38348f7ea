/** `ops tail <topic>`: the records of a topic, decoded, for people and for scripts. */
import { openKafka } from '../../runtime/kafka/client.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import type { Fault } from '../../runtime/process/errors.ts';
import { KAFKA, readSettings, REGISTRY } from '../config.ts';
import { LOG, note, stopAtSignals } from '../connections.ts';
import { count, Misuse, type SharedArguments } from '../usage.ts';
import { watchReader, writeOut } from './output.ts';
import { findRanges, parseBound, type RangeOptions } from './range.ts';
import { RecordSchemas } from './record-schemas.ts';
import { recordJson, recordText, textOf } from './record-text.ts';
import { tailLog } from './tail-log.ts';
import { BadExpression, parseWhere, type Where } from './where.ts';

export interface TailArguments extends SharedArguments {
  readonly topic: string;
  readonly from: string | undefined;
  readonly last: string | undefined;
  readonly to: string | undefined;
  readonly 'no-follow': boolean | undefined;
  readonly limit: string | undefined;
  readonly partition: readonly string[];
  readonly key: readonly string[];
  readonly type: readonly string[];
  readonly header: readonly string[];
  readonly where: string | undefined;
}

/** `write` takes text and resolves to whether more is wanted; standard output when not given. */
export async function tail(args: TailArguments, write = writeOut): Promise<number> {
  const { topic } = args;
  const now = Date.now();
  const range = rangeOf(args, now);
  const limit = args.limit === undefined ? Infinity : count('--limit', args.limit);
  const where = args.where === undefined ? undefined : readWhere(args.where);
  const matches = filterOf(args);
  const config = readSettings({ ...KAFKA, ...REGISTRY }, args.stack);
  const kafka = openKafka({ ...config, client_id: 'ops-tail' }, LOG);
  const ranges = await findRanges(kafka, range, now);
  const schemas = new RecordSchemas(config.registry_url);
  const render = renderer(args, schemas, matches, where);
  const stopping = stopAtSignals();
  const { signal } = stopping;
  if (write === writeOut) watchReader(signal, () => stopping.abort());
  const options = { kafka, topic, ranges, schemas, render, write, limit, log: LOG, signal };
  const { read, shown } = await tailLog({ ...options, onFault: faultNotes() });
  stopping.abort();
  if (shown === 0 && read > 0 && where !== undefined && where.missing.size > 0)
    note(`none of ${read} records has a field ${[...where.missing].join(', ')}`);
  return 0;
}

function rangeOf(args: TailArguments, now: number): RangeOptions {
  const { topic, from, last, to } = args;
  const newest = last === undefined ? undefined : { newest: BigInt(count('--last', last)) };
  return {
    topic,
    partitions: args.partition.map(partitionNumber),
    from: newest ?? (from === undefined ? { offset: 0n } : parseBound('--from', from, now)),
    to: to === undefined ? undefined : parseBound('--to', to, now),
    follow: args['no-follow'] !== true,
  };
}

function partitionNumber(text: string): number {
  if (!/^(?:0|[1-9][0-9]{0,8})$/.test(text))
    throw new Misuse(`--partition is a whole number, not "${text}"`);
  return Number(text);
}

function readWhere(text: string): Where {
  try {
    return parseWhere(text);
  } catch (error) {
    if (error instanceof BadExpression) throw new Misuse(error.message);
    throw error;
  }
}

type Matches = (record: LogRecord) => boolean;

/** By what is known of a record without decoding it. */
function filterOf({ key: keys, header }: TailArguments): Matches {
  const headers = header.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new Misuse(`--header is name=value, not "${text}"`);
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  return (record) =>
    (keys.length === 0 || (record.key !== null && keys.includes(textOf(record.key)))) &&
    headers.every(([name, value]) => hasHeader(record, name, value));
}

function hasHeader(record: LogRecord, name: string, value: string): boolean {
  return [record.headers[name]].flat().some((each) => each !== undefined && textOf(each) === value);
}

/** The text of each record that matches. */
function renderer(
  { topic, type: types, json = false }: TailArguments,
  schemas: RecordSchemas,
  matches: Matches,
  where: Where | undefined,
): (partition: number, record: LogRecord) => string | undefined {
  return (partition, record) => {
    if (!matches(record)) return undefined;
    const shown = schemas.show(record.value);
    if (types.length > 0 && !types.includes(shown.type ?? '')) return undefined;
    const place = { topic, partition };
    const line = json || where !== undefined ? recordJson(place, record, shown) : '';
    if (where !== undefined) {
      const parsed: object = JSON.parse(line);
      if (!where.matches(parsed)) return undefined;
    }
    return json ? `${line}\n` : recordText(place, record, shown);
  };
}

/** How long something may be away before a person is told. */
const SILENT_MS = 2_000;

/** Says that something has been away for long, and that it is back. */
function faultNotes(): (fault: Fault | undefined) => void {
  let since: number | undefined;
  let noted = false;
  return (fault) => {
    const now = performance.now();
    if (fault === undefined) {
      if (noted) note('going on');
      [since, noted] = [undefined, false];
    } else if (!noted && now - (since ??= now) > SILENT_MS) {
      note(`waiting: ${fault.message}`);
      noted = true;
    }
  };
}
