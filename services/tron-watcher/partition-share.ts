/**
 * The partitions of `tron.transfers` whose addresses this watcher checks, assigned by a consumer
 * group. Nothing is read through the group: it shares the work evenly, and drops a member that died
 * or hangs. Two holders of one partition do no harm: both append the same facts under the same ids.
 */
import type { Consumer, Kafka } from 'kafkajs';
import { TRON_TRANSFERS } from '../../schemas/topics.ts';
import { disconnect, kafkaFault } from '../runtime/kafka/client.ts';
import type { Logger } from '../runtime/process/log.ts';
import { retrying, untilAborted } from '../runtime/process/retry.ts';

export interface PartitionShareOptions {
  readonly kafka: Kafka;
  /** silence after which a member loses its partitions; the brokers must allow it */
  readonly session_ms: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** undefined: not a member, or the group is rebalancing */
  readonly onAssigned: (partitions: readonly number[] | undefined) => void;
  /** at each heartbeat that the brokers acknowledge, several times a session */
  readonly onHeld: () => void;
}

export class PartitionShare {
  readonly #options: PartitionShareOptions;
  #consumer: Consumer | undefined;
  #closed = false;

  constructor(options: PartitionShareOptions) {
    this.#options = options;
  }

  /** Leaves the group, so that others take over at once. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#consumer !== undefined) await disconnect(this.#consumer, this.#options.log);
  }

  /** Joins the group until `close`. Throws a fault when the brokers do not answer. */
  async start(): Promise<void> {
    const { kafka, session_ms: session, log, onAssigned, onHeld } = this.#options;
    const topic = TRON_TRANSFERS.name;
    const consumer = kafka.consumer({
      groupId: 'tron-watcher',
      sessionTimeout: session,
      rebalanceTimeout: session,
      heartbeatInterval: session / 6,
      maxWaitTimeInMs: Math.floor(session / 12),
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 5 },
    });
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      if (this.#consumer !== consumer) return;
      const partitions = payload.memberAssignment[topic] ?? [];
      // the consumer only holds partitions; it fetches no records
      if (partitions.length > 0) consumer.pause([{ topic, partitions }]);
      log.info({ partitions }, 'partitions assigned');
      onAssigned(partitions);
    });
    consumer.on(consumer.events.HEARTBEAT, () => {
      if (this.#consumer === consumer) onHeld();
    });
    // nobody else gets our partitions before we have joined again
    for (const event of [consumer.events.REBALANCING, consumer.events.STOP] as const) {
      consumer.on(event, () => {
        if (this.#consumer === consumer) onAssigned(undefined);
      });
    }
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (payload.restart || this.#consumer !== consumer) return;
      log.warn({ err: payload.error }, 'the group was left, joining again');
      void this.#reconnect(consumer);
    });
    try {
      await consumer.connect();
      await consumer.subscribe({ topic, fromBeginning: false });
      this.#consumer = consumer;
      await consumer.run({
        autoCommit: false,
        eachBatchAutoResolve: false,
        eachBatch: () => Promise.resolve(),
      });
    } catch (cause) {
      this.#consumer = undefined;
      await consumer.disconnect().catch(() => undefined);
      throw kafkaFault('the group of watchers cannot be joined', cause);
    }
    if (this.#closed) await consumer.disconnect();
  }

  async #reconnect(crashed: Consumer): Promise<void> {
    const { log, signal } = this.#options;
    this.#consumer = undefined;
    this.#options.onAssigned(undefined);
    await disconnect(crashed, log);
    await untilAborted(1_000, signal);
    if (this.#closed || signal.aborted) return;
    await retrying({ log, signal, what: 'joining the group of watchers' }, () =>
      this.start(),
    ).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
