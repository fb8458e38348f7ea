/** The hub's read models in a database of their own, given a devnet's blocks as the projectors give them, hints included; without Kafka. */
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import { explorer } from '../../../projections/explorer/explorer.ts';
import { rideMarket } from '../../../projections/ride_market/ride_market.ts';
import type { Projection } from '../../../projections/projection.ts';
import { parseBlock } from '../../../schemas/chain-node.ts';
import type { ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { applyBatch } from '../../../services/runtime/apply-batch.ts';
import { prepareDatabase } from '../../../services/runtime/migrations.ts';
import { Metrics } from '../../../services/runtime/metrics.ts';
import { openWriter } from '../../../services/runtime/postgres.ts';
import { openHintPublisher, type HintPublisher } from '../../../services/runtime/redis.ts';
import type { CltNode } from '../../../infra/devnet/clt/node.ts';
import { silentLog } from '../../support/kafka.ts';

const TOPIC = 'chain.blocks';

export class ReadModels {
  readonly #pools: readonly (readonly [Projection<ChainEvent>, Pool])[];
  readonly #hints: HintPublisher;
  #offset = 0;
  /** whether changes are told on Redis */
  tells = true;

  private constructor(pools: readonly (readonly [Projection<ChainEvent>, Pool])[], hints: HintPublisher) {
    this.#pools = pools;
    this.#hints = hints;
  }

  static async open(writerUrl: string, redisUrl: string): Promise<ReadModels> {
    const projections: readonly Projection<ChainEvent>[] = [explorer, rideMarket];
    const pools: (readonly [Projection<ChainEvent>, Pool])[] = [];
    for (const projection of projections) {
      await prepareDatabase(writerUrl, projection, { indexed: true });
      const pool = openWriter({ postgres_url: writerUrl, application_name: 'test', schema: projection.name }, silentLog());
      pools.push([projection, pool]);
    }
    const hints = openHintPublisher({ redis_url: redisUrl, client_name: 'test' }, silentLog(), new Metrics('test'));
    return new ReadModels(pools, hints);
  }

  /** All blocks that the node has and the read models have not. */
  async follow(node: CltNode): Promise<void> {
    if (node.head.height < this.#offset) return;
    const blocks = await node.readBlocks(this.#offset, node.head.height, 1 << 30);
    const events = blocks.map((text, at): ChainEvent => {
      const parsed = parseBlock(JSON.parse(text.toString()));
      if ('problem' in parsed) throw new Error(parsed.problem);
      return Object.assign({ type: 'BlockAppended', sequence: this.#offset + at } as const, parsed.value);
    });
    for (const [projection, pool] of this.#pools) await this.#apply(projection, pool, events);
    this.#offset += events.length;
  }

  async close(): Promise<void> {
    await this.#hints.close();
    for (const [, pool] of this.#pools) await pool.end();
  }

  async #apply(projection: Projection<ChainEvent>, pool: Pool, events: readonly ChainEvent[]): Promise<void> {
    const from = this.#offset;
    const recorded = events.map((event, at) => ({ event, partition: 0, offset: BigInt(from + at), timestamp: 0 }));
    const fingerprints = events.map((_, at) =>
      createHash('sha256')
        .update(String(from + at))
        .digest(),
    );
    const loads = projection.loads(recorded);
    const batch = { topic: TOPIC, partition: 0, events: recorded, loads, fingerprints, sizes: events.map(() => 1) };
    const applied = await applyBatch({ pool, projection, cluster_id: 'cluster-of-the-test' }, batch);
    if (applied.outcome !== 'applied' || applied.broken !== undefined) throw new Error(`not applied: ${JSON.stringify(applied.outcome)}`);
    if (!this.tells || applied.announced.length === 0) return;
    const position = { topic: TOPIC, partition: 0, next_offset: String(applied.next_offset) };
    const hint = { projection: projection.name, keys: applied.announced, position };
    this.#hints.publish(`projection:${projection.name}`, JSON.stringify(hint));
  }
}
