/** Where logs begin and end, and what that says against the positions of a reader. */
import { disconnect, withAdmin } from './client.ts';
import {
  CONFIRMATIONS,
  endLost,
  offsetLost,
  partitionKey,
  startLost,
  type LogLost,
  type Positions,
} from './position.ts';
import { kafkaFault, type Admin, type Kafka, type LogEnd } from './port.ts';
import { Fault } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import { aborted, untilAborted } from '../process/retry.ts';

const LOOK_AGAIN_MS = 1_000;

/** The ends of the topics that exist. Throws a fault with retry when the brokers do not answer. */
export function readTopicEnds(kafka: Kafka, topics: readonly string[]): Promise<readonly LogEnd[]> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.topicNames());
    const found = topics.filter((topic) => existing.has(topic));
    return (await Promise.all(found.map((topic) => admin.ends(topic)))).flat();
  });
}

/** Throws a fault with retry when the brokers do not answer. */
export function readLogEnds(
  kafka: Kafka,
  topic: string,
  partition: number,
): Promise<Pick<LogEnd, 'low' | 'high'>> {
  return withAdmin(kafka, async (admin) => {
    const end = (await admin.ends(topic)).find((each) => each.partition === partition);
    return { low: end?.low ?? 0n, high: end?.high ?? 0n };
  });
}

/** Retries an attempt until it succeeds. */
export type Retrying = <Result>(what: string, attempt: () => Promise<Result>) => Promise<Result>;

export interface LookOptions {
  readonly kafka: Kafka;
  readonly retrying: Retrying;
  readonly topics: readonly string[];
  readonly positions: Positions;
  /** as for `LogReader` */
  readonly ends?: ReadonlyMap<string, bigint> | undefined;
  readonly lenient?: boolean | undefined;
  readonly signal: AbortSignal;
}

/** The ends of the log, and the loss that keeps reading from going on, if there is one. */
export async function lookAtLog(
  options: LookOptions,
): Promise<{ readonly found: readonly LogEnd[]; readonly lost: Error | undefined }> {
  const { kafka, retrying, topics, positions, ends, lenient = false, signal } = options;
  for (let looks = 1; ; looks++) {
    const found = await retrying('looking at the ends of the log', () =>
      withAdmin(kafka, async (admin) =>
        (await Promise.all(topics.map((topic) => admin.ends(topic)))).flat(),
      ),
    );
    let lost: Error | undefined;
    for (const { topic, partition, low, high } of found) {
      const key = partitionKey(topic, partition);
      const position = positions.get(key);
      const next = position?.next_offset ?? 0n;
      if (ends === undefined) {
        if (low > 0n) return { found, lost: startLost(topic, partition, low, next) };
        if (high < next) lost = endLost(topic, partition, high, next);
      } else if (position !== undefined) {
        const to = lenient ? next : (ends.get(key) ?? next);
        if (low <= next && to <= high) continue;
        const range = `records ${next} to ${to - 1n} of ${key} were not read`;
        const held = `the log holds records ${low} to ${high - 1n}`;
        if (lenient) lost = offsetLost(topic, partition, next);
        else if (low > next) lost = deleted(`${range}: ${held}`);
        else lost = kafkaFault(range, new Error(held));
        if (low > next) return { found, lost };
      }
    }
    if (lost === undefined || looks === CONFIRMATIONS || signal.aborted) return { found, lost };
    await untilAborted(LOOK_AGAIN_MS, signal);
  }
}

/** Looks again by itself, and goes on once the records are back. */
function deleted(what: string): Fault {
  const shown = `${what}, those before were deleted. What to do: restore the topic from a backup (docs/operations/backup.md), and look for who deleted them (retention.ms must be -1)`;
  return new Fault('log_damaged', shown, { retry: true, shown });
}

export interface LogWatchOptions {
  readonly kafka: Kafka;
  readonly topics: readonly string[];
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly every_ms: number;
  /** first offset not applied yet, by `partitionKey` */
  readonly applied: ReadonlyMap<string, bigint>;
  readonly onLag: (topic: string, partition: number, records: bigint) => void;
  readonly onLost: (lost: LogLost) => void;
  /** after each look; undefined: it was answered */
  readonly onLooked: (fault: Fault | undefined) => void;
}

/** Watches the ends until the signal is aborted. Retries while brokers do not answer. */
export async function watchLog(options: LogWatchOptions): Promise<void> {
  const { kafka, log, signal, every_ms: everyMs, onLooked } = options;
  const below = new Map<string, number>();
  const admin = kafka.admin();
  const stopped = aborted(signal);
  while (!signal.aborted) {
    const looked = watchOnce(admin, options, below).then(
      () => onLooked(undefined),
      (error: unknown) => {
        const err = kafkaFault('the ends of the log are not known', error);
        if (err instanceof Fault) onLooked(err);
        log.debug({ err }, 'log watch failed');
      },
    );
    await Promise.race([looked, stopped]);
    await untilAborted(everyMs, signal);
  }
  await disconnect(admin, log);
}

async function watchOnce(
  admin: Admin,
  { topics, signal, applied, onLag, onLost }: LogWatchOptions,
  below: Map<string, number>,
): Promise<void> {
  for (const topic of topics) {
    // by the time the ends arrive more may be applied than they show
    const before = new Map(applied);
    for (const { partition, low, high } of await admin.ends(topic)) {
      if (signal.aborted) return;
      const key = partitionKey(topic, partition);
      const next = before.get(key) ?? 0n;
      const lag = high - next;
      onLag(topic, partition, lag > 0n ? lag : 0n);
      if (low > 0n) onLost(startLost(topic, partition, low, next));
      const times = lag < 0n ? (below.get(key) ?? 0) + 1 : 0;
      below.set(key, times);
      if (times >= CONFIRMATIONS) onLost(endLost(topic, partition, high, next));
    }
  }
}
