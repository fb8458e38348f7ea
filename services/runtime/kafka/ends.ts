/** What the ends of a log tell against a checkpoint, before kafkajs can pass over it. */
import type { Kafka } from 'kafkajs';
import { withAdmin } from './topics.ts';
import {
  CONFIRMATIONS,
  endLost,
  offsetLost,
  partitionKey,
  startLost,
  type LogLost,
  type Positions,
} from './position.ts';
import { untilAborted } from '../process/retry.ts';

const LOOK_AGAIN_MS = 1_000;

/** Does an attempt until it goes well. */
export type Retrying = <Result>(what: string, attempt: () => Promise<Result>) => Promise<Result>;

/** Partitions of one topic, as a group hands them out. */
export interface Assigned {
  readonly topic: string;
  readonly partitions: number[];
}

export interface LossOptions {
  readonly kafka: Kafka;
  readonly retrying: Retrying;
  readonly assigned: readonly Assigned[];
  readonly places: Positions;
  /** only the positions have to be in the log, wherever it begins */
  readonly lenient?: boolean;
  readonly signal: AbortSignal;
}

/** The loss that keeps reading from going on at these places, if there is one. An end that lies too low is looked at again: a broker that is just starting may say so once. */
export async function findLoss(options: LossOptions): Promise<LogLost | undefined> {
  for (let looks = 1; ; looks++) {
    const { lost, sure } = await look(options);
    if (lost === undefined || sure || looks === CONFIRMATIONS || options.signal.aborted)
      return lost;
    await untilAborted(LOOK_AGAIN_MS, options.signal);
  }
}

async function look({
  kafka,
  retrying,
  assigned,
  places,
  lenient = false,
}: LossOptions): Promise<{ readonly lost: LogLost | undefined; readonly sure: boolean }> {
  let short: LogLost | undefined;
  for (const { topic } of assigned) {
    const ends = await retrying('looking at the ends of the log', () =>
      withAdmin(kafka, (admin) => admin.fetchTopicOffsets(topic)),
    );
    for (const { partition, low, high } of ends) {
      const position = places.get(partitionKey(topic, partition));
      const next = position?.next_offset ?? 0n;
      if (lenient) {
        const isThere = BigInt(low) <= next && next <= BigInt(high);
        if (position !== undefined && !isThere) short = offsetLost(topic, partition, next);
      } else if (BigInt(low) > 0n)
        return { lost: startLost(topic, partition, BigInt(low), next), sure: true };
      else if (BigInt(high) < next) short = endLost(topic, partition, BigInt(high), next);
    }
  }
  return { lost: short, sure: false };
}
