/** The bytes of a record decide whether it is poison, and no answer of a registry. */
import {
  assert,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  tuple,
  uint8Array,
} from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CHAIN_BLOCKS, TREASURY_LEDGER } from '../../../../schemas/topics.ts';
import { readSchemas, schemaIdOf } from '../../../../services/runtime/kafka/avro-schemas.ts';
import { EventDecoder, type Decoder } from '../../../../services/runtime/kafka/codec.ts';
import { SchemaRegistry } from '../../../../services/runtime/kafka/schema-registry.ts';
import { chainEvents } from '../../../support/chain.ts';
import { openCodec } from '../../../support/codec.ts';
import { ScriptedRegistry } from '../../../support/scripted-registry.ts';

/** Answers that stay the same, to a question for a schema. */
const LASTING: readonly (readonly [status: number, body: unknown])[] = [
  [404, { error_code: 40403, message: 'Schema not found' }],
  [404, { error_code: 0, message: 'RESTEASY003870: Unable to extract parameter' }],
  [404, '<html>not found</html>'],
  [400, { error_code: 400 }],
  [405, ''],
  [410, {}],
  [422, { error_code: 42201 }],
  [200, {}],
  [200, '<html>'],
  [200, { schema: 7 }],
  [200, { schema: 'no JSON' }],
  [200, { schema: '{"type":"nothing"}' }],
  [200, { schema: '"string"' }],
  [200, { schema: 'syntax = "proto3"; message M {}', schemaType: 'PROTOBUF' }],
  [200, { schema: '{"type":"record","name":"clt.chain.BlockAppended","fields":[]}' }],
  [200, { schema: '{"type":"record","name":"clt.chain.BlockTurned","fields":[]}' }],
];
const PASSING = [401, 403, 408, 425, 429, 500, 502, 503, 504, 301];
const FIRST_ODD = 1_000;

let registry: ScriptedRegistry;
let events: readonly Buffer[];

beforeAll(async () => {
  registry = await ScriptedRegistry.open();
  const chain = await openCodec(registry.url, [CHAIN_BLOCKS]);
  events = [...chainEvents({ seed: 3, blocks: 4, reorg_probability: 0.5 })].map((event) =>
    chain.encode(event),
  );
  for (const [at, answer] of LASTING.entries()) registry.odd.set(FIRST_ODD + at, answer);
});
afterAll(() => registry.close());

async function openReader(): Promise<Decoder> {
  const schemas = await readSchemas([CHAIN_BLOCKS]);
  const own = new SchemaRegistry({ registry_url: registry.url });
  return new EventDecoder(own, schemas, () => Promise.resolve([]));
}

async function verdictOf(reader: Decoder, value: Buffer | null): Promise<'event' | 'poison'> {
  await reader.learn([value]);
  try {
    expect(reader.decode(value)).toHaveProperty('type');
    return 'event';
  } catch (error) {
    expect(error).toMatchObject({ code: 'undecodable', retry: false });
    return 'poison';
  }
}

function withId(id: number, body: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(id, 1);
  return Buffer.concat([head, body]);
}

test.each([
  '00deadbeef',
  '00ffffffff00',
  '0080000000',
  '000000000000',
  '000000270f00',
  '00',
  '00000001',
  '',
  '01000000010000',
  '7b7d',
])('the bytes %s are poison', async (hex) => {
  expect(await verdictOf(await openReader(), Buffer.from(hex, 'hex'))).toBe('poison');
});

test('a record without a value is poison, and so is an event that ends early, goes on, or is of another topic', async () => {
  const reader = await openReader();
  const ledger = await openCodec(registry.url, [TREASURY_LEDGER]);
  const ofLedger = ledger.encode({
    type: 'DepositApproved',
    sequence: 7,
    deposit_id: 'd1',
    actor: 'ann',
    reason: 'checked',
    decided_at: 1,
  } as { type: string });
  const [event = Buffer.alloc(0)] = events;
  for (const value of [
    null,
    event.subarray(0, -1),
    Buffer.concat([event, Buffer.of(0)]),
    Buffer.concat([event, event]),
    ofLedger,
  ])
    expect(await verdictOf(reader, value)).toBe('poison');
  expect(await verdictOf(reader, event)).toBe('event');
});

test('an id that no registry can have is none, and no server is asked for it', async () => {
  const reader = await openReader();
  registry.asked.length = 0;
  for (const id of [0, 2 ** 31, 2 ** 31 + 1, 2 ** 32 - 1]) {
    expect(schemaIdOf(withId(id, Buffer.of(0)))).toBeUndefined();
    await reader.learn([withId(id, Buffer.of(0))]);
  }
  expect(schemaIdOf(withId(2 ** 31 - 1, Buffer.of(0)))).toBe(2 ** 31 - 1);
  expect(registry.asked).toEqual([]);
});

test.each(LASTING.map(([status, body], at) => [status, body, FIRST_ODD + at] as const))(
  'the answer %i %j to its id makes a record poison',
  async (_status, _body, id) => {
    expect(await verdictOf(await openReader(), withId(id, Buffer.of(0)))).toBe('poison');
  },
);

test.each(PASSING)('the answer %i is asked for again', async (status) => {
  registry.odd.set(1, [status, { error_code: status }]);
  try {
    await expect((await openReader()).learn([withId(1, Buffer.of(0))])).rejects.toMatchObject({
      code: 'schema_registry',
      retry: true,
    });
  } finally {
    registry.odd.delete(1);
  }
});

test('any bytes are an event or poison, whatever is asked of the registry', async () => {
  const reader = await openReader();
  const id = oneof(
    integer({ min: 0, max: 2 ** 32 - 1 }),
    integer({ min: 1, max: 4 }),
    integer({ min: FIRST_ODD, max: FIRST_ODD + LASTING.length - 1 }),
    constantFrom(0, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1),
  );
  const body = uint8Array({ maxLength: 300 });
  const changed = tuple(constantFrom(...events), nat(), integer({ min: 0, max: 255 })).map(
    ([event, at, byte]) => {
      const copy = Buffer.from(event);
      copy[at % copy.length] = byte;
      return copy;
    },
  );
  const value = oneof(
    body.map((bytes) => Buffer.from(bytes)),
    tuple(id, body).map(([one, bytes]) => withId(one, bytes)),
    changed,
    constant(null),
  );
  await assert(
    asyncProperty(value, async (bytes) => {
      expect(['event', 'poison']).toContain(await verdictOf(reader, bytes));
    }),
    { numRuns: 1_000 },
  );
});

test('a reason holds no character that a table or a terminal does not take', async () => {
  const reader = await openReader();
  const [event = null] = events;
  await reader.learn([event]);
  const decode = (): unknown =>
    reader.decode(event, { event_type: `a\u0000\u001b[2J${'x'.repeat(9_999)}` });
  expect(decode).toThrow(
    expect.objectContaining({ message: expect.stringMatching(/^\P{Cc}{1,2000}$/u) as unknown }),
  );
});
