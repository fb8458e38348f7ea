import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { CHAIN_BLOCKS, TREASURY_LEDGER, type Topic } from '../../../../schemas/topics.ts';
import { openCodec, openDecoder } from '../../../support/codec.ts';
import { ScriptedRegistry } from '../../../support/scripted-registry.ts';

let registry: ScriptedRegistry;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  registry = await ScriptedRegistry.open();
  closing.push(() => registry.close());
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const APPROVED = {
  type: 'DepositApproved',
  sequence: 7,
  deposit_id: 'd1',
  actor: 'ann',
  reason: 'checked',
  decided_at: 1,
};

/** The topic with two events in each other's place. */
function swapped(topic: Topic, one: string, other: string): Topic {
  const named = (type: string): Topic['events'] =>
    topic.events.filter((event) => event.type === type);
  const events = topic.events.flatMap((event) =>
    event.type === one ? named(other) : event.type === other ? named(one) : [event],
  );
  return { ...topic, events };
}

test('a record whose id names another event at the registry is not decoded', async () => {
  const value = (await openCodec(registry.url, [TREASURY_LEDGER])).encode(APPROVED);
  registry.empty();
  await openCodec(registry.url, [swapped(TREASURY_LEDGER, 'DepositApproved', 'DepositRejected')]);
  const reader = await openDecoder({ registry_url: registry.url }, [TREASURY_LEDGER]);
  await reader.learn([value]);
  // what the id alone says
  expect(reader.decode(value)).toMatchObject({ type: 'DepositRejected' });
  for (const event_type of [Buffer.from('DepositApproved'), 'DepositApproved'])
    expect(() => reader.decode(value, { event_type })).toThrow(
      expect.objectContaining({
        code: 'undecodable',
        message: expect.stringMatching(
          /event_type is DepositApproved, and schema \d+ is that of DepositRejected .*backup.md/,
        ) as unknown,
      }),
    );
});

test('a record whose id names another version of its event is not decoded', async () => {
  const fields = [{ name: 'id', type: 'long' }];
  const older = await topicOf(fields);
  const newer = await topicOf([{ name: 'more', type: 'long', default: 0 }, ...fields]);
  const writer = await openCodec(registry.url, [older]);
  const value = writer.encode(Object.assign({ type: 'Noted' }, { id: 1 }));
  const headers = { event_type: 'Noted', schema_fingerprint: writer.fingerprintOf('Noted') };
  registry.empty();
  await openCodec(registry.url, [newer]);
  const reader = await openDecoder({ registry_url: registry.url }, [newer]);
  await reader.learn([value]);
  expect(() => reader.decode(value, headers)).toThrow(/header schema_fingerprint is [0-9a-f]{16}/);
});

test('a reader registers nothing, and looks each id up once', async () => {
  const writer = await openCodec(registry.url, [TREASURY_LEDGER]);
  const value = writer.encode(APPROVED);
  registry.asked.length = 0;
  const reader = await openDecoder({ registry_url: registry.url }, [TREASURY_LEDGER]);
  for (let time = 0; time < 2; time++) await reader.learn([value, value]);
  expect(registry.asked).toEqual([`GET /schemas/ids/${value.readUInt32BE(1)}`]);
  const headers = {
    event_type: Buffer.from('DepositApproved'),
    schema_fingerprint: Buffer.from(writer.fingerprintOf('DepositApproved')),
  };
  expect(reader.decode(value, headers)).toMatchObject(APPROVED);
  // records of older software say less
  expect(reader.decode(value)).toMatchObject(APPROVED);
});

