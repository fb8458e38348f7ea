/** Reads a topic for `tail` and `export`: the records that the filters choose, each as a text. */
import { TOPICS } from '../../../schemas/topics.ts';
import { openKafka } from '../../runtime/kafka/client.ts';
import { openDecoder } from '../../runtime/kafka/codec.ts';
import type { Retrying } from '../../runtime/kafka/ends.ts';
import type { LogRecord } from '../../runtime/kafka/record.ts';
import type { Config } from '../../runtime/process/config.ts';
import type { RegistrySettings } from '../../runtime/kafka/schema-registry.ts';
import { KAFKA, readSettings, REGISTRY } from '../config.ts';
import { faultNotes, LOG, note, patience, retryingWithNotes } from '../connections.ts';
import { count, didYouMean, Misuse, type SharedArguments } from '../usage.ts';
import { Effects } from './effects.ts';
import { isPlain, plainValue } from './plain-topics.ts';
import { findRanges, parseBound, type RangeOptions } from './range.ts';
import { recordJson, RecordSchemas, textOf, type Shown } from './records.ts';
import { tailLog, type TailOptions } from './tail-log.ts';
import { Where } from './where.ts';

/** Which records of a topic, as a command line gives it. */
export interface TopicFilters {
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

export type TopicArguments = TopicFilters & SharedArguments;

type TopicSettings = Config<typeof KAFKA & typeof REGISTRY>;

/** Where the records go. */
export type TopicOutput = Pick<TailOptions, 'write' | 'onFault' | 'signal'>;

export interface TopicReading {
  /** how values are read for `render`; as they are shown by default */
  readonly schemasOf?: (settings: RegistrySettings) => RecordSchemas;
  /** whether `render` has to know which records have an effect */
  readonly judged: boolean;
  /** the text of a record, line end included; `isEffective`: where judged */
  readonly render: (
    partition: number,
    record: LogRecord,
    shown: Shown,
    isEffective: boolean | undefined,
  ) => string;
  /** `records` of about `all` are read; `judging`: which ones have an effect is found out */
  readonly onProgress?: (step: 'judging' | 'reading', records: number, all: number) => void;
  /** ends the judging */
  readonly signal?: AbortSignal;
  /** retries the judging; by default a fault ends it */
  readonly retrying?: Retrying;
}

/** How many records were read and shown, and the fields that no record had. */
interface TopicRead {
  readonly read: number;
  readonly shown: number;
  readonly missing: readonly string[];
}

type ReadTopic = (output: TopicOutput) => Promise<TopicRead>;
type OpenTopic = (config: TopicSettings, reading: TopicReading) => Promise<ReadTopic>;

/** For commands. Throws `Misuse`, `LogLost` and faults. */
export async function readTopic(
  args: TopicArguments,
  reading: TopicReading & Pick<TopicOutput, 'write' | 'signal'>,
): Promise<Pick<TopicRead, 'read' | 'shown'>> {
  const open = readFilters(args);
  const { write, signal } = reading;
  const settings = readSettings({ ...KAFKA, ...REGISTRY }, args.stack);
  const retrying = retryingWithNotes(signal, note, patience(Infinity));
  const run = await open(settings, { ...reading, retrying });
  // brokers may be away for as long as they like
  const onFault = faultNotes(note, patience(Infinity));
  const { read, shown, missing } = await run({ write, signal, onFault });
  if (shown === 0 && !signal.aborted) note(whyNothing(read, missing));
  return { read, shown };
}

/**
 * Reads the filters; the result finds the range and returns the function that reads it. Both throw
 * `Misuse`; the second also a fault with retry while the brokers or the registry are away.
 */
export function readFilters(args: TopicFilters): OpenTopic {
  const now = Date.now();
  const range = rangeOf(args, now);
  const limit = args.limit === undefined ? Infinity : count('--limit', args.limit);
  const where = args.where === undefined ? undefined : new Where(args.where);
  const matches = filterOf(args);
  assertTypes(args);
  return (config, reading) =>
    openTopic(args, { range, now, limit, where, matches }, config, reading);
}

interface Filters {
  readonly range: RangeOptions;
  readonly now: number;
  readonly limit: number;
  readonly where: Where | undefined;
  readonly matches: (record: LogRecord) => boolean;
}

async function openTopic(
  args: TopicFilters,
  { range, now, limit, where, matches }: Filters,
  config: TopicSettings,
  reading: TopicReading,
): Promise<ReadTopic> {
  const { topic } = args;
  const { render: textOfRecord, onProgress = () => undefined, signal, retrying } = reading;
  const schemas = reading.schemasOf?.(config) ?? new RecordSchemas(config);
  const filtered = reading.schemasOf === undefined ? schemas : new RecordSchemas(config);
  const kafka = openKafka(config, 'ops-tail', LOG);
  const ranges = await findRanges(kafka, range, now);
  // no event decides on a record of another kind
  const isJudged = (args.effective === true || reading.judged) && !isPlain(topic);
  const codec = isJudged ? await openDecoder(config, { kafka }, TOPICS) : undefined;
  const effects = codec && new Effects(codec);
  const partitions = ranges.map(({ partition }) => partition);
  const onJudged = (records: number, all: number): void => {
    signal?.throwIfAborted();
    onProgress('judging', records, all);
  };
  await effects?.read(kafka, topic, partitions, onJudged, retrying).catch((error: unknown) => {
    if (signal?.aborted !== true) throw error;
  });
  const known = {
    knows: (value: Buffer | null) =>
      isPlain(topic) || (schemas.knows(value) && filtered.knows(value)),
    learn: async (value: Buffer | null) => {
      await codec?.learn([value]);
      await schemas.learn(value);
      if (filtered !== schemas) await filtered.learn(value);
    },
  };
  const all = ranges.reduce((sum, { from, to = from }) => sum + Number(to - from), 0);
  let records = 0;
  const render = (partition: number, record: LogRecord): string | undefined => {
    onProgress('reading', ++records, all);
    // first: every record that follows is judged
    const isEffective = effects?.has(partition, record);
    if ((args.effective === true && isEffective === false) || !matches(record)) return undefined;
    const plain = plainValue(topic, record.value);
    const shown = plain ?? schemas.show(record.value);
    if (args.type.length > 0 && !args.type.includes(shown.type ?? '')) return undefined;
    if (where !== undefined) {
      const line = recordJson(topic, partition, record, plain ?? filtered.show(record.value));
      const parsed: object = JSON.parse(line);
      if (!where.matches(parsed)) return undefined;
    }
    return textOfRecord(partition, record, shown, isEffective);
  };
  return async (output) => {
    const { read, shown } = await tailLog({
      kafka,
      topic,
      ranges,
      schemas: known,
      render,
      limit,
      log: LOG,
      write: output.write,
      onFault: output.onFault,
      signal: output.signal,
    });
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
function assertTypes({ topic, type }: TopicFilters): void {
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

function rangeOf(args: TopicFilters, now: number): RangeOptions {
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
function filterOf({ key: keys, header }: TopicFilters): (record: LogRecord) => boolean {
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
