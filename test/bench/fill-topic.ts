/** Topic `chain.blocks`, new and filled with a generated chain. */
import { setTimeout as after } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import type { ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS } from '../../schemas/topics.ts';
import { toEntries } from '../../services/chain-ingester/follower.ts';
import { openKafka } from '../../services/runtime/kafka/client.ts';
import { ensureTopics } from '../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../services/runtime/kafka/writer.ts';
import type { Logger } from '../../services/runtime/process/log.ts';
import type { Addresses } from '../../infra/services/services.ts';
import { GeneratedChain, type ChainCounts, type GeneratedChainSettings } from './generator.ts';
import { openCodec } from '../support/codec.ts';

const PART_BYTES = 4 * 1024 * 1024;
const STRETCH_TRANSACTIONS = 8_000;
const STRETCH_EVENTS = 100;
const PROGRESS_MS = 5_000;
const DELETED_EVERY_MS = 50;

export interface Filled {
  readonly counts: ChainCounts;
  /** offset that a projection has reached when it has applied everything */
  readonly end: bigint;
  /** of the records' values */
  readonly bytes: number;
  readonly seconds: number;
}

/** Deletes the topic, and the consumer groups with their offsets. */
async function startAnew(brokers: string): Promise<void> {
  const { NOTHING: logLevel } = kafkajs.logLevel;
  const admin = new kafkajs.Kafka({ clientId: 'bench', brokers: [brokers], logLevel }).admin();
  await admin.connect();
  try {
    if (!(await admin.listTopics()).includes(CHAIN_BLOCKS.name)) return;
    const { groups } = await admin.listGroups();
    await admin.deleteGroups(groups.map(({ groupId }) => groupId));
    await admin.deleteTopics({ topics: [CHAIN_BLOCKS.name] });
    const { name: topic, partitions: numPartitions, config } = CHAIN_BLOCKS;
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
    // false while the deletion is still under way
    while (
      !(await admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, numPartitions, configEntries }],
      }))
    )
      await after(DELETED_EVERY_MS);
  } finally {
    await admin.disconnect();
  }
}

/** The events in stretches of about so many transactions as one part holds. */
function* stretches(events: Iterable<ChainEvent>): Generator<readonly ChainEvent[], void> {
  let stretch: ChainEvent[] = [];
  let size = 0;
  for (const event of events) {
    stretch.push(event);
    size += event.type === 'BlockAppended' ? event.transactions.length : 0;
    if (size < STRETCH_TRANSACTIONS && stretch.length < STRETCH_EVENTS) continue;
    yield stretch;
    stretch = [];
    size = 0;
  }
  yield stretch;
}

/**
 * Writes the generated chain from offset 0 on, while no projector of the topic runs. Calls `say`
 * with progress every few seconds.
 */
export async function fillTopic(
  addresses: Pick<Addresses, 'kafka_brokers' | 'registry_url'>,
  settings: GeneratedChainSettings,
  log: Logger,
  say: (line: string) => void,
): Promise<Filled> {
  const kafka = openKafka({ kafka_brokers: [addresses.kafka_brokers] }, 'bench', log);
  await startAnew(addresses.kafka_brokers);
  await ensureTopics(kafka, [CHAIN_BLOCKS]);
  const codec = await openCodec(addresses.registry_url, [CHAIN_BLOCKS]);
  const writer = new KafkaWriter(kafka, { log, signal: new AbortController().signal });
  const chain = new GeneratedChain(settings);
  const begun = performance.now();
  let said = begun;
  let bytes = 0;
  let appended: Promise<unknown> = Promise.resolve();
  for (const events of stretches(chain.events())) {
    for (const { entries } of toEntries(codec, events, PART_BYTES)) {
      // the broker writes one part while the next is made
      await appended;
      appended = writer.append(CHAIN_BLOCKS.name, 0, entries);
      for (const { value } of entries) bytes += value.length;
    }
    if (performance.now() - said < PROGRESS_MS) continue;
    said = performance.now();
    const rate = chain.standing / ((said - begun) / 1_000);
    say(
      `${chain.standing} of ${settings.transactions} transactions written to the topic, ${Math.round(rate)} a second`,
    );
  }
  await appended;
  await writer.close();
  const seconds = (performance.now() - begun) / 1_000;
  const counts = chain.counts();
  say(
    `${counts.transactions} transactions in ${counts.blocks} blocks (${Math.round(bytes / 2 ** 20)} MiB) written in ${seconds.toFixed(1)} s`,
  );
  return { counts, end: BigInt(counts.events), bytes, seconds };
}
