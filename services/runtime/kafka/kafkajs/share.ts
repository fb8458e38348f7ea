/**
 * A consumer of kafkajs that holds partitions and reads nothing. When kafkajs fails to join a group
 * again, it goes on without joining, and can wait for ever when a connection breaks while it opens
 * another one. So a member whose group does not answer for several sessions has left it.
 */
import kafkajs from 'kafkajs';
import { holderAmong, type Claim, type Share, type ShareOptions } from '../port.ts';
import type { Connections } from './connections.ts';

/** Requests after whose answers a member is one for another session. */
const RENEWING: ReadonlySet<string> = new Set(['SyncGroup', 'Heartbeat']);
/** A frozen coordinator costs some, the next rebalance two. */
const SILENT_SESSIONS_MAX = 8;

export class KafkajsShare implements Share {
  readonly #options: ShareOptions;
  readonly #consumer: kafkajs.Consumer;
  readonly #connections: Connections;
  readonly #joined = Promise.withResolvers<void>();
  #watch: NodeJS.Timeout | undefined;
  /** has partitions, or knows that it has none */
  #isMember = false;
  #hasJoined = false;
  #hasLeft = false;

  /** `connections`: those of `kafka`, which serves this share alone */
  constructor(kafka: kafkajs.Kafka, connections: Connections, options: ShareOptions) {
    this.#connections = connections;
    this.#options = options;
    // `join` throws it
    this.#joined.promise.catch(() => undefined);
    const { group_id: groupId, session_ms: sessionMs, claim } = options;
    this.#consumer = kafka.consumer({
      groupId,
      sessionTimeout: sessionMs,
      rebalanceTimeout: sessionMs,
      heartbeatInterval: sessionMs / 6,
      ...(claim === undefined ? {} : { partitionAssigners: [oneHolder(claim)] }),
      maxWaitTimeInMs: Math.floor(sessionMs / 12),
      allowAutoTopicCreation: false,
      // a restart of the consumer looks for the coordinator anew
      retry: {
        initialRetryTime: 100,
        maxRetryTime: 1_000,
        retries: 1,
        restartOnFailure: () => Promise.resolve(!this.#hasLeft),
      },
    });
  }

  async join(): Promise<void> {
    const { topics, onAssigned, onHeld } = this.#options;
    const consumer = this.#consumer;
    // a process that was frozen handles an answer long after the brokers gave it
    let sentAt = Date.now();
    consumer.on(consumer.events.REQUEST, ({ payload }) => {
      if (RENEWING.has(payload.apiName)) ({ sentAt } = payload);
    });
    const sentMs = (): number => Math.max(0, Date.now() - sentAt);
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
      if (this.#hasLeft) return;
      const assigned = Object.entries(payload.memberAssignment);
      // the consumer only holds partitions; it fetches no records
      consumer.pause(assigned.map(([topic, partitions]) => ({ topic, partitions })));
      this.#isMember = true;
      this.#hasJoined = true;
      this.#joined.resolve();
      this.#expectMore();
      onAssigned(new Map(assigned), sentMs());
    });
    consumer.on(consumer.events.HEARTBEAT, () => {
      // the group may also hear one that has not joined again
      if (this.#hasLeft || !this.#isMember) return;
      this.#expectMore();
      onHeld?.(sentMs());
    });
    // nobody else gets our partitions before we have joined again
    for (const event of [consumer.events.REBALANCING, consumer.events.STOP] as const)
      consumer.on(event, () => {
        this.#isMember = false;
        onAssigned(undefined, 0);
      });
    consumer.on(consumer.events.CRASH, ({ payload }) => {
      if (!payload.restart) this.#leave(payload.error);
    });
    this.#expectMore();
    const joining = consumer
      .connect()
      .then(() => consumer.subscribe({ topics: [...topics], fromBeginning: false }))
      .then(() =>
        consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          eachBatch: () => Promise.resolve(),
        }),
      );
    // `run` also resolves when the group refuses the member
    await Promise.all([joining, this.#joined.promise]);
  }

  commit(topic: string, partition: number, nextOffset: bigint): Promise<void> {
    return this.#consumer.commitOffsets([{ topic, partition, offset: nextOffset.toString() }]);
  }

  async disconnect(): Promise<void> {
    this.#hasLeft = true;
    clearTimeout(this.#watch);
    this.#joined.reject(new Error('the group was left'));
    // the group hears of it on a connection that is open
    this.#connections.refuse();
    // kafkajs may wait for ever; after a session the group forgets this member by itself
    const late = setTimeout(() => this.#connections.end(), this.#options.session_ms).unref();
    try {
      await this.#consumer.disconnect();
    } finally {
      clearTimeout(late);
      this.#connections.end();
    }
  }

  #expectMore(): void {
    clearTimeout(this.#watch);
    const silent = this.#options.session_ms * SILENT_SESSIONS_MAX;
    this.#watch = setTimeout(
      () => this.#leave(new Error(`the group has not answered for ${silent} ms`)),
      silent,
    );
  }

  /** Before it has joined, `join` throws the error. */
  #leave(error: Error): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    clearTimeout(this.#watch);
    this.#connections.end();
    if (this.#hasJoined) this.#options.onLeft(error);
    else this.#joined.reject(error);
  }
}

/** All partitions to one member. Members say in their user data what they claim. */
function oneHolder(claim: () => Claim): kafkajs.PartitionAssigner {
  const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol;
  const [name, version] = ['OneHolder', 1];
  return ({ cluster }) => ({
    name,
    version,
    assign({ members, topics }) {
      const holder = holderAmong(
        members.map(({ memberId, memberMetadata }) => ({
          memberId,
          said: String(MemberMetadata.decode(memberMetadata)?.userData),
        })),
      );
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
        userData: Buffer.from(claim()),
      }),
    }),
  });
}
