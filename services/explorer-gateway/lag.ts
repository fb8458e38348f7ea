/** The lag of the index behind the node, and the ends of the log, behind which projections lag. */
import { setTimeout as after } from 'node:timers/promises';
import { indexedHead } from '../../projections/explorer/queries/chain.ts';
import type { NodeHead } from '../runtime/clt-node.ts';
import type { KafkaSettings } from '../runtime/kafka/port.ts';
import type { Reader, Statement } from '../runtime/postgres/pool.ts';
import { Fault } from '../runtime/process/errors.ts';
import { cachedFor } from '../runtime/process/cached.ts';
import type { Check, HealthProblem } from '../runtime/process/health.ts';
import type { Logger } from '../runtime/process/log.ts';

const TIMEOUT_MS = 1_000;

const INDEXED: Statement = {
  name: 'explorer_is_indexed',
  text: `SELECT indexed_at IS NOT NULL FROM projector.projections WHERE projection = 'explorer'`,
  values: [],
};

/**
 * Ready when the index can be read, has all its indexes and is not further behind the node than
 * `lagMax` blocks. A node that cannot be reached does not make the gateway unready: it answers from
 * the index alone, and that the index stands still then is what the ingester's own `/ready` says.
 */
export function indexCheck(
  reader: Reader,
  head: () => Promise<NodeHead | undefined>,
  lagMax: number,
): Check {
  return {
    name: 'index',
    projection: 'explorer',
    check: async () => {
      const [rows, [[isIndexed] = []], newest] = await Promise.all([
        reader.rows(indexedHead()),
        reader.rows(INDEXED),
        head(),
      ]);
      if (isIndexed === 'f')
        return waiting('being built, and slow until it is: see /ready of projector-explorer');
      if (newest === undefined) return undefined;
      const indexed = Number(rows[0]?.[0] ?? -1);
      const lag = newest.height - indexed;
      return lag > lagMax
        ? waiting(
            `${lag} blocks behind the node, more than ${lagMax}: see /ready of chain-ingester and projector`,
          )
        : undefined;
    },
  };
}

function waiting(message: string): HealthProblem {
  return { status: 'waiting', waits_for: 'projection:explorer', message };
}

/** By topic, the offset after the last record of each partition. */
export type LogEnds = ReadonlyMap<string, readonly bigint[]>;

/** The ends of these topics; undefined while they are unknown. `now` in ms. */
export function logEnds(
  settings: KafkaSettings,
  now: () => number,
  log: Logger,
): (topics: readonly string[]) => Promise<LogEnds | undefined> {
  // one at a time: it may take long until brokers that are away are known to be
  let reading: Promise<LogEnds> | undefined;
  return cachedFor(
    now,
    log,
    'the ends of the log cannot be read, so the lag of projections is unknown',
    'the ends of the log can be read again',
    async (topics: readonly string[]) => {
      reading ??= readEnds(settings, topics, log).finally(() => (reading = undefined));
      return await Promise.race([reading, timeout()]);
    },
  );
}

async function timeout(): Promise<never> {
  await after(TIMEOUT_MS, undefined, { ref: false });
  throw new Fault('kafka', `no answer within ${TIMEOUT_MS} ms`, { retry: true });
}

async function readEnds(
  settings: KafkaSettings,
  topics: readonly string[],
  log: Logger,
): Promise<LogEnds> {
  // the client is large, and many gateways never need it
  const [{ openKafka }, { readTopicEnds }] = await Promise.all([
    import('../runtime/kafka/client.ts'),
    import('../runtime/kafka/ends.ts'),
  ]);
  const kafka = openKafka(settings, 'explorer-gateway', log.child({}, { level: 'silent' }));
  const ends = new Map<string, bigint[]>();
  for (const { topic, partition, high } of await readTopicEnds(kafka, topics)) {
    const partitions = ends.get(topic) ?? [];
    partitions[partition] = high;
    ends.set(topic, partitions);
  }
  return ends;
}
