import { readdir, readFile } from 'node:fs/promises';
import { expect, inject, test } from 'vitest';
import { cacheFolder } from '../../../infra/local/fetch/cache.ts';
import { findPrograms } from '../../../infra/local/fetch/programs.ts';
import { silentReport } from '../../support/silent-report.ts';
import { runOrFail } from '../../../infra/local/process/run-program.ts';
import {
  CHAIN_BLOCKS,
  DEPOSIT_ADDRESSES,
  subjectOf,
  TOPICS,
  TREASURY_LEDGER,
  TRON_TRANSFERS,
} from '../../../schemas/topics.ts';
import {
  depositAddressEventId,
  depositAddressEventKey,
  type DepositAddressEvent,
} from '../../../schemas/deposit.addresses/events.ts';
import { transferEventId, type TransferEvent } from '../../../schemas/tron.transfers/events.ts';
import {
  treasuryEventId,
  treasuryEventKey,
  type TreasuryEvent,
} from '../../../schemas/treasury.ledger/events.ts';
import { ensureTopics } from '../../../services/runtime/kafka/topics.ts';
import { chainEventId } from '../../../schemas/chain.blocks/events.ts';
import { toEntries } from '../../../services/chain-ingester/follower.ts';
import { TestChain } from '../../support/chain.ts';
import { confirmedEvent, depositEvents } from '../../support/deposit-events.ts';
import { transferLog } from '../../support/deposit-log.ts';
import { appendAll, freshTopic, never, ownTopic, testKafka } from '../../support/kafka.ts';
import { openCodec } from '../../support/codec.ts';
import { HANG_MS } from '../../support/limits.ts';

const stack = inject('stack');

test('every schema in a folder belongs to its topic, under its own name', async () => {
  for (const topic of TOPICS) {
    const files = await readdir(new URL(`../../../schemas/${topic.name}/`, import.meta.url));
    expect(topic.events.map(({ type }) => `${type}.avsc`).toSorted()).toEqual(
      files.filter((file) => file.endsWith('.avsc')).toSorted(),
    );
    for (const event of topic.events) {
      const schema: { readonly name: string; readonly namespace: string } = JSON.parse(
        await readFile(event.avsc, 'utf8'),
      );
      expect(schema.name).toBe(event.type);
      expect(subjectOf(topic, event, schema.namespace)).toBe(
        `${topic.name}-${schema.namespace}.${event.type}`,
      );
    }
  }
});

test('every topic keeps its records for ever', () => {
  for (const { config } of TOPICS) {
    expect(config).toMatchObject({
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
    });
  }
});

test('records about money are on disk before they are acknowledged', () => {
  const flushed = TOPICS.filter(({ config }) => config['flush.messages'] === '1').map(
    ({ name }) => name,
  );
  expect(flushed).toEqual(['deposit.addresses', 'tron.transfers', 'treasury.ledger']);
});

test('money topics have one partition, except tron.transfers', () => {
  const partitions = [DEPOSIT_ADDRESSES, TRON_TRANSFERS, TREASURY_LEDGER].map(
    (topic) => topic.partitions,
  );
  expect(partitions).toEqual([1, 6, 1]);
});

test('Kafka creates every topic as declared, and a check reports no difference', async () => {
  const kafka = testKafka(stack);
  const own = TOPICS.map((topic) => ownTopic({ ...topic, name: ownTopic().name }));
  await ensureTopics(kafka, own);
  await ensureTopics(kafka, own);
  const first = own.find(({ config }) => config['flush.messages'] === '1');
  if (first === undefined) throw new Error('no topic is flushed');
  const careless = { ...first, config: { ...first.config, 'flush.messages': '2' } };
  await expect(ensureTopics(kafka, [careless])).rejects.toThrow(
    /has flush.messages=1 instead of 2; set it with kafka-configs.sh/,
  );
});

