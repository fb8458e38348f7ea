/** A treasury that goes on from a snapshot on real brokers, and one that throws it away. */
import { expect, inject, test } from 'vitest';
import { TREASURY_SNAPSHOTS } from '../../../../schemas/topics.ts';
import type { Fetcher, Kafka } from '../../../../services/runtime/kafka/port.ts';
import { Snapshots } from '../../../../services/runtime/snapshots/snapshots.ts';
import { freshTopic, rewriteTopic, silentLog } from '../../../support/kafka.ts';
import { credited, ownMintWorld, type MintWorld } from '../../../services/treasury/mint-world.ts';
import { transferTo, type Working } from '../../../services/treasury/world.ts';

const stack = inject('stack');
const USD = 1_000_000n;
const KEY = Buffer.alloc(32, 9);

/** Notes the first offset that is fetched of each topic. */
function watched(kafka: Kafka, first: Map<string, bigint>): Kafka {
  const fetcher = (): Fetcher => {
    const inner = kafka.fetcher();
    return {
      topicId: (topic) => inner.topicId(topic),
      disconnect: () => inner.disconnect(),
      fetch(position) {
        const { topic, offset } = position;
        const known = first.get(topic);
        if (known === undefined || offset < known) first.set(topic, offset);
        return inner.fetch(position);
      },
    };
  };
  return {
    replication_min: kafka.replication_min,
    prefix: kafka.prefix,
    admin: () => kafka.admin(),
    appender: () => kafka.appender(),
    share: (options) => kafka.share(options),
    fetcher,
  };
}

interface Started {
  readonly working: Working;
  readonly snapshots: Snapshots;
  readonly first: ReadonlyMap<string, bigint>;
}

async function start(world: MintWorld, topic: string, version = 'ours'): Promise<Started> {
  const first = new Map<string, bigint>();
  const kafka = watched(world.world.kafka, first);
  const snapshots = new Snapshots({
    kafka,
    topic: { ...TREASURY_SNAPSHOTS, name: topic },
    key: KEY,
    log: silentLog(),
    names: ['ledger', 'addresses', 'transfers', 'mints'],
    bytes_min: 1,
    version,
  });
  await snapshots.load();
  return { working: world.start({}, { kafka, snapshots }), snapshots, first };
}

/** Two deposits are credited, and a snapshot has both; the treasury is stopped. */
async function afterSnapshot(): Promise<{ readonly world: MintWorld; readonly topic: string }> {
  const world = await ownMintWorld(stack);
  const topic = await freshTopic(world.world.kafka);
  await world.world.openAddresses(2);
  const { working, snapshots } = await start(world, topic);
  await world.world.observe(transferTo(0, 10n * USD), transferTo(1, 10n * USD));
  await credited(world, working, 2);
  const before = snapshots.written_at;
  await world.mineUntil(() => snapshots.written_at !== before, 'a snapshot of both');
  await working.stop();
  return { world, topic };
}

test('a start goes on from a snapshot, and reads nothing before it', async () => {
  const { world, topic } = await afterSnapshot();
  await world.world.observe(transferTo(0, 20n * USD));
  const { working, snapshots, first } = await start(world, topic);
  expect(snapshots.unfit).toBe(undefined);
  // counted from the beginning of the ledger, which is not read
  await credited(world, working, 3);
  await working.ready();
  expect(await working.counted('treasury_deposits_confirmed_total')).toBe(3);
  expect(await working.counted('treasury_snapshot_age_seconds')).toBeGreaterThan(0);
  expect(first.get(world.chain_topic)).toBeGreaterThan(5n);
  expect(first.get(world.world.topics.ledger.name)).toBeGreaterThan(5n);
  expect(first.get(world.world.topics.addresses.name)).toBeGreaterThan(1n);
  await world.expectMinted();
});

test('one of other settings is thrown away, and nothing is minted twice', async () => {
  const { world, topic } = await afterSnapshot();
  const { working, snapshots, first } = await start(world, topic, 'others');
  expect(snapshots.unfit).toBe(
    'another version of the software wrote it, or one with other settings',
  );
  await working.ready();
  expect(await working.counted('treasury_mints_total', 'MintCredited')).toBe(2);
  expect(first.get(world.chain_topic)).toBe(0n);
  await world.world.observe(transferTo(0, 20n * USD));
  await credited(world, working, 3);
  await world.expectMinted();
});

test('one of a chain that was written anew is thrown away', async () => {
  const { world, topic } = await afterSnapshot();
  await rewriteTopic(world.world.kafka, world.chain_topic, (records) => records);
  const { working, snapshots, first } = await start(world, topic);
  expect(snapshots.unfit).toMatch(/was created again since$/);
  await working.ready();
  expect(first.get(world.chain_topic)).toBe(0n);
  expect(await working.counted('treasury_mints_total', 'MintCredited')).toBe(2);
});
