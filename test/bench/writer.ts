/**
 * The log's writer on three brokers of this machine: with one replica and with three, with and
 * without compression, without security and with TLS and a password. Batches, as when an ingester
 * catches up, and single blocks, as when it follows.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { logEnvironment } from '../../infra/cluster/environment.ts';
import { ADMINISTRATOR } from '../../infra/cluster/kafka.ts';
import { clusterAddresses } from '../../infra/local/cluster/layout.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { toEntries } from '../../services/chain-ingester/follower.ts';
import { readSchemas } from '../../services/runtime/kafka/avro-schemas.ts';
import { openKafka, withAdmin } from '../../services/runtime/kafka/client.ts';
import type { KafkaSettings } from '../../services/runtime/kafka/port.ts';
import { codecOf } from '../../services/runtime/kafka/codec.ts';
import type { LogEntry } from '../../services/runtime/kafka/record.ts';
import { SchemaRegistry } from '../../services/runtime/kafka/schema-registry.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import { readConfig } from '../../services/runtime/process/config.ts';
import { KAFKA_SETTINGS } from '../../services/runtime/process/kafka-settings.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { startCluster } from '../support/cluster.ts';
import { startPlainBrokers } from '../support/plain-brokers.ts';
import { say, type Bench } from './bench.ts';
import { GeneratedChain } from './generator.ts';
import { median, percentile, type BenchReport } from './report.ts';

type Option = 'transactions' | 'blocks' | 'rounds';

const BATCH_BYTES = 4 * 1024 * 1024;
const log = openLog({ service: 'bench', level: 'error' });

export const writer: Bench<Option> = {
  about: 'the writer of the log, with replicas, compression and TLS and without',
  options: {
    transactions: { about: 'in the batches of one round', default: 200_000 },
    blocks: { about: 'appended one by one in a round', default: 300 },
    rounds: { about: 'of each way, in turns', default: 3 },
  },
  run,
};

interface Way {
  readonly replicas: number;
  readonly is_compressed: boolean;
  readonly is_secured: boolean;
  /** plain bytes of the batches a second */
  readonly mb_per_second: number[];
  readonly transactions_per_second: number[];
  /** ms of one append of one block */
  readonly ms: number[];
  /** on the wire and on the disk of one replica: Kafka keeps batches as it gets them */
  bytes_of_batches: number;
  bytes_of_blocks: number;
}

/** Three brokers, and the folder of their data. */
interface Brokers {
  readonly settings: KafkaSettings;
  readonly is_secured: boolean;
  readonly data: string;
}

interface Load {
  readonly transactions: number;
  readonly bytes: number;
  readonly batches: readonly (readonly LogEntry[])[];
  readonly blocks: readonly LogEntry[];
}

async function run(options: Readonly<Record<Option, number>>): Promise<BenchReport> {
  const load = await loadOf(options);
  const ways: Way[] = [];
  const plain = await startPlainBrokers();
  try {
    const settings = { kafka_brokers: plain.brokers };
    const brokers = { settings, is_secured: false, data: plain.data };
    ways.push(...(await measured(brokers, load, options.rounds)));
  } finally {
    await plain.stop();
  }
  const cluster = await startCluster();
  try {
    const { ports, secrets } = cluster;
    const at = clusterAddresses(ports, secrets);
    const settings = readConfig(
      logEnvironment(ADMINISTRATOR, secrets.passwords, at),
      KAFKA_SETTINGS,
    );
    const brokers = { settings, is_secured: true, data: cluster.folder.data };
    ways.push(...(await measured(brokers, load, options.rounds)));
  } finally {
    await cluster.stop();
  }
  return reportOf(ways, load);
}

async function loadOf({ transactions, blocks }: Readonly<Record<Option, number>>): Promise<Load> {
  const schemas = await readSchemas([CHAIN_BLOCKS]);
  // no record is read back, so the ids need no registry
  const registry = new SchemaRegistry({ registry_url: 'http://127.0.0.1:1' });
  const codec = codecOf(
    registry,
    schemas,
    schemas.map((_, at) => at + 1),
  );
  const events = [...new GeneratedChain({ transactions, seed: 7 }).events()];
  const batches = [...toEntries(codec, events, BATCH_BYTES)].map(({ entries }) => entries);
  const entries = batches.flat();
  return {
    transactions,
    bytes: entries.reduce((sum, { value }) => sum + value.length, 0),
    batches,
    blocks: entries
      .filter(({ headers }) => headers['event_type'] === 'BlockAppended')
      .slice(0, blocks),
  };
}

