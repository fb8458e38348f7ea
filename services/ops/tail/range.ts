/** The range of each partition that is shown: offsets, times, or so many of the newest records. */
import { withAdmin } from '../../runtime/kafka/client.ts';
import type { Admin, Kafka } from '../../runtime/kafka/port.ts';
import { didYouMean, Misuse } from '../usage.ts';

/** As given on the command line. */
export type Bound =
  { readonly offset: bigint } | { readonly time: number } | { readonly newest: bigint };

export interface PartitionRange {
  readonly partition: number;
  /** where reading begins: at `from`, or at the end of the log where that lies before it */
  readonly start: bigint;
  /** offset of the first record to be shown */
  readonly from: bigint;
  /** the offset after the last record, if there is one */
  readonly to: bigint | undefined;
  /** Unix milliseconds: the range ends before the first record that is not older */
  readonly before: number | undefined;
}

export interface RangeOptions {
  readonly topic: string;
  /** empty: all */
  readonly partitions: readonly number[];
  readonly from: Bound;
  readonly to: Bound | undefined;
  /** go on beyond the end that the log has now */
  readonly follow: boolean;
}

const OFFSET = /^(?:0|[1-9][0-9]{0,18})$/;
const TIME =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,3})?)?(?:Z|[+-][0-9]{2}:[0-9]{2})?)?$/;
const AGO = /^([1-9][0-9]{0,5})(s|m|h|d) ?ago$/;
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** An offset, a time (ISO 8601, UTC without a zone), `10m ago`, or `end`. Throws `Misuse`. */
export function parseBound(option: string, text: string, now: number): Bound {
  if (text === 'end') return { newest: 0n };
  if (OFFSET.test(text)) return { offset: BigInt(text) };
  const [, count, unit = ''] = AGO.exec(text) ?? [];
  if (count !== undefined) return { time: now - Number(count) * (SECONDS[unit] ?? 0) * 1_000 };
  const zoned = /T.*(?:Z|[+-]..:..)$|^[^T]*$/.test(text) ? text : `${text}Z`;
  const time = TIME.test(text) ? Date.parse(zoned) : Number.NaN;
  if (Number.isNaN(time))
    throw new Misuse(
      `${option} is an offset, a time like 2026-11-21T12:00:00Z, one like "10m ago", or end; not "${text}"`,
    );
  return { time };
}

/**
 * The ranges of the partitions asked for. Throws `Misuse` for a topic or a partition that does not
 * exist and for an offset behind every end, a fault with retry when the brokers do not answer.
 * `now`: Unix milliseconds.
 */
export async function findRanges(
  kafka: Kafka,
  options: RangeOptions,
  now: number,
): Promise<readonly PartitionRange[]> {
  const { topic, partitions } = options;
  const { topics, ranges } = await withAdmin(kafka, (admin) => readRanges(admin, options, now));
  if (!topics.includes(topic)) {
    const known =
      topics.length === 0 ? 'there are none yet' : `there are ${topics.toSorted().join(', ')}`;
    throw new Misuse(`there is no topic ${topic}${didYouMean(topic, topics)} (${known})`);
  }
  const absent = partitions.find((wanted) => !ranges.some(({ partition }) => partition === wanted));
  if (absent !== undefined)
    throw new Misuse(`${topic} has partitions 0 to ${ranges.length - 1}, no ${absent}`);
  const chosen = ranges.filter(
    ({ partition }) => partitions.length === 0 || partitions.includes(partition),
  );
  if ('offset' in options.from && chosen.every(({ start, from }) => start < from)) {
    const ends = chosen.map(({ partition, start }) => `partition ${partition} at ${start}`);
    throw new Misuse(
      `--from ${options.from.offset} is behind the end of ${topic}: ${ends.join(', ')}`,
    );
  }
  return chosen;
}

async function readRanges(admin: Admin, { topic, from, to, follow }: RangeOptions, now: number) {
  const topics = (await admin.topicNames()).filter((name) => !name.startsWith('__'));
  if (!topics.includes(topic)) return { topics, ranges: [] };
  const ends = await admin.ends(topic);
  const firsts = await offsetsOf(admin, topic, from);
  const stops = await offsetsOf(admin, topic, to ?? { newest: 0n });
  // a time to come has no offset yet
  const before = follow && to !== undefined && 'time' in to && to.time > now ? to.time : undefined;
  const isOpen = follow && (to === undefined || before !== undefined);
  const ranges = ends.map(({ partition, low, high }): PartitionRange => {
    const [first, stop] = [firsts(partition, high), stops(partition, high)];
    const begin = first > low ? first : low;
    const last = follow || stop < high ? stop : high;
    const start = begin < high ? begin : high;
    return { partition, start, from: begin, to: isOpen ? undefined : last, before };
  });
  return { topics, ranges };
}

/** The offset of the bound in a partition that ends at `high`. */
async function offsetsOf(
  admin: Admin,
  topic: string,
  bound: Bound,
): Promise<(partition: number, high: bigint) => bigint> {
  if ('offset' in bound) return () => bound.offset;
  if ('newest' in bound) return (_, high) => high - bound.newest;
  const offsets = await admin.offsetsAt(topic, bound.time);
  return (partition, high) => offsets.get(partition) ?? high;
}
