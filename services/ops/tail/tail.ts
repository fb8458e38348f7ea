/** `ops tail <topic>`: the records of a topic, decoded, for people and for scripts. */
import { TOPICS } from '../../../schemas/topics.ts';
import { openKafka } from '../../runtime/kafka/client.ts';
import { openDecoder } from '../../runtime/kafka/codec.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import type { Fault } from '../../runtime/process/errors.ts';
import type { Config } from '../../runtime/process/config.ts';
import { KAFKA, readSettings, REGISTRY } from '../config.ts';
import { LOG, note, stopAtSignals } from '../connections.ts';
import { count, didYouMean, Misuse, type SharedArguments } from '../usage.ts';
import { Effects } from './effects.ts';
import { watchReader, writeOut } from './output.ts';
import { findRanges, parseBound, type RangeOptions } from './range.ts';
import { recordJson, RecordSchemas, recordText, textOf } from './records.ts';
import { tailLog, type TailOptions } from './tail-log.ts';
import { Where } from './where.ts';

/** Which records are shown, as a command line gives it. */
export interface TailFilters {
  readonly json: boolean | undefined;
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
  readonly effective: boolean | undefined;
}

export type TailArguments = TailFilters & SharedArguments;

type TailSettings = Config<typeof KAFKA & typeof REGISTRY>;

/** Where the records go: the part of `TailOptions` that a caller of `openTail` decides. */
export type TailOutput = Pick<TailOptions, 'write' | 'onFault' | 'signal'>;

/** How many records were read and shown, and the fields that no record had. */
interface Tailed {
  readonly read: number;
  readonly shown: number;
  readonly missing: readonly string[];
}

/** `write` takes text and resolves to whether more is wanted; standard output when not given. */
export async function tail(args: TailArguments, write = writeOut): Promise<number> {
  const open = readFilters(args);
  const run = await open(readSettings({ ...KAFKA, ...REGISTRY }, args.stack));
  const stopping = stopAtSignals();
  const { signal } = stopping;
  if (write === writeOut) watchReader(signal, () => stopping.abort());
  const { read, shown, missing } = await run({ write, signal, onFault: faultNotes() });
  const isWhole = !signal.aborted;
  stopping.abort();
  if (shown === 0 && isWhole) note(whyNothing(read, missing));
  return 0;
}

type RunTail = (output: TailOutput) => Promise<Tailed>;

/**
 * Reads the filters; the result finds the range and returns the tail that shows it. Both throw
 * `Misuse`; the second also a fault with retry while the brokers or the registry are away.
 */
export function readFilters(args: TailFilters): (config: TailSettings) => Promise<RunTail> {
  const now = Date.now();
  const range = rangeOf(args, now);
  const limit = args.limit === undefined ? Infinity : count('--limit', args.limit);
  const where = args.where === undefined ? undefined : new Where(args.where);
  const matches = filterOf(args);
  assertTypes(args);
  return (config) => openTail(args, config, { range, now, limit, where, matches });
}

interface Filters {
  readonly range: RangeOptions;
  readonly now: number;
  readonly limit: number;
  readonly where: Where | undefined;
  readonly matches: (record: LogRecord) => boolean;
}

async function openTail(
  args: TailFilters,
  config: TailSettings,
  { range, now, limit, where, matches }: Filters,
): Promise<RunTail> {
  const { topic } = args;
  const schemas = new RecordSchemas(config);
  const kafka = openKafka({ ...config, client_id: 'ops-tail' }, LOG);
  const ranges = await findRanges(kafka, range, now);
  const codec =
    args.effective === true ? await openDecoder({ ...config, kafka }, TOPICS) : undefined;
  const effects = codec && new Effects(codec);
  await effects?.read(
    kafka,
    topic,
    ranges.map(({ partition }) => partition),
  );
  const known = {
    knows: (value: Buffer | null) => schemas.knows(value),
    learn: async (value: Buffer | null) => {
      await codec?.learn([value]);
      await schemas.learn(value);
    },
  };
  const render = (partition: number, record: LogRecord): string | undefined => {
    // first: every record that follows is judged
    if (effects?.has(partition, record) === false || !matches(record)) return undefined;
    const shown = schemas.show(record.value);
    if (args.type.length > 0 && !args.type.includes(shown.type ?? '')) return undefined;
    const isJson = args.json === true || where !== undefined;
    const line = isJson ? recordJson(topic, partition, record, shown) : '';
    if (where !== undefined) {
      const parsed: object = JSON.parse(line);
      if (!where.matches(parsed)) return undefined;
    }
    return args.json === true ? `${line}\n` : recordText(topic, partition, record, shown);
  };
  return async (output) => {
    const options = { kafka, topic, ranges, schemas: known, render, limit, log: LOG };
    const { read, shown } = await tailLog({ ...options, ...output });
    return { read, shown, missing: where?.missing ?? [] };
  };
}

function whyNothing(read: number, missing: readonly string[]): string {
  if (read === 0) return 'there is no record in this range';
  return missing.length === 0
    ? `no record matched: ${read} were read`
    : `none of ${read} records has a field ${missing.join(', ')}`;
}

/** Throws `Misuse` for a type that no record of the topic can have. */
function assertTypes({ topic, type }: TailFilters): void {
  const own = TOPICS.filter(({ name }) => name === topic);
  const types = (own.length > 0 ? own : TOPICS).flatMap(({ events }) =>
    events.map((event) => event.type),
  );
  const unknown = type.find((each) => !types.includes(each));
  if (unknown !== undefined)
    throw new Misuse(
      `${topic} has no events of type ${unknown}${didYouMean(unknown, types)} (there are ${types.toSorted().join(', ')})`,
    );
}

function rangeOf(args: TailFilters, now: number): RangeOptions {
  const { topic, from, last, to } = args;
  const newest = last === undefined ? undefined : { newest: BigInt(count('--last', last)) };
  return {
    topic,
    partitions: args.partition.map((text) => {
      if (/^(?:0|[1-9][0-9]{0,8})$/.test(text)) return Number(text);
      throw new Misuse(`--partition is a whole number, not "${text}"`);
    }),
    from: newest ?? (from === undefined ? { offset: 0n } : parseBound('--from', from, now)),
    to: to === undefined ? undefined : parseBound('--to', to, now),
    follow: args['no-follow'] !== true,
  };
}

/** By what is known of a record without decoding it. */
function filterOf({ key: keys, header }: TailFilters): (record: LogRecord) => boolean {
  const wanted = header.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new Misuse(`--header is name=value, not "${text}"`);
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  return ({ key, headers }) =>
    (keys.length === 0 || (key !== null && keys.includes(textOf(key)))) &&
    wanted.every(([name, value]) =>
      [headers[name] ?? []].flat().some((each) => textOf(each) === value),
    );
}

/** How long a server may be away before this is logged. */
const SILENT_MS = 2_000;

/** Says that something has been away for long, and that it is back; `what` was asked of it. */
function faultNotes(): (fault: Fault | undefined, what: string) => void {
  const failing = new Map<string, { readonly since: number; noted: boolean }>();
  return (fault, what) => {
    const now = performance.now();
    const failure = failing.get(what) ?? { since: now, noted: false };
    if (fault === undefined) {
      if (failure.noted) note('going on');
      failing.delete(what);
      return;
    }
    failing.set(what, failure);
    if (failure.noted || now - failure.since <= SILENT_MS) return;
    note(`waiting: ${fault.message}`);
    failure.noted = true;
  };
}