async function measured(
  { settings, is_secured, data }: Brokers,
  load: Load,
  rounds: number,
): Promise<readonly Way[]> {
  const ways = [1, 3].flatMap((replicas) =>
    [false, true].map((is_compressed): Way => ({
      replicas,
      is_compressed,
      is_secured,
      mb_per_second: [],
      transactions_per_second: [],
      ms: [],
      bytes_of_batches: 0,
      bytes_of_blocks: 0,
    })),
  );
  for (let round = 0; round <= rounds; round++)
    for (const way of ways) {
      const compressed_bytes_min = way.is_compressed ? undefined : Number.POSITIVE_INFINITY;
      const kafka = openKafka({ ...settings, compressed_bytes_min }, 'bench', log);
      const topic = `bench-${round}-${way.replicas}-${way.is_compressed}`;
      await withAdmin(kafka, (admin) =>
        admin.createTopics([
          { name: topic, partitions: 1, replicas: way.replicas, config: CHAIN_BLOCKS.config },
        ]),
      );
      const kafkaWriter = new KafkaWriter(kafka, { log, signal: new AbortController().signal });
      // the first append waits for the leader
      await kafkaWriter.append(topic, 0, load.blocks.slice(0, 1));
      const empty = bytesOnDisk(data, topic);
      const begun = performance.now();
      for (const batch of load.batches) await kafkaWriter.append(topic, 0, batch);
      const seconds = (performance.now() - begun) / 1_000;
      const filled = bytesOnDisk(data, topic);
      const ms: number[] = [];
      for (const block of load.blocks) {
        const sent = performance.now();
        await kafkaWriter.append(topic, 0, [block]);
        ms.push(performance.now() - sent);
      }
      await kafkaWriter.close();
      // the first one warms up
      if (round === 0) continue;
      way.mb_per_second.push(load.bytes / 1e6 / seconds);
      way.transactions_per_second.push(load.transactions / seconds);
      way.ms.push(...ms);
      way.bytes_of_batches = filled - empty;
      way.bytes_of_blocks = bytesOnDisk(data, topic) - filled;
      say(
        `round ${round} of ${rounds}, ${describe(way)}: ${Math.round(way.mb_per_second.at(-1) ?? 0)} MB/s`,
      );
    }
  return ways;
}

/** The segments of the partition at one of the brokers that have it. */
function bytesOnDisk(data: string, topic: string): number {
  const folder = readdirSync(data, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(data, name, `${topic}-0`))
    .find(existsSync);
  if (folder === undefined) throw new Error(`no broker has ${topic}`);
  const segments = readdirSync(folder).filter((name) => name.endsWith('.log'));
  return segments.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

function describe({ replicas, is_compressed, is_secured }: Way): string {
  const parts = [
    `replicas ${replicas}`,
    is_compressed ? 'zstd' : 'plain',
    is_secured ? 'SASL_SSL' : 'no TLS',
  ];
  return parts.join(', ');
}

function reportOf(ways: readonly Way[], load: Load): BenchReport {
  const { transactions, bytes, batches, blocks } = load;
  const records = batches.flat().length;
  return {
    bench: 'writer',
    about: `${transactions} transactions (${Math.round(bytes / 1e6)} MB) in batches, then ${blocks.length} blocks one by one, on three brokers`,
    measured: ways.map((way) => ({
      what: `batches: ${describe(way)}`,
      unit: 'MB/s',
      rounds: way.mb_per_second,
    })),
    detail: ways.map((way) => ({
      way: describe(way),
      'MB/s': median(way.mb_per_second),
      'transactions/s': median(way.transactions_per_second),
      'a block, p50 ms': percentile(way.ms, 0.5),
      'p99 ms': percentile(way.ms, 0.99),
      'bytes a record in batches': way.bytes_of_batches / records,
      'a block alone, bytes': way.bytes_of_blocks / blocks.length,
    })),
    ratios: [],
  };
}
