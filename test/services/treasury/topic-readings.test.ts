/** Several who fold the same topics: each gets every record once, and fails alone. */
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { BrokenChain } from '../../../schemas/hash-chain.ts';
import { isChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { CHAIN_BLOCKS, PROJECTOR_SKIPS } from '../../../schemas/topics.ts';
import type { Codec } from '../../../services/runtime/kafka/codec.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import { LogFollower } from '../../../services/treasury/log-follower.ts';
import { TopicReadings } from '../../../services/treasury/topic-readings.ts';
import { chainEvents } from '../../support/chain.ts';
import { openCodec } from '../../support/codec.ts';
import { insisting, silentLog } from '../../support/kafka.ts';
import { MemoryKafka } from '../../support/memory-kafka.ts';
import { ScriptedRegistry } from '../../support/scripted-registry.ts';

const { name: topic } = CHAIN_BLOCKS;
const EVENTS = [...chainEvents({ seed: 5, blocks: 8, reorg_probability: 0 })];

let registry: ScriptedRegistry;
let codec: Codec;

beforeAll(async () => {
  registry = await ScriptedRegistry.open();
  codec = await openCodec(registry.url, [CHAIN_BLOCKS, PROJECTOR_SKIPS]);
});
afterAll(() => registry.close());

class World {
  /** so many records are decoded, by anybody */
  decoded = 0;
  readonly kafka = new MemoryKafka([CHAIN_BLOCKS, PROJECTOR_SKIPS]);
  readonly #stop = new AbortController();
  readonly #readings: TopicReadings;

  constructor() {
    const decode: Codec['decode'] = (...record) => {
      this.decoded++;
      return codec.decode(...record);
    };
    this.#readings = new TopicReadings({
      kafka: this.kafka,
      codec: { learn: (values) => codec.learn(values), decode },
      log: silentLog(),
      signal: this.#stop.signal,
      retrying: insisting,
    });
    onTestFinished(() => this.#stop.abort());
  }

  append(count: number): void {
    const from = this.kafka.records(topic, 0).length;
    for (const event of EVENTS.slice(from, from + count)) {
      const value = codec.encode(event);
      this.kafka.append(topic, 0, [{ key: 'k', value, headers: {}, timestamp: 1 }]);
    }
  }

  /** Folds the offsets; `refuse` may throw at one. */
  follow(refuse: (offset: bigint) => void = () => undefined): {
    readonly seen: readonly bigint[];
    readonly failures: readonly unknown[];
    readonly follower: LogFollower;
  } {
    const seen: bigint[] = [];
    const failures: unknown[] = [];
    const follower = new LogFollower({
      kafka: this.kafka,
      log: silentLog(),
      signal: this.#stop.signal,
      retrying: insisting,
      readings: this.#readings,
      onLag: () => undefined,
      onFailure: (error) => failures.push(error),
    });
    let end = 0n;
    follower.follow({
      topic,
      isEvent: isChainEvent,
      ends: () => [end],
      fold({ events }) {
        for (const { offset } of events) {
          if (offset < end) continue;
          refuse(offset);
          seen.push(offset);
          end = offset + 1n;
        }
      },
    });
    return { seen, failures, follower };
  }
}

const upTo = (count: number): bigint[] => Array.from({ length: count }, (_, at) => BigInt(at));

test('a record is read once for all, and by a fold that comes later from the beginning', async () => {
  const world = new World();
  world.append(4);
  const [one, other] = [world.follow(), world.follow()];
  await expect.poll(() => [one.seen, other.seen]).toEqual([upTo(4), upTo(4)]);
  const late = world.follow();
  await expect.poll(() => late.seen).toEqual(upTo(4));
  world.decoded = 0;
  world.append(3);
  await expect.poll(() => late.seen).toEqual(upTo(7));
  expect([one.seen, other.seen]).toEqual([upTo(7), upTo(7)]);
  expect(world.decoded).toBe(3);
});

test('a fold that fails is left out, and the others go on', async () => {
  const world = new World();
  world.append(2);
  const fault = new Fault('impossible', 'the record cannot be', { retry: false });
  const failing = world.follow((offset) => {
    if (offset === 3n) throw fault;
  });
  const other = world.follow();
  await expect.poll(() => [failing.seen, other.seen]).toEqual([upTo(2), upTo(2)]);
  world.append(4);
  await expect.poll(() => other.seen).toEqual(upTo(6));
  expect(failing.seen).toEqual(upTo(3));
  expect(failing.failures).toEqual([fault]);
  expect(other.failures).toEqual([]);
  await failing.follower.ended();
  expect(other.follower.signal.aborted).toBe(false);
});

test('a fold stays at a record that it cannot apply, and is no failure', async () => {
  const world = new World();
  world.append(6);
  const breaking = world.follow((offset) => {
    if (offset === 3n) throw new BrokenChain(offset, 'it does not follow');
  });
  const other = world.follow();
  await expect.poll(() => breaking.seen).toEqual(upTo(3));
  world.append(2);
  expect([breaking.failures, other.failures]).toEqual([[], []]);
  expect(breaking.seen).toEqual(upTo(3));
});

test('a topic is read anew after its only fold has failed', async () => {
  const world = new World();
  world.append(2);
  const failing = world.follow(() => {
    throw new Error('a bug');
  });
  await expect.poll(() => failing.failures.length).toBe(1);
  await failing.follower.ended();
  const next = world.follow();
  await expect.poll(() => next.seen).toEqual(upTo(2));
});

test('nobody reads on once the last fold has left', async () => {
  const world = new World();
  world.append(2);
  const only = world.follow();
  await expect.poll(() => only.seen).toEqual(upTo(2));
  await only.follower.stop();
  world.decoded = 0;
  world.append(2);
  const next = world.follow();
  await expect.poll(() => next.seen).toEqual(upTo(4));
  expect(only.seen).toEqual(upTo(2));
});
