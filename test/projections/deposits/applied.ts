/** A projection's tables in Postgres, given batches as the projector gives them. */
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { Projection } from '../../../projections/contract/projection.ts';
import { applyBatch } from '../../../services/projector/engine/apply-batch.ts';
import { prepareDatabase } from '../../../services/projector/tables/migrations.ts';
import { openWriter } from '../../../services/runtime/postgres/pool.ts';
import { silentLog } from '../../support/kafka.ts';
import { plainHash } from '../../support/plain-chain.ts';
import type { Stretch } from '../folded-tables.ts';

/** Creates the tables, in the schema that queries name, and a pool that finds them. */
export async function openTables(
  writerUrl: string,
  projection: Pick<Projection, 'name' | 'version' | 'tables' | 'table_sql' | 'index_sql'>,
): Promise<Pool> {
  await prepareDatabase(writerUrl, projection, { indexed: true });
  return openWriter(
    {
      postgres_url: writerUrl,
      application_name: 'test',
      schema: projection.name,
      connections_max: 8,
    },
    silentLog(),
  );
}

/** Applies one batch; throws when somebody else had. */
export async function applyStretch<Event extends { readonly type: string }>(
  pool: Pool,
  projection: Projection<Event>,
  { topic, partition, from, events }: Stretch<Event> & { readonly topic: string },
): Promise<void> {
  const recorded = events.map((event, at) => ({
    event,
    partition,
    offset: BigInt(from + at),
    timestamp: 0,
    value_hash: plainHash(event),
  }));
  const fingerprints = events.map((_, at) =>
    createHash('sha256')
      .update(`${topic} ${partition} ${from + at}`)
      .digest(),
  );
  const loads = projection.loads(recorded);
  const batch = {
    generation: 1,
    topic,
    partition,
    from: BigInt(from),
    next: BigInt(from + events.length),
    events: recorded,
    loads,
    fingerprints,
    sizes: events.map(() => 1),
  };
  const applied = await applyBatch({ pool, projection, cluster_id: 'cluster-of-the-test' }, batch);
  if (applied.outcome !== 'applied')
    throw new Error(`the batch was not applied: ${applied.outcome}`);
  if (applied.next_offset !== BigInt(from + events.length))
    throw new Error(`applied up to ${applied.next_offset}`);
}
