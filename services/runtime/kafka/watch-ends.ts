/** Looks at the ends of the log once a second: for the lag, and because kafkajs itself passes over a log that lost its beginning or its end. */
import type { Admin, Kafka } from 'kafkajs';
import { disconnect } from './client.ts';
import { kafkaFault } from './topics.ts';
import { CONFIRMATIONS, endLost, partitionKey, startLost, type LogLost } from './position.ts';
import type { Logger } from '../process/log.ts';
import { untilAborted } from '../process/retry.ts';

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
}

/** Watches until the signal is aborted. Brokers that do not answer are asked again. */
export async function watchLog(options: LogWatchOptions): Promise<void> {
  const { kafka, log, signal, every_ms: everyMs } = options;
  const below = new Map<string, number>();
  const admin = kafka.admin();
  const stopped = new Promise((resolve) =>
    signal.addEventListener('abort', resolve, { once: true }),
  );
  while (!signal.aborted) {
    const looked = look(admin, options, below).catch((error: unknown) => {
      log.debug(
        { err: kafkaFault('the ends of the log are not known', error) },
        'log watch failed',
      );
    });
    await Promise.race([looked, stopped]);
    await untilAborted(everyMs, signal);
  }
  await disconnect(admin, log);
}

async function look(
  admin: Admin,
  { topics, signal, applied, onLag, onLost }: LogWatchOptions,
  below: Map<string, number>,
): Promise<void> {
  await admin.connect();
  for (const topic of topics) {
    // the answer is older than what is applied when it comes
    const before = new Map(applied);
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
      if (signal.aborted) return;
      const key = partitionKey(topic, partition);
      const next = before.get(key) ?? 0n;
      const lag = BigInt(high) - next;
      onLag(topic, partition, lag > 0n ? lag : 0n);
      if (BigInt(low) > 0n) onLost(startLost(topic, partition, BigInt(low), next));
      const times = lag < 0n ? (below.get(key) ?? 0) + 1 : 0;
      below.set(key, times);
      if (times >= CONFIRMATIONS) onLost(endLost(topic, partition, BigInt(high), next));
    }
  }
}
