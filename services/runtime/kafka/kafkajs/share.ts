/**
 * A consumer of kafkajs that holds partitions and reads nothing. kafkajs can wait for ever when a
 * connection breaks while it opens another one. So a member that hears nothing from its group for
 * several sessions has left it.
 */
import kafkajs from 'kafkajs';
import type { Share, ShareOptions } from '../port.ts';

/** Requests after whose answers a member is one for another session. */
const RENEWING: ReadonlySet<string> = new Set(['SyncGroup', 'Heartbeat']);
/** A frozen coordinator costs some, the next rebalance two. */
const SILENT_SESSIONS_MAX = 8;

export class KafkajsShare implements Share {
  readonly #options: ShareOptions;
  readonly #consumer: kafkajs.Consumer;
  #watch: NodeJS.Timeout | undefined;
  #left = false;

  constructor(kafka: kafkajs.Kafka, options: ShareOptions) {
    this.#options = options;
    const { group_id: groupId, session_ms: session, isHolder } = options;
    this.#consumer = kafka.consumer({
      groupId,
      sessionTimeout: session,
      rebalanceTimeout: session,
      heartbeatInterval: session / 6,
      ...(isHolder === undefined ? {} : { partitionAssigners: [oneHolder(isHolder)] }),
      maxWaitTimeInMs: Math.floor(session / 12),
      allowAutoTopicCreation: false,
      // a restart of the consumer looks for the coordinator anew
      retry: { initialRetryTime: 100, maxRetryTime: 1_000, retries: 1 },
    });
  }

  async join(): Promise<void> {
    const { topics, onAssigned, onHeld, onLeft } = this.#options;
    const consumer = this.#consumer;
    // a process that was frozen handles an answer long after the brokers gave it
    let sentAt = Date.now();
    consumer.on(consumer.events.REQUEST, ({ payload }) => {
      if (RENEWING.has(payload.apiName)) ({ sentAt } = payload);
    });
    const sentMs = (): number => Math.max(0, Date.now() - sentAt);
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      const assigned = Object.entries(payload.memberAssignment);
      // the consumer only holds partitions; it fetches no records
      consumer.pause(assigned.map(([topic, partitions]) => ({ topic, partitions })));
      this.#expectMore();
      onAssigned(new Map(assigned), sentMs());
    });
    consumer.on(consumer.events.HEARTBEAT, () => {
      this.#expectMore();
      onHeld?.(sentMs());
    });
    // nobody else gets our partitions before we have joined again
    for (const event of [consumer.events.REBALANCING, consumer.events.STOP] as const)
      consumer.on(event, () => onAssigned(undefined, 0));
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) onLeft(payload.error);
    });
    this.#expectMore();
    await consumer.connect();
    await consumer.subscribe({ topics: [...topics], fromBeginning: false });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: () => Promise.resolve(),
    });
  }

  commit(topic: string, partition: number, nextOffset: bigint): Promise<void> {
    return this.#consumer.commitOffsets([{ topic, partition, offset: nextOffset.toString() }]);
  }

  disconnect(): Promise<void> {
    this.#left = true;
    clearTimeout(this.#watch);
    return this.#consumer.disconnect();
  }

  #expectMore(): void {
    clearTimeout(this.#watch);
    // one that was given up, and joins after all, would hold partitions for nobody
    if (this.#left) return void this.#consumer.disconnect();
    const { session_ms: session, onLeft } = this.#options;
    const silent = session * SILENT_SESSIONS_MAX;
    this.#watch = setTimeout(
      () => onLeft(new Error(`the group has not answered for ${silent} ms`)),
      silent,
    );
  }
}

const HOLDER = 'holder';

/** All partitions to one member. Members say in their user data whether they had them. */
function oneHolder(isHolder: () => boolean): kafkajs.PartitionAssigner {
  const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;
  const [name, version] = ['OneHolder', 1];
  return ({ cluster }) => ({
    name,
    version,
    assign({ members, topics }) {
      const sorted = members.toSorted((one, other) => (one.memberId < other.memberId ? -1 : 1));
      const had = sorted.find(
        ({ memberMetadata }) => String(MemberMetadata.decode(memberMetadata)?.userData) === HOLDER,
      );
      const holder = had ?? sorted[0];
      const all = Object.fromEntries(
        topics.map((topic) => [
          topic,
          cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId),
        ]),
      );
      const assigned = members.map(({ memberId }) => ({
        memberId,
        memberAssignment: MemberAssignment.encode({
          version,
          assignment: memberId === holder?.memberId ? all : {},
          userData: Buffer.alloc(0),
        }),
      }));
      return Promise.resolve(assigned);
    },
    protocol: ({ topics }) => ({
      name,
      metadata: MemberMetadata.encode({
        version,
        topics,
        userData: Buffer.from(isHolder() ? HOLDER : ''),
      }),
    }),
  });
}
