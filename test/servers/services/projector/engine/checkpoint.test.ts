import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  advanceCheckpoint,
  lockCheckpoint,
  readCheckpoints,
  type Checkpoint,
} from '../../../../../services/projector/engine/checkpoint.ts';
import { DIGEST_OF_NOTHING } from '../../../../../services/runtime/kafka/record.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { CLUSTER, openTables } from '../../../../services/projector/engine/projected.ts';

let pool: Pool;

beforeAll(async () => {
  const { writer_url } = await freshDatabase(inject('stack'));
  ({ pool } = await openTables(writer_url));
});

afterAll(async () => {
  await pool.end();
});

async function inTransaction<Result>(
  use: (client: PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await use(client);
    await client.query('COMMIT');
    return result;
  } finally {
    client.release();
  }
}

function at(checkpoint: Checkpoint, next: bigint): Checkpoint {
  return {
    ...checkpoint,
    next_offset: next,
    last_record: Buffer.alloc(32, Number(next)),
    digest: Buffer.alloc(32, 7),
  };
}

test('a checkpoint begins at offset 0 with the empty digest, and moves', async () => {
  const id = { name: 'one', version: 1 };
  expect(await readCheckpoints(pool, id)).toEqual([]);
  const begun = await inTransaction((client) => lockCheckpoint(client, id, 'log', 0, CLUSTER));
  expect(begun).toEqual({
    topic: 'log',
    partition: 0,
    cluster_id: CLUSTER,
    next_offset: 0n,
    last_record: null,
    digest: DIGEST_OF_NOTHING,
  });
  const far = at(begun, 2n ** 62n);
  expect(await inTransaction((client) => advanceCheckpoint(client, id, begun, far))).toBe(true);
  expect(await readCheckpoints(pool, id)).toEqual([far]);
});

test('a checkpoint moved by another process is not moved again', async () => {
  const id = { name: 'two', version: 1 };
  const begun = await inTransaction((client) => lockCheckpoint(client, id, 'log', 0, CLUSTER));
  expect(await inTransaction((client) => advanceCheckpoint(client, id, begun, at(begun, 5n)))).toBe(
    true,
  );
  expect(await inTransaction((client) => advanceCheckpoint(client, id, begun, at(begun, 9n)))).toBe(
    false,
  );
  expect(await readCheckpoints(pool, id)).toMatchObject([{ next_offset: 5n }]);
});

test('projections, versions, topics and partitions have checkpoints of their own', async () => {
  const id = { name: 'three', version: 1 };
  const begun = await inTransaction((client) => lockCheckpoint(client, id, 'log', 0, CLUSTER));
  await inTransaction((client) => advanceCheckpoint(client, id, begun, at(begun, 5n)));
  const others = [
    [{ ...id, version: 2 }, 'log', 0],
    [{ ...id, name: 'four' }, 'log', 0],
    [id, 'other', 0],
    [id, 'log', 1],
  ] as const;
  for (const [of, topic, partition] of others) {
    expect(
      await inTransaction((client) => lockCheckpoint(client, of, topic, partition, CLUSTER)),
    ).toMatchObject({ next_offset: 0n });
  }
});

test.each([
  ['that nobody has begun', 'five', 0n],
  ['that stands somewhere', 'six', 2n],
])(
  'the second of two locks of a checkpoint %s waits and sees the first move of the first',
  async (_, projection, standing) => {
    const id = { name: projection, version: 1 };
    if (standing > 0n) {
      await inTransaction(async (client) => {
        const begun = await lockCheckpoint(client, id, 'log', 0, CLUSTER);
        await advanceCheckpoint(client, id, begun, at(begun, standing));
      });
    }
    const order: string[] = [];
    const locked = Promise.withResolvers<void>();
    const moved = Promise.withResolvers<void>();
    const first = inTransaction(async (client) => {
      const begun = await lockCheckpoint(client, id, 'log', 0, CLUSTER);
      locked.resolve();
      await moved.promise;
      await advanceCheckpoint(client, id, begun, at(begun, 3n));
      order.push('first moved it');
    });
    await locked.promise;
    const second = inTransaction(async (client) => {
      const waiting = lockCheckpoint(client, id, 'log', 0, CLUSTER);
      await expect.poll(isSomebodyWaiting).toBe(true);
      moved.resolve();
      const found = await waiting;
      order.push('second has it');
      return found;
    });
    expect(await second).toMatchObject({ next_offset: 3n });
    await first;
    expect(order).toEqual(['first moved it', 'second has it']);
  },
);

async function isSomebodyWaiting(): Promise<boolean> {
  const { rows } = await pool.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%projector.checkpoints%'`,
  );
  return rows.length > 0;
}
