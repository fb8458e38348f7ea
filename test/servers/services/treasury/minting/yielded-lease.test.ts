/** Two treasuries under one lease, of which the first cannot work and the second can. */
import { randomUUID } from 'node:crypto';
import { inject, onTestFinished, test } from 'vitest';
import { Lease } from '../../../../../services/runtime/kafka/lease.ts';
import { Metrics } from '../../../../../services/runtime/process/metrics.ts';
import { MintSigner } from '../../../../../services/treasury/minting/mint-signer.ts';
import { never, silentLog } from '../../../../support/kafka.ts';
import { addressOf, alice, mallory } from '../../../../support/operators.ts';
import {
  credited,
  ownMintWorld,
  type MintWorld,
} from '../../../../services/treasury/mint-world.ts';
import { transferTo } from '../../../../services/treasury/world.ts';

const GOVERNED = { operators: [addressOf(alice)] };

/** Makes the leases of treasuries on this world, each of which has joined. */
function leasesOf({ world }: MintWorld): () => Promise<Lease> {
  const group_id = `test-${randomUUID()}`;
  return async () => {
    const lease = new Lease({
      kafka: world.kafka,
      group_id,
      topic: world.topics.ledger.name,
      session_ms: 2_000,
      log: silentLog(),
      metrics: new Metrics('test'),
      signal: never,
    });
    onTestFinished(() => lease.close());
    await lease.start();
    return lease;
  };
}

test.each([
  ['asks a node of another chain', { chain_id: 7778 }, {}],
  ['has another key than the ledger', { signer: new MintSigner(mallory.privateKey, 7777) }, {}],
  ['has other operators than the ledger', {}, { operators: [addressOf(mallory)] }],
])('a treasury that %s leaves the lease to one that works', async (_, minting, options) => {
  const world = await ownMintWorld(inject('stack'));
  await world.world.openAddresses(1);
  const before = world.start({}, GOVERNED);
  await world.pinned();
  await before.stop();
  const join = leasesOf(world);
  const lease = await join();
  await lease.held();
  world.start(minting, { ...GOVERNED, ...options, lease });
  const right = world.start({}, { ...GOVERNED, lease: await join() });
  await world.world.observe(transferTo(0, 10_000_000n));
  await credited(world, right, 1);
  await right.ready();
  await world.expectMinted();
});
