/**
 * The consumer of the client reads as a member of a group and knows topics by name, so its request
 * of Fetch 13 is sent here over its connections.
 */
import { setTimeout as after } from 'node:timers/promises';
import {
  Base,
  fetchV13,
  FetchIsolationLevels,
  IS_CONTROL,
  IS_TRANSACTIONAL,
  type BaseOptions,
  type RecordsBatch,
} from '@platformatic/kafka';
import {
  errorType,
  kafkaFault,
  topicMissing,
  type FetchPosition,
  type Fetcher,
  type LogBatch,
} from '../../../services/runtime/kafka/port.ts';
import type { Header, LogRecord } from '../../../services/runtime/kafka/record.ts';
import { typed, type Through } from './typed.ts';

const TRIES = 5;
const BACK_OFF_MS = 100;
/** Beyond an answer that waits for records. */
const WAIT_MS = 10_000;
const FINAL = new Set(['OFFSET_OUT_OF_RANGE', 'UNKNOWN_TOPIC_ID', 'TOPIC_AUTHORIZATION_FAILED']);
const LOG_APPEND_TIME = 0x08;
const ABORTED = 0;

export class PlatformaticFetcher implements Fetcher {
  readonly #client: Base;

  constructor(options: BaseOptions, through: Through) {
    const { requestTimeout = 0 } = options;
    const own = { ...options, retries: 0, requestTimeout: requestTimeout + WAIT_MS };
    this.#client = through(new Base(own));
  }

  async topicId(topic: string): Promise<string> {
    try {
      const { topics } = await typed(this.#client.metadata({ topics: [topic], forceUpdate: true }));
      return (topics.get(topic)?.id ?? '').replaceAll('-', '');
    } catch (cause) {
      if (errorType(cause) === 'UNKNOWN_TOPIC_OR_PARTITION') throw topicMissing(topic, cause);
      throw kafkaFault(`the brokers did not answer with the id of topic ${topic}`, cause);
    }
  }

  async fetch(position: FetchPosition): Promise<readonly LogBatch[]> {
    for (let tries = 1; ; tries++) {
      try {
        return await typed(this.#read(position, tries > 1));
      } catch (error) {
        const isFinal = FINAL.has(errorType(error) ?? '');
        if (this.#client.closed || tries === TRIES || isFinal) throw error;
      }
      await after(BACK_OFF_MS * 2 ** (tries - 1));
    }
  }

  async disconnect(): Promise<void> {
    await this.#client.close();
  }

  async #read(position: FetchPosition, again: boolean): Promise<readonly LogBatch[]> {
    const { topic, topic_id, partition, offset, bytes_max, wait_ms } = position;
    const { topics, brokers } = await this.#client.metadata({
      topics: [topic],
      forceUpdate: again,
    });
    const leader = topics.get(topic)?.partitions[partition]?.leader ?? -1;
    const broker = brokers.get(leader);
    if (broker === undefined) throw new Error(`${topic}/${partition} has no leader`);
    const connection = await this.#client.connections.get(broker);
    const wanted = {
      partition,
      currentLeaderEpoch: -1,
      fetchOffset: offset,
      lastFetchedEpoch: -1,
      partitionMaxBytes: bytes_max,
    };
    const { responses } = await fetchV13.api.async(
      connection,
      wait_ms,
      1,
      bytes_max,
      FetchIsolationLevels.READ_COMMITTED,
      0,
      -1,
      [{ topicId: topic_id, partitions: [wanted] }],
      [],
      '',
    );
    const answer = responses[0]?.partitions[0];
    return batchesOf(answer?.records ?? [], answer?.abortedTransactions ?? []);
  }
}

/** The client drops the records of the last aborted transaction of a producer only. */
function batchesOf(
  batches: readonly RecordsBatch[],
  aborted: readonly { readonly producerId: bigint; readonly firstOffset: bigint }[],
): readonly LogBatch[] {
  const aborting = new Set<bigint>();
  const open = aborted.toSorted((one, other) => (one.firstOffset < other.firstOffset ? -1 : 1));
  return batches.map((batch) => {
    const { firstOffset, lastOffsetDelta, attributes, producerId, records } = batch;
    const last = firstOffset + BigInt(lastOffsetDelta);
    for (; (open[0]?.firstOffset ?? last + 1n) <= last; open.shift())
      if (open[0] !== undefined) aborting.add(open[0].producerId);
    const isControl = (attributes & IS_CONTROL) !== 0;
    const isAborted = (attributes & IS_TRANSACTIONAL) !== 0 && aborting.has(producerId);
    if (isControl && records[0]?.key?.readInt16BE(2) === ABORTED) aborting.delete(producerId);
    const isVoid = isControl || isAborted;
    return {
      base_offset: firstOffset,
      last_offset: last,
      leader_epoch: batch.partitionLeaderEpoch,
      is_void: isVoid,
      records: isVoid ? [] : recordsOf(batch),
    };
  });
}

function recordsOf(batch: RecordsBatch): LogRecord[] {
  const { firstOffset, firstTimestamp, maxTimestamp, attributes } = batch;
  return batch.records.map(({ offsetDelta, timestampDelta, key, value, headers }) => {
    const named: Record<string, Header | Header[] | undefined> = Object.create(null);
    for (const [bytes, header] of headers) {
      const name = String(bytes ?? '');
      const before = named[name];
      named[name] = before === undefined ? (header ?? undefined) : [before, header ?? ''].flat();
    }
    const time =
      (attributes & LOG_APPEND_TIME) === 0 ? firstTimestamp + timestampDelta : maxTimestamp;
    return {
      offset: firstOffset + BigInt(offsetDelta),
      timestamp: Number(time),
      key,
      value,
      headers: named,
    };
  });
}
