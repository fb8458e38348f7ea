/**
 * A provider of TRON's data that lies, or that a thief has taken over. What it gets at most, where
 * the watcher alone asks it, and where the treasury asks it too.
 */
import { expect, onTestFinished, test } from 'vitest';
import { Random } from '../../support/random.ts';
import { LIMITS, RUN_EVERY_MS } from './processes.ts';
import { SENDERS, SimulatedTron } from './tron.ts';
import { World, type Depositor } from './world.ts';

const USD = 1_000_000n;
const ROUNDS = 8;
const [SENDER = Buffer.alloc(20)] = SENDERS;

type Reach = 'the watcher' | 'both';

interface Scene {
  readonly world: World;
  readonly honest: Depositor;
  readonly thief: Depositor;
  /** TRON as the lying provider shows it */
  readonly lie: SimulatedTron;
}

/** True payments are in the lie as well, unless they are left out. */
async function sceneOf(reach: Reach): Promise<Scene> {
  const world = new World(0n);
  onTestFinished(() => world.close());
  await world.open();
  const lie = new SimulatedTron(
    () => world.time.now,
    () => world.time.sign(),
  );
  world.shown_to_watcher = lie;
  if (reach === 'both') world.shown_to_treasury = lie;
  const [honest, thief] = [world.ask(), world.ask()];
  if (honest === undefined || thief === undefined) throw new Error('the gateway refuses');
  return { world, honest, thief, lie };
}

function pay({ world, lie }: Scene, { address }: Depositor, value: bigint): void {
  // the same random bytes: it is one transaction
  world.tron.pay(SENDER, address, value, new Random(world.tron.paid.length));
  lie.pay(SENDER, address, value, new Random(world.tron.paid.length - 1));
}

/** Everything comes to an end, as far as it does. */
async function rest(world: World): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    world.start();
    await world.watch();
    world.mine(2);
    await world.time.pass(RUN_EVERY_MS + 15_000, 5);
  }
  world.logs.read();
}

function mintedTo({ world }: Scene, { account }: Depositor): bigint {
  return world.node.mints
    .filter(({ to }) => to.equals(account))
    .reduce((sum, { amount }) => sum + amount, 0n);
}

test.each<readonly [Reach, bigint]>([
  ['the watcher', 0n],
  ['both', 8n * USD],
])('a transfer that is invented with its receipt, by the provider of %s', async (reach, gain) => {
  const scene = await sceneOf(reach);
  const { world, honest, thief, lie } = scene;
  pay(scene, honest, 20n * USD);
  await rest(world);
  expect(mintedTo(scene, honest)).toBe(18n * USD);
  lie.pay(SENDER, thief.address, 10n * USD, new Random(1_000));
  await rest(world);
  expect(mintedTo(scene, thief)).toBe(gain);
  // an amount that a person has to approve gets nothing
  lie.pay(SENDER, thief.address, LIMITS.single_cap + 100n * USD, new Random(1_001));
  await rest(world);
  expect(mintedTo(scene, thief)).toBe(gain);
});

test.each<Reach>(['the watcher', 'both'])(
  'a row that is invented without a receipt, by the provider of %s, gets nothing',
  async (reach) => {
    const scene = await sceneOf(reach);
    const { world, honest, thief, lie } = scene;
    lie.pay(SENDER, thief.address, 10n * USD, new Random(1_000));
    lie.hidden_receipts = true;
    await rest(world);
    lie.hidden_receipts = false;
    lie.forget(thief.address);
    pay(scene, honest, 20n * USD);
    await rest(world);
    expect(mintedTo(scene, thief)).toBe(0n);
    expect(mintedTo(scene, honest)).toBe(18n * USD);
  },
);

test.each<readonly [Reach, number, number]>([
  ['the watcher', 20, 1],
  // the treasury reads the balances of those who have deposited before
  ['the watcher', 0, 0],
  ['both', 20, 0],
])(
  'a transfer that is left out with its balance, by the provider of %s, after %i USDT, is credited to nobody',
  async (reach, before, found) => {
    const scene = await sceneOf(reach);
    const { world, honest, thief: payee } = scene;
    pay(scene, honest, 20n * USD);
    if (before > 0) pay(scene, payee, BigInt(before) * USD);
    await rest(world);
    const minted = mintedTo(scene, payee);
    world.tron.pay(SENDER, payee.address, 30n * USD, new Random(1_000));
    await rest(world);
    expect(mintedTo(scene, honest)).toBe(18n * USD);
    expect(mintedTo(scene, payee)).toBe(minted);
    // the treasury tells the watcher of it
    expect(world.treasury?.found).toHaveLength(found);
  },
);
