/** A consumer of the client that holds partitions and reads nothing. */
import {
  Connection,
  connectionsApiChannel,
  Consumer,
  type BaseOptions,
  type GroupPartitionsAssigner,
} from '@platformatic/kafka';
import {
  holderAmong,
  type Share,
  type ShareOptions,
} from '../../../services/runtime/kafka/port.ts';
import { typed, type Through } from './typed.ts';

const JOIN_GROUP = 11;
const HEARTBEAT = 12;
const SYNC_GROUP = 14;
const SILENT_SESSIONS_MAX = 8;

export class PlatformaticShare implements Share {
  readonly #options: ShareOptions;
  readonly #consumer: Consumer;
  #sentAt = 0;
  #isMember = false;

  constructor(options: BaseOptions, through: Through, share: ShareOptions) {
    this.#options = share;
    const { group_id: groupId, session_ms: session, claim } = share;
    this.#consumer = through(
      new Consumer({
        ...options,
        groupId,
        sessionTimeout: session,
        rebalanceTimeout: session,
        heartbeatInterval: session / 6,
        heartbeatStallTimeout: session * SILENT_SESSIONS_MAX,
        ...(claim === undefined
          ? {}
          : {
              protocols: [{ name: 'OneHolder', version: 1 }],
              protocolsMetadata: () => Buffer.from(claim()),
              partitionAssigner: oneHolder,
            }),
      }),
    );
  }

  async join(): Promise<void> {
    const { topics, session_ms: session, onAssigned, onHeld, onLeft } = this.#options;
    const consumer = this.#consumer;
    const sentMs = (): number => Math.max(0, Date.now() - this.#sentAt);
    connectionsApiChannel.start.subscribe(this.#onRequest);
    consumer.on('consumer:group:join', ({ assignments }) => {
      this.#isMember = true;
      onAssigned(
        new Map((assignments ?? []).map(({ topic, partitions }) => [topic, partitions])),
        sentMs(),
      );
    });
    consumer.on('consumer:heartbeat:end', () => onHeld?.(sentMs()));
    const silent = session * SILENT_SESSIONS_MAX;
    consumer.on('consumer:heartbeat:stalled', () =>
      onLeft(new Error(`the group has not answered for ${silent} ms`)),
    );
    consumer.on('error', onLeft);
    consumer.topics.trackAll(...topics);
    await typed(consumer.joinGroup());
  }

  async commit(topic: string, partition: number, nextOffset: bigint): Promise<void> {
    const offset = { topic, partition, offset: nextOffset, leaderEpoch: -1 };
    await typed(this.#consumer.commit({ offsets: [offset] }));
  }

  async disconnect(): Promise<void> {
    connectionsApiChannel.start.unsubscribe(this.#onRequest);
    await this.#consumer.close(true);
  }

  /**
   * The client has no event for the moment at which a request is sent, and none when the group no
   * longer knows a member.
   */
  readonly #onRequest = (event: unknown): void => {
    const connection: unknown = Reflect.get(Object(event), 'connection');
    const apiKey: unknown = Reflect.get(Object(event), 'apiKey');
    if (!(connection instanceof Connection)) return;
    if (connection.ownerId !== this.#consumer.instanceId) return;
    if (apiKey === HEARTBEAT || apiKey === SYNC_GROUP) this.#sentAt = Date.now();
    if (apiKey !== JOIN_GROUP || !this.#isMember) return;
    this.#isMember = false;
    this.#options.onAssigned(undefined, 0);
  };
}

/** All partitions to one member. Members say in their user data what they claim. */
const oneHolder: GroupPartitionsAssigner = (_current, members, topics, metadata) => {
  const all_members = [...members.values()];
  const holder = holderAmong(
    all_members.map(({ memberId, metadata: said }) => ({ memberId, said: String(said) })),
  );
  const all = [...topics].map((topic) => {
    const count = metadata.topics.get(topic)?.partitionsCount ?? 0;
    return [topic, { topic, partitions: Array.from({ length: count }, (_, at) => at) }] as const;
  });
  return all_members.map(({ memberId }) => ({
    memberId,
    assignments: new Map(memberId === holder?.memberId ? all : []),
  }));
};
