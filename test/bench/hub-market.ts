/**
 * A ride market in Postgres with this many open requests, and changes as a projector makes them.
 */
import { setTimeout as after } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { explorer } from '../../projections/explorer/explorer.ts';
import { rideMarket } from '../../projections/ride-market/ride-market.ts';
import { prepareDatabase } from '../../services/projector/tables/migrations.ts';
import { Random } from '../support/random.ts';
import type { BenchDatabase } from './databases.ts';

export class HubMarket {
  readonly #pool: Pool;
  readonly #redis: Redis;
  #sequence = 0;

  private constructor(pool: Pool, redis: Redis) {
    this.#pool = pool;
    this.#redis = redis;
  }

  static async open(
    { writer_url: url }: BenchDatabase,
    redisUrl: string,
    requests: number,
    seed: number,
  ): Promise<HubMarket> {
    for (const projection of [explorer, rideMarket])
      await prepareDatabase(url, projection, { indexed: true });
    const pool = new Pool({ connectionString: url, max: 1, options: '-c search_path=ride_market' });
    const random = new Random(seed);
    const bytes = (length: number): Buffer =>
      Buffer.from(Array.from({ length }, () => random.below(256)));
    const degrees = (): string => `${random.below(80) + 1}.${random.below(1_000_000)}1`;
    for (let at = 0; at < requests; at++) {
      const values = [
        bytes(32),
        bytes(20),
        degrees(),
        degrees(),
        degrees(),
        degrees(),
        random.below(50_000_000) + 1,
        bytes(20),
        at,
      ];
      await pool.query(
        'INSERT INTO open_requests VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)',
        values,
      );
    }
    await pool.query(`INSERT INTO head VALUES (true, 0, 0, '\\x00', -1, 0)`);
    return new HubMarket(pool, new Redis(redisUrl));
  }

  /** Changes one fare, which notifies the subscribers by Redis. */
  async change(): Promise<void> {
    this.#sequence++;
    await this.#pool.query(
      `WITH moved AS (UPDATE head SET sequence = ${this.#sequence})
       UPDATE open_requests SET fare = fare + 1 WHERE height = 0`,
    );
    const position = {
      topic: 'chain.blocks',
      partition: 0,
      next_offset: String(this.#sequence + 1),
    };
    await this.#redis.publish(
      'projection:ride_market',
      JSON.stringify({ projection: 'ride_market', keys: ['requests'], position }),
    );
  }

  /** Changes it at even times, until the function that is returned is called. */
  moving(every_ms: number): () => Promise<void> {
    const stop = new AbortController();
    const move = async (): Promise<void> => {
      for (let due = performance.now(); !stop.signal.aborted; due += every_ms) {
        await after(Math.max(0, due - performance.now()));
        await this.change();
      }
    };
    const moves = move();
    moves.catch(() => undefined);
    return async () => {
      stop.abort();
      await moves;
    };
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
    await this.#pool.end();
  }
}
