import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import avro from 'avsc';
import {
  array,
  assert,
  bigInt,
  constant,
  dictionary,
  integer,
  nat,
  oneof,
  option,
  property,
  record,
  string,
  uint8Array,
} from 'fast-check';
import { afterEach, beforeAll, expect, inject, test } from 'vitest';
import type { Codec } from '../../../../../services/runtime/kafka/codec.ts';
import { decodeDecimal } from '../../../../../schemas/money.ts';
import { CHAIN_BLOCKS, subjectOf, type Topic } from '../../../../../schemas/topics.ts';
import type { BlockAppended } from '../../../../../schemas/chain.blocks/events.ts';
import { bigBlock, chainEvents } from '../../../../support/chain.ts';
import { FaultProxy } from '../../../../support/fault-proxy.ts';
import { ownTopic } from '../../../../support/kafka.ts';
import { openCodec } from '../../../../support/codec.ts';
import { anyCharacter } from '../../../../support/any-character.ts';

const { registry_url: registryUrl } = inject('stack');
const closing: (() => Promise<void>)[] = [];
let codec: Codec;

beforeAll(async () => {
  codec = await openCodec(registryUrl, [CHAIN_BLOCKS]);
});

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Registered {
  readonly id: number;
  readonly schema: string;
  readonly compatibilityLevel: string;
}

async function ask(path: string, method = 'GET', body?: object): Promise<Registered> {
  const content =
    body === undefined
      ? {}
      : {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/vnd.schemaregistry.v1+json' },
        };
  const answer = await fetch(`${registryUrl}${path}`, { method, ...content });
  expect(answer.status).toBe(200);
  const registered: Registered = JSON.parse(await answer.text());
  return registered;
}

async function registryProxy(): Promise<FaultProxy> {
  const proxy = await FaultProxy.open({ port: Number(new URL(registryUrl).port) });
  closing.push(() => proxy.close());
  return proxy;
}

interface Field {
  readonly name: string;
  readonly type: unknown;
  readonly default?: unknown;
}

/** A topic of one event `Noted` in a namespace, whose schema has these fields. */
async function topicWith(
  fields: readonly Field[],
  like: Topic = ownTopic(),
  namespace = `test.n${Date.now()}`,
): Promise<Topic> {
  const folder = await mkdtemp(join(tmpdir(), 'clt-codec-'));
  closing.push(() => rm(folder, { recursive: true }));
  const file = join(folder, 'Noted.avsc');
  await writeFile(file, JSON.stringify({ type: 'record', name: 'Noted', namespace, fields }));
  return { ...like, events: [{ type: 'Noted', avsc: pathToFileURL(file) }] };
}

function noted(fields: object): { readonly type: string } {
  return { type: 'Noted', ...fields };
}

const ID: Field = { name: 'id', type: 'long' };
const NAMESPACE = 'test.noted';

test('every event survives encoding and decoding, with its type and every field', () => {
  for (const event of chainEvents({ seed: 3, blocks: 200, reorg_probability: 0.2 })) {
    const decoded = codec.decode(codec.encode(event));
    expect(decoded).toEqual(event);
    expect(Object.keys(decoded).toSorted()).toEqual(Object.keys(event).toSorted());
  }
});

test('every value of a field survives encoding and decoding', () => {
  const hash = uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));
  const address = uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => Buffer.from(bytes));
  const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER - 1 });
  // no block has it: chain-ingester refuses it, and so does the decoder
  const name = string({ unit: anyCharacter }).filter((each) => each !== '__proto__');
  const transaction = record({
    hash,
    index: nat(),
    from: address,
    to: address,
    nonce: count,
    amount: bigInt(),
    function_call_type: string({ unit: anyCharacter }),
    arguments: dictionary(name, option(string({ unit: anyCharacter }))),
    referrer: option(address),
    request_referrer: option(address),
    offer_referrer: option(address),
    request_referrer_fee: bigInt(),
    offer_referrer_fee: bigInt(),
    raw: uint8Array().map((bytes) => Buffer.from(bytes)),
  });
  const effect = record({
    address,
    kind: string(),
    delta: bigInt(),
    tx_index: option(nat()),
    counterparty: option(address),
  });
  const place = { sequence: count, height: count, hash };
  const events = [
    record({
      type: constant('BlockAppended'),
      ...place,
      parent_hash: hash,
      timestamp: count,
      producer: address,
      reward_recipient: address,
      block_reward: bigInt(),
      transactions: array(transaction, { maxLength: 4 }),
      balance_effects: array(effect),
    }),
    record({ type: constant('BlockReverted'), ...place, parent_hash: hash }),
    record({ type: constant('BlocksFinalized'), ...place }),
  ];
  const roundTrip = property(oneof(...events), (event) => {
    expect(codec.decode(codec.encode(event))).toEqual(event);
  });
  assert(roundTrip, { numRuns: 60 });
});

