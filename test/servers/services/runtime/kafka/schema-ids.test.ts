/** Ids of schemas in a log, and registries that are not the one of it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest';
import { parsePin, pinText } from '../../../../../schemas/schema.ids/pin.ts';
import { SCHEMA_IDS, type EventSchema, type Topic } from '../../../../../schemas/topics.ts';
import { comparePins } from '../../../../../services/ops/registry/seeding.ts';
import { seed } from '../../../../../services/ops/registry/registry.ts';
import { openCodec, type Codec } from '../../../../../services/runtime/kafka/codec.ts';
import { readTopicEnds } from '../../../../../services/runtime/kafka/ends.ts';
import { readPins } from '../../../../../services/runtime/kafka/schema-ids.ts';
import { SchemaRegistry } from '../../../../../services/runtime/kafka/schema-registry.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../../../../services/runtime/kafka/writer.ts';
import { openCodec as openUnpinned } from '../../../../support/codec.ts';
import { never, ownTopic, readAll, silentLog, testKafka } from '../../../../support/kafka.ts';
import { ScriptedRegistry } from '../../../../support/scripted-registry.ts';

const kafka = testKafka(inject('stack'));
const log = silentLog();
let folder: string;
let registry: ScriptedRegistry;
/** of one log */
let pins: Topic;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'clt-ids-'));
  registry = await ScriptedRegistry.open();
});

beforeEach(() => {
  registry.empty();
  registry.asked.length = 0;
  pins = { ...SCHEMA_IDS, name: ownTopic().name };
});

afterAll(async () => {
  await registry.close();
  await rm(folder, { recursive: true });
});

/** An event with a field `id`, and these. */
async function eventOf(type: string, ...more: readonly string[]): Promise<EventSchema> {
  const added = more.map((name) => ({ name, type: 'long', default: 0 }));
  const fields = [{ name: 'id', type: 'long' }, ...added];
  const file = join(folder, [type, ...more].join('-'));
  await writeFile(file, JSON.stringify({ type: 'record', name: type, namespace: 'test', fields }));
  return { type, avsc: pathToFileURL(file) };
}

async function topicOf(...events: readonly EventSchema[]): Promise<Topic> {
  const topic = ownTopic({ events });
  await ensureTopics(kafka, [topic]);
  return topic;
}

function open(topic: Topic, at = registry): Promise<Codec> {
  return openCodec({ registry_url: at.url }, { kafka, log, pins }, [topic]);
}

function idOf(codec: Codec, type: string): number {
  return codec.encode(noted(type)).readUInt32BE(1);
}

function noted(type: string): { readonly type: string } {
  return Object.assign({ type }, { id: 1, more: 0 });
}

/** As software without pins did. */
async function append(topic: Topic, codec: Codec, ...types: readonly string[]): Promise<void> {
  const writer = new KafkaWriter(kafka, { log, signal: never });
  const entries = types.map((type) => ({
    key: 'any',
    value: codec.encode(noted(type)),
    headers: { event_type: type },
    timestamp: 1,
  }));
  await writer.append(topic.name, 0, entries);
  await writer.close();
}

async function lengthOf({ name }: Topic): Promise<bigint> {
  const [end] = await readTopicEnds(kafka, [name]);
  return end?.high ?? 0n;
}

/** Opening is refused, and neither the log nor the registry has changed. */
async function expectRefused(topic: Topic, reason: RegExp, at = registry): Promise<void> {
  const before = await lengthOf(pins);
  at.asked.length = 0;
  await expect(open(topic, at)).rejects.toMatchObject({
    code: 'another_registry',
    retry: true,
    message: expect.stringMatching(reason) as unknown,
  });
  expect(at.asked.filter((request) => !request.startsWith('GET'))).toEqual([]);
  expect(await lengthOf(pins)).toBe(before);
}

test('each id is pinned with its schema before a codec gives it out, and once', async () => {
  const topic = await topicOf(await eventOf('One'), await eventOf('Two'));
  const codec = await open(topic);
  const stored = (await readAll(kafka, pins.name)).map(({ value }) => parsePin(String(value)));
  expect(stored.map(({ id, subject }) => [id, subject])).toEqual([
    [idOf(codec, 'One'), `${topic.name}-test.One`],
    [idOf(codec, 'Two'), `${topic.name}-test.Two`],
  ]);
  registry.asked.length = 0;
  const again = await open(topic);
  expect(idOf(again, 'Two')).toBe(idOf(codec, 'Two'));
  expect(registry.asked.filter((request) => !request.startsWith('GET'))).toEqual([]);
  expect(await readAll(kafka, pins.name)).toHaveLength(2);
});

