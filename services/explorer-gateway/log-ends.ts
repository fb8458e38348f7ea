/** Where the logs end, to know how far behind the projections are. */
import { setTimeout as after } from 'node:timers/promises';
import { Fault } from '../runtime/process/errors.ts';
import type { Logger } from '../runtime/process/log.ts';
import { lately } from './lately.ts';

const ANSWER_MS = 1_000;

/** By topic, the offset after the last record of each of its partitions. */
export type LogEnds = ReadonlyMap<string, readonly bigint[]>;

/** Of these topics, or undefined while the brokers do not tell. `now` in ms. */
export function logEnds(
  brokers: readonly string[],
  now: () => number,
  log: Logger,
): (topics: readonly string[]) => Promise<LogEnds | undefined> {
  // one at a time: brokers that are away may take long until that is known
  let asking: Promise<LogEnds> | undefined;
  const what = {
    now,
    log,
    lost: 'the brokers do not tell where the log ends, so how many records projections are behind is unknown',
    back: 'the brokers tell again where the log ends',
  };
  return lately(what, async (topics: readonly string[]) => {
    asking ??= read(brokers, topics, log).finally(() => (asking = undefined));
    return await Promise.race([asking, tooLate()]);
  });
}

async function tooLate(): Promise<never> {
  await after(ANSWER_MS, undefined, { ref: false });
  throw new Fault('kafka', `no answer within ${ANSWER_MS} ms`, { retry: true });
}

async function read(
  brokers: readonly string[],
  topics: readonly string[],
  log: Logger,
): Promise<LogEnds> {
  // the client is large, and many a gateway is never asked
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
    const own = ends.get(topic) ?? [];
    own[partition] = high;
    ends.set(topic, own);
  }
  return ends;
}