test('arguments of any name and amounts of any size survive encoding and decoding', () => {
  const block = bigBlock(1);
  const [transaction] = block.transactions;
  const named = {
    constructor: 'a',
    toString: null,
    hasOwnProperty: 'b',
    '': 'c',
    ключ: '\u0000\u{1F600}',
  };
  for (const delta of [
    0n,
    1n,
    -1n,
    127n,
    128n,
    -128n,
    -129n,
    2n ** 53n + 1n,
    -(2n ** 63n),
    2n ** 63n,
    2n ** 64n,
    -(2n ** 256n),
    2n ** 256n - 1n,
    10n ** 1_000n,
  ]) {
    const event: BlockAppended = {
      ...block,
      block_reward: delta,
      transactions:
        transaction === undefined ? [] : [{ ...transaction, amount: delta, arguments: named }],
      balance_effects: [
        { address: block.producer, kind: 'any', delta, tx_index: null, counterparty: null },
      ],
    };
    expect(codec.decode(codec.encode(event))).toEqual(event);
  }
});

test('a value that does not fit the schema is never written', () => {
  const block = bigBlock(1);
  const short: BlockAppended = { ...block, hash: Buffer.alloc(31) };
  const high: BlockAppended = { ...block, height: 2 ** 53 };
  expect(() => codec.encode(short)).toThrow(/invalid/);
  expect(() => codec.encode(high)).toThrow(/invalid/);
  expect(() => codec.encode({ type: 'Unheard' })).toThrow('no topic of this codec carries Unheard');
});

test("any consumer decodes the bytes with the registry's schema of their id", async () => {
  for (const event of [
    bigBlock(20),
    ...chainEvents({ seed: 9, blocks: 30, reorg_probability: 0.5 }),
  ]) {
    const value = codec.encode(event);
    expect(value[0]).toBe(0);
    const { schema } = await ask(`/schemas/ids/${value.readUInt32BE(1)}`);
    const type = avro.Type.forSchema(JSON.parse(schema));
    const { type: name, ...fields } = event;
    expect(type.name).toBe(`clt.chain.${name}`);
    const plain = type.fromBuffer(value.subarray(5));
    if (event.type === 'BlockAppended') {
      expect(plain).toMatchObject({
        height: event.height,
        hash: event.hash,
        timestamp: event.timestamp,
        parent_hash: event.parent_hash,
      });
      expect(plain.transactions).toHaveLength(event.transactions.length);
      expect(decodeDecimal(plain.block_reward)).toBe(event.block_reward);
    } else expect(plain).toEqual(fields);
  }
});

test('values that are no event of the topic are undecodable, with the reason', async () => {
  const value = codec.encode(bigBlock(2));
  const unknown = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3]);
  const damaged: readonly (readonly [Buffer | null, RegExp])[] = [
    [null, /the record has no value/],
    [Buffer.alloc(0), /does not begin as Avro with a schema id:  \(0 bytes\)/],
    [Buffer.from([0, 0, 0, 1]), /does not begin as Avro/],
    [
      Buffer.from('{"json": true}'),
      /does not begin as Avro with a schema id: 7b226a736f6e223a \(14 bytes\)/,
    ],
    [value.subarray(0, value.length - 1), /do not fit schema \d+ \(BlockAppended\)/],
    [value.subarray(0, 5), /do not fit schema/],
    [Buffer.concat([value, Buffer.from([0])]), /do not fit schema/],
    [unknown, /no schema 2147483647 at the registry/],
  ];
  await codec.learn(damaged.map(([bytes]) => bytes));
  for (const [bytes, why] of damaged) {
    expect(() => codec.decode(bytes)).toThrow(
      expect.objectContaining({
        code: 'undecodable',
        retry: false,
        message: expect.stringMatching(why) as unknown,
      }),
    );
  }
});

test('a registry that is away at the start is a fault with retry, and a retry works once it is back', async () => {
  const proxy = await registryProxy();
  for (const mode of ['reset_before', 'reset_after', 'truncate'] as const) {
    proxy.mode = mode;
    await expect(openCodec(proxy.url(registryUrl), [CHAIN_BLOCKS])).rejects.toMatchObject({
      code: 'schema_registry',
      retry: true,
      message: expect.stringContaining(
        'start the schema registry or correct APP_REGISTRY_URL',
      ) as unknown,
    });
  }
  proxy.mode = 'pass';
  const opened = await openCodec(proxy.url(registryUrl), [CHAIN_BLOCKS]);
  expect(opened.encode(bigBlock(1))).toEqual(codec.encode(bigBlock(1)));
});

test('services that start together register the same new schema together', async () => {
  const topic = await topicWith([ID], ownTopic(), NAMESPACE);
  const codecs = await Promise.all(
    Array.from({ length: 8 }, () => openCodec(registryUrl, [topic])),
  );
  const values = codecs.map((each) => each.encode(noted({ id: 1 })).toString('hex'));
  expect(new Set(values).size).toBe(1);
  const [event] = topic.events;
  expect(
    (await ask(`/config/${event === undefined ? '' : subjectOf(topic, event, NAMESPACE)}`))
      .compatibilityLevel,
  ).toBe('FULL_TRANSITIVE');
});

