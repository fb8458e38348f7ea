/** Reads the end of `chain.blocks`, as far back as the follower needs. */
import type { Kafka } from 'kafkajs';
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import type { Codec } from '../runtime/kafka/codec.ts';
import { Fault } from '../runtime/process/errors.ts';
import type { LogRecord } from '../runtime/kafka/record.ts';
import { readLogRange } from '../runtime/kafka/range.ts';
import { readLogEnds } from '../runtime/kafka/ends.ts';
import { beginningAt, continued, EMPTY_TAIL, reachesFinality, type Tail } from './tail.ts';

export const PARTITION = 0;
const FIRST_WINDOW = 32n;

/** The current tail of the log. Throws a fault, without retry for an impossible log. */
export async function recoverTail(kafka: Kafka, codec: Codec): Promise<Tail> {
  const { low, high } = await readLogEnds(kafka, CHAIN_BLOCKS.name, PARTITION);
  for (let window = FIRST_WINDOW; ; window *= 4n) {
    const from = high - low > window ? high - window : low;
    const tail = await foldRange(kafka, codec, from, high, from === 0n);
    if (from === low || reachesFinality(tail)) return { ...tail, next_offset: high };
  }
}

async function foldRange(
  kafka: Kafka,
  codec: Codec,
  from: bigint,
  to: bigint,
  isWhole: boolean,
): Promise<Tail> {
  let tail: Tail | undefined = isWhole ? EMPTY_TAIL : undefined;
  let pending: LogRecord[] = [];
  const fold = async (): Promise<void> => {
    await codec.learn(pending.map(({ value }) => value));
    for (const { value, offset } of pending) {
      const event = codec.decode(value);
      if (!isChainEvent(event))
        throw new Fault(
          'log_damaged',
          `chain.blocks has a record of type ${event.type}, which is no chain event: find out who wrote it`,
          {
            retry: false,
          },
        );
      tail = tail === undefined ? beginningAt(event, offset) : continued(tail, event);
    }
    pending = [];
  };
  await readLogRange(kafka, CHAIN_BLOCKS.name, PARTITION, from, to, (record) =>
    pending.push(record),
  );
  await fold();
  return tail ?? EMPTY_TAIL;
}