test('the same fact about a deposit has the same id from every writer', () => {
  const account = Buffer.alloc(20, 1);
  const asked: DepositAddressEvent = {
    type: 'AddressRequested',
    clt_address: account,
    requested_at: 1,
  };
  const addressEvents: DepositAddressEvent[] = [
    { type: 'SchemePinned', scheme: 'hd', extended_public_key: 'xpub1', pinned_at: 1 },
    { type: 'SchemePinned', scheme: 'hd', extended_public_key: 'xpub2', pinned_at: 1 },
    asked,
    { ...asked, clt_address: Buffer.alloc(20, 2) },
    { type: 'PanelOpened', clt_address: account, opened_at: 1 },
    { type: 'PanelOpened', clt_address: account, opened_at: 2 },
  ];
  const transfer = transferLog({ seed: 1, accounts: 3, events: 100 })
    .flat()
    .find((event) => event.type === 'TransferObserved');
  if (transfer === undefined) throw new Error('a log without transfers');
  const checked: TransferEvent = {
    type: 'AddressesChecked',
    checked_at: 1,
    checked: [{ address: Buffer.alloc(20, 3), until: 1 }],
  };
  const transferEvents: TransferEvent[] = [
    transfer,
    { ...transfer, log_index: 9 },
    checked,
    { ...checked, checked_at: 2 },
    { ...checked, checked: [] },
  ];
  const confirmed = confirmedEvent();
  const ledgerEvents: TreasuryEvent[] = [
    confirmed,
    { ...confirmed, sequence: 1 },
    { ...depositEvents(confirmed.deposit_id).held('mint_failed') },
  ];
  const ids = [
    ...addressEvents.map(depositAddressEventId),
    ...transferEvents.map(transferEventId),
    ...ledgerEvents.map(treasuryEventId),
  ];
  expect(new Set(ids).size).toBe(ids.length);
  expect(depositAddressEventId({ ...asked, requested_at: 2 })).toBe(depositAddressEventId(asked));
  expect(transferEventId({ ...transfer, block_timestamp: 7 })).toBe(
    `${transfer.tx_id.toString('hex')}:${transfer.log_index}`,
  );
  expect([asked, ...addressEvents.slice(0, 1)].map(depositAddressEventKey)).toEqual([
    `0x${'01'.repeat(20)}`,
    'scheme',
  ]);
  expect(treasuryEventKey(confirmed)).toBe(confirmed.deposit_id);
});

test('event ids are stable across retries and distinct between events', () => {
  const [one, other] = [new TestChain({ seed: 1 }), new TestChain({ seed: 1 })];
  const events = [
    one.append(0),
    one.append(2),
    one.append(0),
    one.revert(),
    one.append(1),
    one.finalize(),
  ];
  const again = [
    other.append(0),
    other.append(2),
    other.append(0),
    other.revert(),
    other.append(1),
    other.finalize(),
  ];
  expect(again.map(chainEventId)).toEqual(events.map(chainEventId));
  expect(new Set(events.map(chainEventId)).size).toBe(events.length);
});

test("Kafka's console consumer shows keys, headers and timestamps", async () => {
  const kafka = testKafka(stack);
  const topic = await freshTopic(kafka);
  const codec = await openCodec(stack.registry_url, [CHAIN_BLOCKS]);
  const chain = new TestChain({ seed: 4 });
  const events = [chain.append(0), chain.append(1), chain.finalize(0), chain.revert()];
  const entries = [...toEntries(codec, events, 1 << 20)].flatMap((part) => part.entries);
  await appendAll(kafka, topic, entries);

  const { java, kafka_classpath: kafkaClasspath } = await findPrograms(
    cacheFolder(process.env),
    process.env,
    silentReport,
    never,
  );
  const shown = ['timestamp', 'partition', 'offset', 'headers', 'key'].flatMap((what) => [
    '--formatter-property',
    `print.${what}=true`,
  ]);
  const options = [
    '--from-beginning',
    '--max-messages',
    String(events.length),
    '--formatter-property',
    'print.value=false',
  ];
  const lines = await runOrFail(
    java,
    [
      '-XX:TieredStopAtLevel=1',
      '-cp',
      kafkaClasspath,
      'org.apache.kafka.tools.consumer.ConsoleConsumer',
      '--bootstrap-server',
      stack.kafka_brokers,
      '--topic',
      topic,
      ...options,
      ...shown,
    ],
    { signal: AbortSignal.timeout(HANG_MS) },
  );
  const records = events.map((event, at) => {
    const trace = String(entries[at]?.headers['trace_id']);
    const schema = codec.fingerprintOf(event.type);
    const headers = `event_id:${chainEventId(event)},event_type:${event.type},schema_fingerprint:${schema},source:chain-ingester,trace_id:${trace}`;
    return `CreateTime:${entries[at]?.timestamp}\tPartition:0\tOffset:${at}\t${headers}\t${event.height}`;
  });
  for (const record of records) expect(lines.split('\n')).toContain(record);
});
