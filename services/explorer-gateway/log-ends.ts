import { setTimeout as after } from 'node:timers/promises';
import { Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import { cachedFor } from './cached-for.ts';

const TIMEOUT_MS = 1_000;

/** By topic, the offset after the last record of each partition. */
export type LogEnds = ReadonlyMap<string, readonly bigint[]>;

/**
 * The ends of these topics, against which projections lag; undefined while they are unknown. `now`
 * in ms.
 */
export function logEnds(
  brokers: readonly string[],
  now: () => number,
  log: Logger,
): (topics: readonly string[]) => Promise<LogEnds | undefined> {
  // one at a time: it may take long until brokers that are away are known to be
  let reading: Promise<LogEnds> | undefined;
  const options = {
    now,
    log,
    lost: 'the ends of the log cannot be read, so the lag of projections is unknown',
    restored: 'the ends of the log can be read again',
  };
  return cachedFor(options, async (topics: readonly string[]) => {
    reading ??= read(brokers, topics, log).finally(() => (reading = undefined));
    return await Promise.race([reading, timeout()]);
  });
}

async function timeout(): Promise<never> {
  await after(TIMEOUT_MS, undefined, { ref: false });
  throw new Fault('kafka', `no answer within ${TIMEOUT_MS} ms`, { retry: true });
}

async function read(
  brokers: readonly string[],
  topics: readonly string[],
  log: Logger,
): Promise<LogEnds> {
  // the client is large, and many gateways never need it
  const [{ openKafka }, { readTopicEnds }] = await Promise.all([
    import('../runtime/kafka/client.ts'),
    import('../runtime/kafka/ends.ts'),
  ]);
  const kafka = openKafka(
    { kafka_brokers: brokers, client_id: 'explorer-gateway' },
    log.child({}, { level: 'silent' }),
  );
  const ends = new Map<string, bigint[]>();
  for (const { topic, partition, high } of await readTopicEnds(kafka, topics)) {
    const partitions = ends.get(topic) ?? [];
    partitions[partition] = high;
    ends.set(topic, partitions);
  }
  return ends;
}
