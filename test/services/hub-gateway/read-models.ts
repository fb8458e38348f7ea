/** The hub's read models in a database of their own, fed from a devnet without Kafka. */
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { ExplorerEvent } from '../../../projections/explorer/events.ts';
import { explorer } from '../../../projections/explorer/explorer.ts';
import { rideMarket } from '../../../projections/ride-market/ride-market.ts';
import type { Projection } from '../../../projections/contract/projection.ts';
import { parseBlock, type NodeBlock } from '../../../schemas/chain-node.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { applyBatch } from '../../../services/projector/engine/apply-batch.ts';
import { prepareDatabase } from '../../../services/projector/tables/migrations.ts';
import { Metrics } from '../../../services/runtime/process/metrics.ts';
import { openWriter } from '../../../services/runtime/postgres/pool.ts';
import {
  openNotificationPublisher,
  type NotificationPublisher,
} from '../../../services/runtime/redis.ts';
import type { CltNode } from '../../../infra/devnet/clt/node.ts';
import { silentLog } from '../../support/kafka.ts';

const TOPIC = 'chain.blocks';
/** Blocks on top of a final one in the devnet of these tests. */
const REORG_MAX = 6;

export class ReadModels {
  readonly #pools: readonly (readonly [Projection<ExplorerEvent>, Pool])[];
  readonly #notifications: NotificationPublisher;
  /** the canonical blocks by height */
  readonly #standing: NodeBlock[] = [];
  #offset = 0;
  #finalHeight = -1;
  /** whether changes are published on Redis */
  notifies = true;

  private constructor(
    pools: readonly (readonly [Projection<ExplorerEvent>, Pool])[],
    notifications: NotificationPublisher,
  ) {
    this.#pools = pools;
    this.#notifications = notifications;
  }

  static async open(writerUrl: string, redisUrl: string): Promise<ReadModels> {
    const projections: readonly Projection<ExplorerEvent>[] = [explorer, rideMarket];
    const pools: (readonly [Projection<ExplorerEvent>, Pool])[] = [];
    for (const projection of projections) {
      await prepareDatabase(writerUrl, projection, { indexed: true });
      const pool = openWriter(
        { postgres_url: writerUrl, application_name: 'test', schema: projection.name },
        silentLog(),
      );
      pools.push([projection, pool]);
    }
    const notifications = openNotificationPublisher(
      { redis_url: redisUrl },
      'test',
      silentLog(),
      new Metrics('test'),
    );
    return new ReadModels(pools, notifications);
  }

  /**
   * Applies the node's blocks: reverts those that left its chain, then applies the new ones.
   * Resolves to the number of changes that it published.
   */
  async follow(node: CltNode): Promise<number> {
    const from = Math.max(0, this.#standing.length - REORG_MAX);
    if (node.head.height < from) return 0;
    const texts = await node.store.readRange(from, node.head.height, 1 << 30);
    const blocks = texts.map((text): NodeBlock => {
      const parsed = parseBlock(JSON.parse(text.toString()));
      if ('problem' in parsed) throw new Error(parsed.problem);
      return parsed.value;
    });
    const fork = blocks.findIndex(
      ({ hash }, at) => this.#standing[from + at]?.hash.equals(hash) !== true,
    );
    if (fork < 0) return 0;
    const left = this.#standing.splice(from + fork);
    const added = blocks.slice(fork);
    this.#standing.push(...added);
    const events: ChainEvent[] = [];
    const next = (): number => this.#offset + events.length;
    for (const { height, hash, parent_hash } of left.toReversed())
      events.push({ type: 'BlockReverted', sequence: next(), height, hash, parent_hash });
    for (const block of added) events.push({ type: 'BlockAppended', sequence: next(), ...block });
    const final = this.#standing[node.chain.finalized_height];
    if (final !== undefined && final.height > this.#finalHeight) {
      const { height, hash } = final;
      events.push({ type: 'BlocksFinalized', sequence: next(), height, hash });
      this.#finalHeight = height;
    }
    let published = 0;
    for (const [projection, pool] of this.#pools)
      if (await this.#apply(projection, pool, events)) published++;
    this.#offset += events.length;
    return published;
  }

  async close(): Promise<void> {
    await this.#notifications.close();
    for (const [, pool] of this.#pools) await pool.end();
  }

  /** Whether it published a change. */
  async #apply(
    projection: Projection<ExplorerEvent>,
    pool: Pool,
    events: readonly ChainEvent[],
  ): Promise<boolean> {
    const from = this.#offset;
    const recorded = events.map((event, at) => ({
      event,
      partition: 0,
      offset: BigInt(from + at),
      timestamp: 0,
    }));
    const fingerprints = events.map((_, at) =>
      createHash('sha256')
        .update(String(from + at))
        .digest(),
    );
    const loads = projection.loads(recorded);
    const batch = {
      generation: 1,
      topic: TOPIC,
      partition: 0,
      from: BigInt(from),
      next: BigInt(from + events.length),
      events: recorded,
      loads,
      fingerprints,
      sizes: events.map(() => 1),
    };
    const applied = await applyBatch(
      { pool, projection, cluster_id: 'cluster-of-the-test' },
      batch,
    );
    if (applied.outcome !== 'applied' || applied.broken !== undefined)
      throw new Error(`not applied: ${JSON.stringify(applied.outcome)}`);
    if (!this.notifies || applied.announced.length === 0) return false;
    const position = { topic: TOPIC, partition: 0, next_offset: String(applied.next_offset) };
    const notification = { projection: projection.name, keys: applied.announced, position };
    this.#notifications.publish(`projection:${projection.name}`, JSON.stringify(notification));
    return true;
  }
}
