/**
 * Shared by tests of the engine: projections in their own schemas, batches without Kafka, faults at
 * COMMIT.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import { onTestFinished } from 'vitest';
import type { ExplorerEvent } from '../../../../projections/explorer/events.ts';
import { explorer } from '../../../../projections/explorer/explorer.ts';
import type { Projection } from '../../../../projections/contract/projection.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import { prepareDatabase } from '../../../../services/projector/tables/migrations.ts';
import { openWriter } from '../../../../services/runtime/postgres/pool.ts';
import type { Batch } from '../../../../services/projector/engine/batches.ts';
import { FaultProxy, type FaultMode } from '../../../support/fault-proxy.ts';
import { silentLog } from '../../../support/kafka.ts';

export const CLUSTER = 'cluster-of-the-test';

/** The explorer under a name, and so in a schema, of its own, reading the topic given. */
export function ownExplorer(topic: string = explorer.topics[0] ?? ''): Projection<ExplorerEvent> {
  return { ...explorer, name: `explorer_${randomUUID().replaceAll('-', '')}`, topics: [topic] };
}

export interface Tables {
  readonly projection: Projection<ExplorerEvent>;
  readonly pool: Pool;
}

export interface TableOptions {
  readonly through?: FaultProxy;
  readonly lock_timeout_ms?: number;
  /** false: without indexes, so that its runner loads the tables; true when not given */
  readonly indexed?: boolean;
}

/** Its tables, and a pool that finds them. */
export async function openTables(
  writerUrl: string,
  projection: Projection<ExplorerEvent> = ownExplorer(),
  options: TableOptions = {},
): Promise<Tables> {
  const { through, indexed = true, ...settings } = options;
  await prepareDatabase(writerUrl, projection, { indexed });
  const url = through?.url(writerUrl) ?? writerUrl;
  return {
    projection,
    pool: openWriter(
      { postgres_url: url, application_name: 'test', schema: projection.name, ...settings },
      silentLog(),
    ),
  };
}

/** A way to Postgres that can be cut; it is closed when the test has finished. */
export async function proxyOf(writerUrl: string): Promise<FaultProxy> {
  const proxy = await FaultProxy.open({ port: Number(new URL(writerUrl).port) });
  onTestFinished(() => proxy.close());
  return proxy;
}

/** Events as the records of `chain.blocks` from offset `from` on. */
export function batchOf(
  events: readonly ChainEvent[],
  from = 0n,
  projection: Pick<Projection<ExplorerEvent>, 'loads'> = explorer,
): Batch<ChainEvent> {
  const recorded = events.map((event, at) => ({
    event,
    partition: 0,
    offset: from + BigInt(at),
    timestamp: 0,
  }));
  return {
    generation: 1,
    topic: 'chain.blocks',
    partition: 0,
    from,
    next: from + BigInt(events.length),
    events: recorded,
    loads: projection.loads(recorded),
    fingerprints: events.map((event, at) =>
      createHash('sha256')
        .update(`${from + BigInt(at)} ${event.hash.toString('hex')}`)
        .digest(),
    ),
    sizes: events.map(() => 1),
  };
}

/** Lets `mode` choose the proxy's fault at each later COMMIT of the pool's connections. */
export function faultAtCommit(pool: Pool, proxy: FaultProxy, mode: () => FaultMode): void {
  pool.on('connect', (client) => {
    const query: unknown = Reflect.get(client, 'query');
    if (typeof query !== 'function') throw new Error('a client without query');
    Reflect.set(client, 'query', (...parameters: unknown[]): unknown => {
      if (parameters[0] === 'COMMIT') proxy.next(mode());
      return Reflect.apply(query, client, parameters);
    });
  });
}
