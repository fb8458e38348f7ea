import { readdir, readFile } from 'node:fs/promises';
import { expect, inject, test } from 'vitest';
import { cacheOf } from '../../infra/local/cache.ts';
import { findPrograms } from '../../infra/local/programs.ts';
import { silentReport } from '../../infra/local/report.ts';
import { runOrFail } from '../../infra/local/subprocess.ts';
import { openCodec } from '../../services/runtime/codec.ts';
import { CHAIN_BLOCKS, subjectOf, TOPICS } from '../../schemas/topics.ts';
import { chainEventId } from '../../schemas/chain.blocks/events.ts';
import { toEntries } from '../../services/chain-ingester/entries.ts';
import { TestChain } from '../support/chain.ts';
import { appendAll, freshTopic, never, testKafka } from '../support/kafka.ts';

const stack = inject('stack');

test('every schema in a folder belongs to its topic, under its own name', async () => {
  for (const topic of TOPICS) {
    const files = await readdir(new URL(`../../schemas/${topic.name}/`, import.meta.url));
    expect(topic.events.map(({ type }) => `${type}.avsc`).toSorted()).toEqual(files.filter((file) => file.endsWith('.avsc')).toSorted());
    for (const event of topic.events) {
      const schema: { readonly name: string; readonly namespace: string } = JSON.parse(await readFile(event.avsc, 'utf8'));
      expect(schema.name).toBe(event.type);
      expect(subjectOf(topic, event, schema.namespace)).toBe(`${topic.name}-${schema.namespace}.${event.type}`);
    }
  }
});

test('no topic forgets', () => {
  for (const { config, record_bytes_max } of TOPICS) {
    expect(config).toMatchObject({
      'cleanup.policy': 'delete',
      'retention.ms': '-1',
      'retention.bytes': '-1',
      'max.message.bytes': String(record_bytes_max),
    });
  }
});

test('an event has the same id in every retry, and no two events have the same', () => {
  const [one, other] = [new TestChain({ seed: 1 }), new TestChain({ seed: 1 })];
  const events = [one.append(0), one.append(2), one.append(0), one.revert(), one.append(1), one.finalize()];
  const again = [other.append(0), other.append(2), other.append(0), other.revert(), other.append(1), other.finalize()];
  expect(again.map(chainEventId)).toEqual(events.map(chainEventId));
  expect(new Set(events.map(chainEventId)).size).toBe(events.length);
});

test("Java's console consumer sees keys, headers and timestamps that make sense", async () => {
  const kafka = testKafka(stack);
  const topic = await freshTopic(kafka);
  const codec = await openCodec(stack.registry_url, [CHAIN_BLOCKS]);
  const chain = new TestChain({ seed: 4 });
  const events = [chain.append(0), chain.append(1), chain.finalize(0), chain.revert()];
  const entries = [...toEntries(codec, events, 1 << 20)].flatMap((part) => part.entries);
  await appendAll(kafka, topic, entries);

  const { java, kafka_classpath: classpath } = await findPrograms(cacheOf(process.env), process.env, silentReport, never);
  const shown = ['timestamp', 'partition', 'offset', 'headers', 'key'].flatMap((what) => ['--formatter-property', `print.${what}=true`]);
  const options = ['--from-beginning', '--max-messages', String(events.length), '--formatter-property', 'print.value=false'];
  const lines = await runOrFail(
    'the console consumer',
    java,
    [
      '-XX:TieredStopAtLevel=1',
      '-cp',
      classpath,
      'org.apache.kafka.tools.consumer.ConsoleConsumer',
      '--bootstrap-server',
      stack.kafka_brokers,
      '--topic',
      topic,
      ...options,
      ...shown,
    ],
    { signal: AbortSignal.timeout(50_000) },
  );
  const records = events.map((event, at) => {
    const trace = String(entries[at]?.headers['trace_id']);
    const headers = `event_id:${chainEventId(event)},event_type:${event.type},source:chain-ingester,trace_id:${trace}`;
    return `CreateTime:${entries[at]?.timestamp}\tPartition:0\tOffset:${at}\t${headers}\t${event.height}`;
  });
  for (const record of records) expect(lines.split('\n')).toContain(record);
});