test('a reader waits for a registry that lost a pinned schema, and goes on by itself', async () => {
  const value = (await openCodec(registry.url, [TREASURY_LEDGER])).encode(APPROVED);
  const kept = new Map(registry.subjects);
  const pins = [...kept].flatMap(([subject, versions]) =>
    versions.map((version) => ({ ...version, subject })),
  );
  const forged = Buffer.from(value);
  forged.writeUInt32BE(1_000, 1);
  const reader = await openDecoder({ registry_url: registry.url }, [TREASURY_LEDGER], pins);
  const id = value.readUInt32BE(1);
  // also while an import has registered a part
  for (const [subject, versions] of kept)
    if (versions.every((version) => version.id >= id)) registry.subjects.delete(subject);
  await expect(reader.learn([value])).rejects.toMatchObject({
    code: 'another_registry',
    retry: true,
  });
  for (const [subject, versions] of kept) registry.subjects.set(subject, versions);
  await reader.learn([value, forged]);
  expect(reader.decode(value)).toMatchObject(APPROVED);
  expect(() => reader.decode(forged)).toThrow(/no schema 1000 at the registry/);
});

test.each([
  ['the schema of another event', (other: string) => other],
  [
    'a schema without a field',
    (_: string, own: string) => JSON.stringify({ ...JSON.parse(own), fields: [] }),
  ],
  ['text that is not Avro', () => '"nonsense"'],
])('a registry that answers a pinned id with %s makes no record poison', async (_, answer) => {
  const codec = await openCodec(registry.url, [TREASURY_LEDGER]);
  const value = codec.encode(APPROVED);
  const kept = structuredClone([...registry.subjects]);
  const pins = kept.flatMap(([subject, versions]) =>
    versions.map((version) => ({ ...version, subject })),
  );
  const id = value.readUInt32BE(1);
  const other = pins.find((pin) => pin.id !== id)?.schema ?? '';
  for (const versions of registry.subjects.values())
    for (const version of versions)
      if (version.id === id) Object.assign(version, { schema: answer(other, version.schema) });
  const reader = await openDecoder({ registry_url: registry.url }, [TREASURY_LEDGER], pins);
  await expect(reader.learn([value])).rejects.toMatchObject({
    code: 'another_registry',
    retry: true,
    message: expect.stringContaining('ops registry seed') as unknown,
  });
  for (const [subject, versions] of kept) registry.subjects.set(subject, versions);
  await reader.learn([value]);
  expect(reader.decode(value)).toMatchObject(APPROVED);
});

test('credentials are sent with every request, and asked for where they are wrong', async () => {
  registry.authorization = `Basic ${Buffer.from('ann:secret').toString('base64')}`;
  const value = Buffer.from([0, 0, 0, 0, 1, 2]);
  const settings = { registry_url: registry.url, registry_username: 'ann' };
  const wrong = await openDecoder({ ...settings, registry_password: 'guess' }, [TREASURY_LEDGER]);
  await expect(wrong.learn([value])).rejects.toMatchObject({
    code: 'schema_registry',
    retry: true,
    message: expect.stringContaining('APP_REGISTRY_PASSWORD') as unknown,
  });
  const right = await openDecoder({ ...settings, registry_password: 'secret' }, [TREASURY_LEDGER]);
  await right.learn([value]);
  expect(() => right.decode(value)).toThrow(/no schema 1 at the registry/);
});

test('a server that is no registry is a fault with retry', async () => {
  const reader = await openDecoder({ registry_url: `${registry.url}/elsewhere` }, [CHAIN_BLOCKS]);
  await expect(reader.learn([Buffer.from([0, 0, 0, 0, 1, 2])])).rejects.toMatchObject({
    code: 'schema_registry',
    retry: true,
    message: expect.stringContaining('APP_REGISTRY_URL') as unknown,
  });
});

test.each([
  ['fixed', { type: 'fixed', name: 'Address', size: 20 }],
  ['text', 'string'],
  ['a number', 'long'],
])(
  'a list that claims more items than there are bytes is undecodable at once: %s',
  async (_what, items) => {
    const topic = await topicOf([{ name: 'items', type: { type: 'array', items } }]);
    const codec = await openCodec(registry.url, [topic]);
    const head = codec.encode(Object.assign({ type: 'Noted' }, { items: [] })).subarray(0, 5);
    // 2^46 items, in a block with and without its size
    for (const claim of ['80808080808020', 'ffffffffffff1f00'])
      expect(() => codec.decode(Buffer.concat([head, Buffer.from(claim, 'hex')]))).toThrow(
        expect.objectContaining({ code: 'undecodable' }),
      );
  },
);

