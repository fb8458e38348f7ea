/**
 * Which partitions of `tron.transfers` are this watcher's to ask about: those that a consumer group assigns to it. Nothing is read through the group. It is the brokers'
 * way of sharing: balanced, a member that died or hangs loses its part by itself, and it is away only when nothing could be appended anyway. That two hold the
 * same partition for a moment does no harm: both append the same facts under the same ids.
 */
import type { Consumer, Kafka } from 'kafkajs';
import { TRON_TRANSFERS } from '../../schemas/topics.ts';
import { disconnect, kafkaFault } from '../runtime/kafka/client.ts';
import type { Logger } from '../runtime/process/log.ts';
import { retrying, untilAborted } from '../runtime/process/retry.ts';

export interface PartitionShareOptions {
  readonly kafka: Kafka;
  readonly group_id: string;
  /** how long a member may be silent before its partitions go to others; the brokers must allow it */
  readonly session_ms: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** told of each assignment; undefined: no member of the group at present, or others are being given their part */
  readonly onAssigned: (partitions: readonly number[] | undefined) => void;
  /** told again and again, several times a session, that the brokers still hold this member to be there */
  readonly onHeld: () => void;
}

export class PartitionShare {
  readonly #options: PartitionShareOptions;
  #consumer: Consumer | undefined;
  #closed = false;

  constructor(options: PartitionShareOptions) {
    this.#options = options;
  }

  /** Joins the group; goes on in the background, through every failure of the brokers, until `close`. Throws a fault with retry when the brokers do not answer. */
  start(): Promise<void> {
    return this.#connect();
  }

  /** Leaves the group, so that others take over at once. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#consumer !== undefined) await disconnect(this.#consumer, this.#options.log);
  }

  async #connect(): Promise<void> {
    const {
      kafka,
      group_id: groupId,
      session_ms: session,
      log,
      onAssigned,
      onHeld,
    } = this.#options;
    const topic = TRON_TRANSFERS.name;
    const consumer = kafka.consumer({
      groupId,
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
      // at once: nothing is to be fetched
      if (partitions.length > 0) consumer.pause([{ topic, partitions }]);
      log.info({ partitions }, 'partitions assigned');
      onAssigned(partitions);
    });
    consumer.on(consumer.events.HEARTBEAT, () => {
      if (this.#consumer === consumer) onHeld();
    });
    // nobody gets what was ours before we have joined again
    for (const event of [consumer.events.REBALANCING, consumer.events.STOP] as const) {
      consumer.on(event, () => {
        if (this.#consumer === consumer) onAssigned(undefined);
      });
    }
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (payload.restart || this.#consumer !== consumer) return;
      log.warn({ err: payload.error }, 'the group was left, joining anew');
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
      this.#connect(),
    ).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
