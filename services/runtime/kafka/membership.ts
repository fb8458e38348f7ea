/**
 * Membership of a consumer group that shares out partitions. Nothing is read through the group: it
 * spreads the work evenly, and drops a member that died or hangs.
 */
import type { Fault } from '../process/errors.ts';
import type { Logger } from '../process/log.ts';
import { retrying, untilAborted } from '../process/retry.ts';
import { disconnect } from './client.ts';
import {
  errorType,
  kafkaFault,
  NO_TOPIC,
  topicMissing,
  type Kafka,
  type Share,
  type ShareOptions,
} from './port.ts';

const JOIN_AGAIN_MS = 1_000;

const REMEDIES: ReadonlyMap<string, string> = new Map([
  [
    'INVALID_SESSION_TIMEOUT',
    "set APP_KAFKA_SESSION_MS within the brokers' group.min.session.timeout.ms and group.max.session.timeout.ms",
  ],
  ['GROUP_AUTHORIZATION_FAILED', "give this service's account the right to read the group"],
]);

export interface MembershipOptions extends Omit<ShareOptions, 'onLeft'> {
  readonly kafka: Kafka;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export class Membership {
  readonly #options: MembershipOptions;
  #share: Share | undefined;
  #closed = false;
  #fault: Fault | undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** Why the group was left and cannot be joined again. */
  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** Leaves the group, so that others take over at once. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#share !== undefined) await disconnect(this.#share, this.#options.log);
  }

  /** Joins the group until `close`. Throws a fault when the brokers do not answer. */
  async start(): Promise<void> {
    const { kafka, group_id: groupId, topics, session_ms, claim, log } = this.#options;
    const { onAssigned, onHeld } = this.#options;
    const share = kafka.share({
      group_id: groupId,
      topics,
      session_ms,
      claim,
      onAssigned: (assigned, sentMs) => {
        if (this.#share !== share) return;
        if (assigned !== undefined)
          log.info(
            { group: groupId, assigned: Object.fromEntries(assigned) },
            'partitions assigned',
          );
        onAssigned(assigned, sentMs);
      },
      onHeld: (sentMs) => {
        if (this.#share === share) onHeld?.(sentMs);
      },
      onLeft: (error) => {
        if (this.#share !== share) return;
        log.warn({ err: error, group: groupId }, 'the group was left, joining again');
        void this.#joinAgain(share);
      },
    });
    this.#share = share;
    try {
      await share.join();
    } catch (cause) {
      this.#share = undefined;
      await disconnect(share, log);
      const type = errorType(cause) ?? '';
      if (type === NO_TOPIC)
        throw topicMissing(topics.map((topic) => `${kafka.prefix}${topic}`).join(' or '), cause);
      const remedy = REMEDIES.get(type);
      const what = `the group ${groupId} cannot be joined`;
      throw kafkaFault(remedy === undefined ? what : `${what}: ${remedy}`, cause);
    }
    if (this.#closed) await disconnect(share, log);
  }

  /** Leaves the group, so that another member is chosen, and joins it anew. */
  rejoin(): void {
    if (this.#share !== undefined) void this.#joinAgain(this.#share);
  }

  /** Commits an offset for lag tools; without a share there is nothing to commit. */
  async commit(topic: string, partition: number, nextOffset: bigint): Promise<void> {
    await this.#share?.commit(topic, partition, nextOffset);
  }

  async #joinAgain(left: Share): Promise<void> {
    const { group_id: groupId, log, signal } = this.#options;
    this.#share = undefined;
    this.#options.onAssigned(undefined, 0);
    await disconnect(left, log);
    await untilAborted(JOIN_AGAIN_MS, signal);
    if (this.#closed || signal.aborted) return;
    const onFault = (fault: Fault | undefined): void => void (this.#fault = fault);
    const what = `joining the group ${groupId}`;
    await retrying({ log, signal, what, onFault }, () => this.start()).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}