test('a list in several blocks, with and without their sizes, is read whole', async () => {
  const topic = await topicOf([{ name: 'items', type: { type: 'array', items: 'long' } }]);
  const codec = await openCodec(registry.url, [topic]);
  const head = codec.encode(Object.assign({ type: 'Noted' }, { items: [] })).subarray(0, 5);
  // 1, 2; then -3 in a block of one byte; then 4
  const blocks = Buffer.from('040204010205020800', 'hex');
  expect(codec.decode(Buffer.concat([head, blocks]))).toMatchObject({ items: [1, 2, -3, 4] });
});

test.each([
  ['a list', { type: 'array', items: 'string' }, ['a', 'b']],
  ['a map', { type: 'map', values: 'string' }, { a: 'b' }],
])(
  '%s that the reader lacks is skipped, and refused when it claims too much',
  async (_what, type, entries) => {
    const older = await topicOf([
      { name: 'entries', type, default: Array.isArray(entries) ? [] : {} },
      { name: 'id', type: 'long' },
    ]);
    const writer = await openCodec(registry.url, [older]);
    const value = writer.encode(Object.assign({ type: 'Noted' }, { entries, id: 7 }));
    const lean = await topicOf([{ name: 'id', type: 'long' }]);
    const reader = await openDecoder({ registry_url: registry.url }, [lean]);
    await reader.learn([value]);
    expect(reader.decode(value)).toEqual({ type: 'Noted', id: 7 });
    for (const claim of ['80808080808020', 'ffffffffffff1f00']) {
      const bytes = Buffer.concat([value.subarray(0, 5), Buffer.from(claim, 'hex')]);
      expect(() => reader.decode(bytes)).toThrow(expect.objectContaining({ code: 'undecodable' }));
    }
  },
);

test.each([
  ['int', 'int'],
  ['an object', { type: 'int' }],
  ['an object with a logical type', { type: 'int', logicalType: 'date' }],
])('an integer of more than 32 bits is undecodable, declared as %s', async (_how, type) => {
  const codec = await openCodec(registry.url, [await topicOf([{ name: 'count', type }])]);
  const named = (count: number) => codec.encode(Object.assign({ type: 'Noted' }, { count }));
  for (const count of [2 ** 31 - 1, -(2 ** 31), 0])
    expect(codec.decode(named(count))).toMatchObject({ count });
  // 2^31 in zigzag
  const beyond = Buffer.concat([named(0).subarray(0, 5), Buffer.from('8080808010', 'hex')]);
  expect(() => codec.decode(beyond)).toThrow(expect.objectContaining({ code: 'undecodable' }));
});

test('a map with the name __proto__ is undecodable: it would set the prototype of the map', async () => {
  const map = { name: 'arguments', type: { type: 'map', values: 'string' } };
  const topic = await topicOf([map]);
  const codec = await openCodec(registry.url, [topic]);
  const named = (name: string): Buffer => {
    const event = { type: 'Noted', arguments: Object.fromEntries([[name, 'a']]) };
    return codec.encode(event);
  };
  const skipping = await openCodec(registry.url, [topic], { Noted: ['arguments'] });
  for (const name of ['constructor', 'a__proto__', '']) {
    expect(codec.decode(named(name))).toMatchObject({ arguments: { [name]: 'a' } });
    expect(skipping.decode(named(name))).toMatchObject({ arguments: undefined });
  }
  for (const reader of [codec, skipping])
    expect(() => reader.decode(named('__proto__'))).toThrow(
      expect.objectContaining({ code: 'undecodable' }),
    );
});

async function topicOf(fields: readonly object[]): Promise<Topic> {
  const folder = await mkdtemp(join(tmpdir(), 'clt-codec-'));
  closing.push(() => rm(folder, { recursive: true }));
  const file = join(folder, 'Noted.avsc');
  const schema = { type: 'record', name: 'Noted', namespace: 'test', fields };
  await writeFile(file, JSON.stringify(schema));
  return { ...CHAIN_BLOCKS, events: [{ type: 'Noted', avsc: pathToFileURL(file) }] };
}