/** As one who may write to the topic of pins. */
async function pin(...texts: readonly string[]): Promise<void> {
  const writer = new KafkaWriter(kafka, { log, signal: never });
  const entries = texts.map((text) => ({
    key: 'any',
    value: Buffer.from(text),
    headers: {},
    timestamp: 1,
  }));
  await writer.append(pins.name, 0, entries);
  await writer.close();
}

function schemaOf(name: string): string {
  return JSON.stringify({ type: 'record', name, namespace: 'test', fields: [] });
}

test('a record that can be no pin, and a later pin of a known id, stop nobody', async () => {
  const topic = await topicOf(await eventOf('One'));
  const codec = await open(topic);
  const subject = `${topic.name}-test.Forged`;
  const schema = schemaOf('Forged');
  await pin(
    'no pin',
    ...[0, -1, 1.5, 2 ** 31].map((id) => pinText({ id, subject, schema })),
    pinText({ id: 50, subject, schema: 'no schema' }),
    pinText({ id: 51, subject, schema: '{"type":"no type"}' }),
    pinText({ id: 52, subject, schema: '"string"' }),
    pinText({ id: 53, subject, schema: schemaOf('Other') }),
    pinText({ id: idOf(codec, 'One'), subject, schema }),
  );
  expect(await readPins({ kafka, pins })).toHaveLength(1);
  expect(idOf(await open(topic), 'One')).toBe(idOf(codec, 'One'));
});

test('a forged pin of a free id stops writers in words, until the registry is seeded', async () => {
  const topic = await topicOf(await eventOf('One'));
  const codec = await open(topic);
  const value = codec.encode(noted('One'));
  await pin(pinText({ id: 50, subject: `${topic.name}-test.Forged`, schema: schemaOf('Forged') }));
  await expectRefused(topic, /id 50 names .*-test\.Forged, and there it names nothing/);
  const reader = await openUnpinned(registry.url, [topic]);
  expect(reader.decode(value)).toEqual(codec.decode(value));
  expect((await seed({ registry: { registry_url: registry.url }, kafka, log, pins })).seeded).toBe(
    1,
  );
  const after = await open({ ...topic, events: [...topic.events, await eventOf('Two')] });
  expect([idOf(after, 'One'), idOf(after, 'Two')]).toEqual([idOf(codec, 'One'), 51]);
});

test('a new version of an event gets an id of its own; the old software keeps the old one', async () => {
  const older = await topicOf(await eventOf('One'));
  const newer = { ...older, events: [await eventOf('One', 'more')] };
  const ids = [idOf(await open(older), 'One'), idOf(await open(newer), 'One')];
  expect(ids).toEqual([1, 2]);
  expect(idOf(await open(older), 'One')).toBe(1);
  expect(await readAll(kafka, pins.name)).toHaveLength(2);
});

test('an empty registry, one that lost a part, and one with other schemas are refused', async () => {
  const topic = await topicOf(await eventOf('One'), await eventOf('Two'));
  const later = await topicOf(await eventOf('Three'));
  await open(topic);
  const kept = [...registry.subjects];
  await open(later);
  registry.empty();
  await expectRefused(topic, /id 1 names .*-test\.One, and there it names nothing/);
  // restored from a backup
  for (const [subject, versions] of kept) registry.subjects.set(subject, versions);
  // its next id would be the lost one
  await expectRefused(topic, /id 3 names .*-test\.Three, and there it names nothing/);
  registry.empty();
  const turned = { ...topic, events: topic.events.toReversed() };
  await openUnpinned(registry.url, [turned, later]);
  await expectRefused(topic, /id 1 names .*-test\.One, and there it names Two/);
  const other = await ScriptedRegistry.open();
  try {
    await expectRefused(topic, /there it names nothing/, other);
  } finally {
    await other.close();
  }
});

