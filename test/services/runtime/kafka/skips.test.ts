/** Records that cannot be applied, and the decisions of persons to skip them. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { BrokenChain } from '../../../../schemas/hash-chain.ts';
import type { RecordSkipped } from '../../../../schemas/projector.skips/events.ts';
import { CHAIN_BLOCKS, PROJECTOR_SKIPS } from '../../../../schemas/topics.ts';
import type { Codec } from '../../../../services/runtime/kafka/codec.ts';
import { readLogEvents } from '../../../../services/runtime/kafka/log-events.ts';
import { fingerprint } from '../../../../services/runtime/kafka/record.ts';
import { Skips } from '../../../../services/runtime/kafka/skips.ts';
import type { RecordAt } from '../../../../services/runtime/kafka/position.ts';
import { chainEvents } from '../../../support/chain.ts';
import { openCodec } from '../../../support/codec.ts';
import { MemoryKafka } from '../../../support/memory-kafka.ts';
import { ScriptedRegistry } from '../../../support/scripted-registry.ts';

const { name: topic } = CHAIN_BLOCKS;
const EVENTS = [...chainEvents({ seed: 5, blocks: 6, reorg_probability: 0 })];

let registry: ScriptedRegistry;
let codec: Codec;
let kafka: MemoryKafka;

beforeAll(async () => {
  registry = await ScriptedRegistry.open();
  codec = await openCodec(registry.url, [CHAIN_BLOCKS, PROJECTOR_SKIPS]);
});
afterAll(() => registry.close());
beforeEach(() => {
  kafka = new MemoryKafka([CHAIN_BLOCKS, PROJECTOR_SKIPS]);
});

function append(to: string, value: Buffer): bigint {
  return kafka.append(to, 0, [{ key: 'k', value, headers: {}, timestamp: 1 }]);
}

function recordAt(offset: bigint): RecordAt {
  const record = kafka.records(topic, 0)[Number(offset)];
  if (record === undefined) throw new Error(`there is no record ${offset}`);
  return { topic, partition: 0, offset, fingerprint: fingerprint(record) };
}

function skip(at: RecordAt, change: Partial<RecordSkipped> = {}): void {
  const event: RecordSkipped = {
    type: 'RecordSkipped',
    projection: '',
    topic: at.topic,
    partition: at.partition,
    record_offset: Number(at.offset),
    fingerprint: at.fingerprint,
    error: '',
    actor: 'anna',
    reason: 'of a stranger',
    decided_at: 1,
    ...change,
  };
  append(PROJECTOR_SKIPS.name, codec.encode(event));
}

/** The offsets that are taken; `refused` is one that the fold refuses. */
async function taken(refused?: bigint): Promise<readonly bigint[]> {
  const offsets: bigint[] = [];
  const range = { topic, partition: 0, from: 0n, to: BigInt(kafka.records(topic, 0).length) };
  await readLogEvents({ kafka, codec }, range, (_, { offset }) => {
    if (offset === refused) throw new BrokenChain(offset, 'does not follow');
    offsets.push(offset);
  });
  return offsets;
}

test('a record that cannot be read halts its reader in words that name it and the command, until a person skips it', async () => {
  const [first, second] = EVENTS.map((event) => codec.encode(event));
  append(topic, first ?? Buffer.alloc(0));
  for (const hex of ['00deadbeef', '', '000000270f00']) append(topic, Buffer.from(hex, 'hex'));
  append(topic, second ?? Buffer.alloc(0));
  for (const offset of [1n, 2n, 3n]) {
    await expect(taken()).rejects.toMatchObject({
      code: 'unreadable_record',
      retry: true,
      message: expect.stringMatching(
        `ops quarantine skip ${topic}/0@${offset} --actor NAME --reason TEXT`,
      ) as unknown,
    });
    skip(recordAt(offset));
  }
  expect(await taken()).toEqual([0n, 4n]);
});

test('a record that does not follow from those before it is skipped by the same decision', async () => {
  for (const event of EVENTS.slice(0, 3)) append(topic, codec.encode(event));
  await expect(taken(1n)).rejects.toMatchObject({ code: 'unreadable_record' });
  skip(recordAt(1n), { projection: 'explorer' });
  expect(await taken(1n)).toEqual([0n, 2n]);
});

test('a decision takes no record away that can be applied, and is for one content', async () => {
  for (const event of EVENTS.slice(0, 3)) append(topic, codec.encode(event));
  const at = append(topic, Buffer.from('garbage'));
  for (const offset of [0n, 1n, 2n]) skip(recordAt(offset));
  skip({ ...recordAt(at), fingerprint: Buffer.alloc(32, 1) });
  skip({ ...recordAt(at), partition: 1 });
  skip({ ...recordAt(at), topic: 'treasury.ledger' });
  await expect(taken()).rejects.toMatchObject({ code: 'unreadable_record' });
  skip(recordAt(at));
  expect(await taken()).toEqual([0n, 1n, 2n]);
});

test('a record of projector.skips that is no decision stops nobody', async () => {
  const at = append(topic, Buffer.from('garbage'));
  for (const hex of ['00deadbeef', '', '000000270f00', '7b7d'])
    append(PROJECTOR_SKIPS.name, Buffer.from(hex, 'hex'));
  append(PROJECTOR_SKIPS.name, codec.encode(EVENTS[0] ?? { type: '' }));
  skip(recordAt(at), { record_offset: -1 });
  const skips = new Skips({ kafka, codec });
  await skips.refresh();
  skip(recordAt(at));
  expect(skips.has(recordAt(at))).toBe(false);
  await skips.refresh();
  expect(skips.has(recordAt(at))).toBe(true);
  expect(skips.decided).toEqual([expect.objectContaining({ topic, partition: 0, offset: at })]);
});

test('decisions are read from the beginning again where their topic was restored with fewer', async () => {
  append(topic, Buffer.from('garbage'));
  const [first, second] = [recordAt(0n), { ...recordAt(0n), partition: 1 }];
  for (let time = 0; time < 3; time++) skip(first);
  const skips = new Skips({
    get kafka() {
      return kafka;
    },
    codec,
  });
  await skips.refresh();
  kafka = new MemoryKafka([CHAIN_BLOCKS, PROJECTOR_SKIPS]);
  skip(second);
  await skips.refresh();
  expect(skips.has(second)).toBe(true);
});