test('a service that was killed before it set the compatibility sets it when it starts again', async () => {
  const topic = await topicWith([ID], ownTopic(), NAMESPACE);
  for (const event of topic.events) {
    const subject = subjectOf(topic, event, NAMESPACE);
    const schema = await readFile(event.avsc, 'utf8');
    const { id } = await ask(`/subjects/${subject}/versions`, 'POST', { schema });
    const value = (await openCodec(registryUrl, [topic])).encode(noted({ id: 1 }));
    expect(value.readUInt32BE(1)).toBe(id);
    expect((await ask(`/config/${subject}`)).compatibilityLevel).toBe('FULL_TRANSITIVE');
  }
});

test('without the registry known schemas still decode; unknown ones are waited for, never guessed', async () => {
  const older = await topicWith([ID], ownTopic(), NAMESPACE);
  const newer = await topicWith(
    [ID, { name: 'more', type: 'string', default: 'none' }],
    older,
    NAMESPACE,
  );
  const proxy = await registryProxy();
  const reader = await openCodec(proxy.url(registryUrl), [older]);
  const value = (await openCodec(registryUrl, [newer])).encode(noted({ id: 5, more: 'x' }));
  const known = reader.encode(noted({ id: 4 }));
  proxy.mode = 'reset_before';
  await reader.learn([known]);
  expect(reader.decode(known)).toEqual({ type: 'Noted', id: 4 });
  await expect(reader.learn([known, value])).rejects.toMatchObject({
    code: 'schema_registry',
    retry: true,
  });
  expect(() => reader.decode(value)).toThrow(expect.objectContaining({ code: 'undecodable' }));
  proxy.mode = 'pass';
  await reader.learn([known, value]);
  expect(reader.decode(value)).toEqual({ type: 'Noted', id: 5 });
});

test('older and newer versions of an event read each other, and the registry enforces it for later ones', async () => {
  const older = await topicWith([ID], ownTopic(), NAMESPACE);
  const newer = await topicWith(
    [ID, { name: 'more', type: ['null', 'string'], default: null }],
    older,
    NAMESPACE,
  );
  const [first, second] = [
    await openCodec(registryUrl, [older]),
    await openCodec(registryUrl, [newer]),
  ];
  const [one, two] = [first.encode(noted({ id: 1 })), second.encode(noted({ id: 2, more: 'x' }))];
  for (const reader of [first, second]) await reader.learn([one, two]);
  expect(second.decode(one)).toEqual({ type: 'Noted', id: 1, more: null });
  expect(first.decode(two)).toEqual({ type: 'Noted', id: 2 });

  const [event] = newer.events;
  const subject = event === undefined ? '' : subjectOf(newer, event, NAMESPACE);
  expect((await ask(`/config/${subject}`)).compatibilityLevel).toBe('FULL_TRANSITIVE');
  for (const fields of [
    [ID, { name: 'must', type: 'string' }],
    [{ name: 'id', type: 'string' }],
    [],
  ]) {
    await expect(
      openCodec(registryUrl, [await topicWith(fields, older, NAMESPACE)]),
    ).rejects.toMatchObject({
      code: 'schema_registry',
      retry: false,
      message: expect.stringContaining(
        'change the schema so that it and every earlier version read each other',
      ) as unknown,
    });
  }
  // the refused registration left no schema behind
  await openCodec(registryUrl, [newer]);
  await ask(`/config/${subject}`, 'PUT', { compatibility: 'BACKWARD' });
  await expect(openCodec(registryUrl, [newer])).rejects.toMatchObject({
    retry: false,
    message: expect.stringContaining(
      `set the subject's compatibility to FULL_TRANSITIVE at the registry`,
    ) as unknown,
  });
});

/** A value under a schema that somebody else registered. */
async function register(schema: object): Promise<Buffer> {
  const { id } = await ask(`/subjects/${ownTopic().name}/versions`, 'POST', {
    schema: JSON.stringify(schema),
  });
  const value = Buffer.alloc(13);
  value.writeUInt32BE(id, 1);
  return value;
}

test('schemas of other subjects and of unknown events are undecodable', async () => {
  const topic = await topicWith([ID], ownTopic(), NAMESPACE);
  const reader = await openCodec(registryUrl, [topic]);
  const foreign = await register({
    type: 'record',
    name: 'Foreign',
    namespace: NAMESPACE,
    fields: [ID],
  });
  const unreadable = await register({
    type: 'record',
    name: 'Noted',
    namespace: NAMESPACE,
    fields: [{ name: 'id', type: 'boolean' }],
  });
  const nameless = await register({ type: 'array', items: 'long' });
  await reader.learn([foreign, unreadable, nameless]);
  expect(() => reader.decode(foreign)).toThrow(
    /is test.noted.Foreign, an event that this version of the software does not know/,
  );
  expect(() => reader.decode(unreadable)).toThrow(
    /\(test.noted.Noted\) cannot be read as this version of the software knows the event/,
  );
  expect(() => reader.decode(nameless)).toThrow(expect.objectContaining({ code: 'undecodable' }));
});