test('services that start together use the same ids; of two registries one is refused', async () => {
  const [one, two] = [await eventOf('One'), await eventOf('Two')];
  const topic = await topicOf(one, two);
  const codecs = await Promise.all([open(topic), open(topic), open(topic)]);
  for (const type of ['One', 'Two'])
    expect(new Set(codecs.map((codec) => idOf(codec, type))).size).toBe(1);
  expect(await readPins({ kafka, pins })).toHaveLength(2);

  pins = { ...pins, name: ownTopic().name };
  const other = await ScriptedRegistry.open();
  try {
    await openUnpinned(other.url, [{ ...topic, events: [two] }]);
    const opened = await Promise.allSettled([open(topic), open(topic, other)]);
    const refused = opened.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'another_registry' } }]);
  } finally {
    await other.close();
  }
});

test('a log of older software is pinned when its records fit the registry, with every version', async () => {
  const topic = await topicOf(await eventOf('One'), await eventOf('Two'));
  await append(topic, await openUnpinned(registry.url, [topic]), 'One', 'Two');
  const newer = { ...topic, events: [await eventOf('One', 'more'), await eventOf('Two')] };
  await open(newer);
  const pinned = await readPins({ kafka, pins });
  expect(pinned.map(({ id, subject }) => `${id} ${subject}`)).toEqual([
    `1 ${topic.name}-test.One`,
    `2 ${topic.name}-test.Two`,
    `3 ${topic.name}-test.One`,
  ]);
});

test('a log of older software is pinned by no registry that its records do not fit', async () => {
  const topic = await topicOf(await eventOf('One'), await eventOf('Two'));
  await append(topic, await openUnpinned(registry.url, [topic]), 'One', 'Two');
  registry.empty();
  await expectRefused(topic, /@0 is One, and its schema id 1 names nothing/);
  await openUnpinned(registry.url, [{ ...topic, events: topic.events.toReversed() }]);
  await expectRefused(topic, /@0 is One, and its schema id 1 names Two/);
});

test('an older version that was registered, but of which no record came, is no difference', async () => {
  const older = await topicOf(await eventOf('One'));
  await openUnpinned(registry.url, [older]);
  await open({ ...older, events: [await eventOf('One', 'more')] });
  const pinned = await readPins({ kafka, pins });
  const compared = await comparePins(new SchemaRegistry({ registry_url: registry.url }), pinned);
  expect(compared.map(({ id, state }) => [id, state])).toEqual([[2, 'present']]);
});

test('a registry of the mode IMPORT gets the pinned schemas back under their ids', async () => {
  const older = await topicOf(await eventOf('Two'), await eventOf('One'));
  const newer = { ...older, events: [await eventOf('One', 'more'), await eventOf('Two')] };
  await open(older);
  const ids = await open(newer);
  const kept = structuredClone(registry.subjects);
  registry.empty();
  const where = { registry: { registry_url: registry.url }, kafka, log, pins };
  const { seeded } = await seed(where);
  expect(seeded).toBe(3);
  expect(registry.subjects).toEqual(kept);
  expect(new Set(registry.compatibility.values())).toEqual(new Set(['FULL_TRANSITIVE']));
  expect(idOf(await open(newer), 'One')).toBe(idOf(ids, 'One'));
  expect((await seed(where)).seeded).toBe(0);
  // a new schema gets a new id
  expect(idOf(await open(await topicOf(await eventOf('Three'))), 'Three')).toBe(4);
});

test('a registry that has given a pinned id away is not seeded', async () => {
  const topic = await topicOf(await eventOf('One'), await eventOf('Two'));
  await open(topic);
  registry.empty();
  await openUnpinned(registry.url, [{ ...topic, events: topic.events.toReversed() }]);
  registry.asked.length = 0;
  const { pins: compared, seeded } = await seed({
    registry: { registry_url: registry.url },
    kafka,
    log,
    pins,
  });
  expect([seeded, compared.map(({ state }) => state)]).toEqual([0, ['other', 'other']]);
  expect(registry.asked.filter((request) => !request.startsWith('GET'))).toEqual([]);
  const pinned = await readPins({ kafka, pins });
  const found = await comparePins(new SchemaRegistry({ registry_url: registry.url }), pinned);
  expect(found).toEqual(compared);
});
