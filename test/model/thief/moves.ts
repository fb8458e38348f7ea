/** The moves of a sequence: honest ones, robberies on TRON, and the thief's records. */
import { changePolicy } from '../../../projections/deposits/domain/governing.ts';
import { decideTogether, recordRefund } from '../../../projections/deposits/domain/approval.ts';
import type { Random } from '../../support/random.ts';
import { RUN_EVERY_MS } from './processes.ts';
import { Forger, type Capability } from './forgery.ts';
import { CUSTODY, OUTSIDE, SENDERS } from './tron.ts';
import type { Depositor, World } from './world.ts';

const USD = 1_000_000n;
const HOUR_MS = 3_600_000;

export interface Scene {
  readonly world: World;
  readonly capability: Capability;
  /** in words, for a person */
  readonly say: (words: string) => void;
}

type Act = (scene: Scene, random: Random) => Promise<void> | void;

interface Kind {
  /** how often, in parts of all */
  readonly weight: number;
  readonly by: 'honest' | 'thief';
  readonly act: Act;
}

export const KINDS = {
  ask: { weight: 3, by: 'honest', act: ask },
  deposit: { weight: 12, by: 'honest', act: deposit },
  watch: { weight: 3, by: 'honest', act: watch },
  mine: { weight: 10, by: 'honest', act: mine },
  reorganise: { weight: 3, by: 'honest', act: reorganise },
  restart: { weight: 2, by: 'honest', act: restart },
  stop: { weight: 3, by: 'honest', act: stop },
  start: { weight: 4, by: 'honest', act: start },
  pass: { weight: 8, by: 'honest', act: pass },
  wait: { weight: 1, by: 'honest', act: wait },
  sweep: { weight: 2, by: 'honest', act: sweep },
  decide: { weight: 4, by: 'honest', act: decide },
  policy: { weight: 1, by: 'honest', act: policy },
  refund: { weight: 1, by: 'honest', act: refund },
  rob: { weight: 6, by: 'thief', act: rob },
  repay: { weight: 2, by: 'honest', act: repay },
  ledger: { weight: 22, by: 'thief', act: ledger },
  run: { weight: 3, by: 'thief', act: run },
  transfer: { weight: 3, by: 'thief', act: transfer },
  address: { weight: 2, by: 'thief', act: address },
} as const satisfies Readonly<Record<string, Kind>>;

export type Named = keyof typeof KINDS;

/** Each name as often as it is weighed. */
export function deckOf(withThief: boolean): readonly Named[] {
  return namesOf().flatMap((name) => {
    const { weight, by } = KINDS[name];
    return by === 'thief' && !withThief && name !== 'rob'
      ? []
      : Array.from({ length: weight }, () => name);
  });
}

function namesOf(): readonly Named[] {
  return Object.keys(KINDS).filter((name): name is Named => name in KINDS);
}

function ask({ world, say }: Scene): void {
  const depositor = world.ask();
  say(
    depositor === undefined
      ? 'the gateway gives no address'
      : `account ${short(depositor.account)} gets address ${short(depositor.address)}`,
  );
}

const VALUES: readonly bigint[] = [
  1n,
  1_200_000n,
  2n * USD,
  2_500_000n,
  3n * USD,
  10n * USD,
  10n * USD,
  50n * USD,
  50n * USD,
  150n * USD,
  1_002n * USD,
  1_500n * USD,
  1_500n * USD,
];

async function deposit({ world, say }: Scene, random: Random): Promise<void> {
  const { depositors, tron } = world;
  if (depositors.length === 0) return say('nobody has an address');
  const { account, address: to } = random.pick(depositors);
  const value = random.pick(VALUES);
  tron.pay(random.pick(SENDERS), to, value, random);
  const isSeen = random.chance(0.85);
  if (isSeen) await world.watch();
  say(
    `account ${short(account)} deposits ${value}${isSeen ? '' : ', which the watcher has not seen yet'}`,
  );
}

async function watch({ world, say }: Scene): Promise<void> {
  await world.watch();
  say('the watcher looks at every address');
}

function mine({ world, say }: Scene, random: Random): void {
  const blocks = 1 + random.below(4);
  world.mine(blocks);
  say(`${blocks} blocks are made`);
}

function reorganise({ world, say }: Scene, random: Random): void {
  say(`${world.reorganise(1 + random.below(2), random)} blocks are replaced`);
}

async function restart({ world, say }: Scene): Promise<void> {
  await world.stop();
  world.start();
  say('the treasury is restarted');
}

async function stop({ world, say }: Scene): Promise<void> {
  await world.stop();
  say('the treasury is stopped');
}

function start({ world, say }: Scene): void {
  world.start();
  say('the treasury is started');
}

async function pass({ world, say }: Scene): Promise<void> {
  await world.time.pass(RUN_EVERY_MS + 15_000, 5);
  say('75 seconds pass, with a reserve run');
}

async function wait({ world, say }: Scene, random: Random): Promise<void> {
  const hours = random.pick([1, 2, 25]);
  await world.time.pass(hours * HOUR_MS);
  say(`${hours} hours pass`);
}

/** The addresses with money of ours. */
function funded(world: World): readonly Buffer[] {
  return [CUSTODY, ...world.depositors.map(({ address: each }: Depositor) => each)].filter(
    (each) => world.tron.balanceOf(each) > 0n,
  );
}

function sweep({ world, say }: Scene, random: Random): void {
  const from = funded(world).filter((each) => !each.equals(CUSTODY));
  if (from.length === 0) return say('there is nothing to sweep');
  const swept = random.pick(from);
  const value = world.tron.balanceOf(swept);
  world.tron.pay(swept, CUSTODY, value, random);
  say(`${value} are swept from ${short(swept)}`);
}

function rob({ world, say }: Scene, random: Random): void {
  const from = funded(world);
  if (from.length === 0) return say('there is nothing to rob');
  const robbed = random.pick(from);
  const all = world.tron.balanceOf(robbed);
  const value = random.chance(0.7) ? all : 1n + BigInt(random.below(Number(all)));
  const into = world.depositors;
  const own = into.length > 0 && random.chance(0.15) ? random.pick(into).address : OUTSIDE;
  const to = own.equals(robbed) ? OUTSIDE : own;
  world.rob(robbed, to, value, random);
  say(
    `${value} of ${all} are robbed from ${short(robbed)}${to === OUTSIDE ? '' : ` into ${short(to)}`}`,
  );
}

function repay({ world, say }: Scene, random: Random): void {
  const value = world.robbed;
  if (value <= 0n) return say('there is nothing to pay back');
  world.rob(OUTSIDE, CUSTODY, value, random);
  say(`${value} are paid back into custody`);
}

/** An operator decides about a deposit that waits for a person. */
function decide({ world, say }: Scene, random: Random): void {
  world.logs.read();
  const held = [...world.logs.ledger.deposits].filter(
    ([, each]) => each.status === 'needs_manual' && !each.rejected,
  );
  if (held.length === 0) return say('no deposit waits for a person');
  const deposit_ids = (random.chance(0.3) ? held : [random.pick(held)]).map(([id]) => id);
  const person = { deposit_ids, actor: 'alice', reason: 'looked at it', now: world.time.now };
  const isFor = random.chance(0.5);
  const both = [0, 1] as const;
  const done = both
    .slice(0, isFor && world.two_above > 0n ? 2 : 1)
    .map((by) =>
      world.decide(
        (all, operator) =>
          decideTogether(isFor ? 'approve' : 'reject', all, { ...person, operator }),
        by,
      ),
    );
  say(
    done.some((each) => each)
      ? `operators ${isFor ? 'approve' : 'reject'} ${deposit_ids.join(' and ')}`
      : `operators cannot ${isFor ? 'approve' : 'reject'} ${deposit_ids.join(' and ')}`,
  );
}

function policy({ world, say }: Scene, random: Random): void {
  const first_fee = BigInt(1 + random.below(4)) * USD;
  const person = { actor: 'alice', reason: 'costs', now: world.time.now };
  const both = [0, 1] as const;
  for (const by of both.slice(0, world.two_above > 0n ? 2 : 1))
    world.decide((all) => changePolicy(all, { first_fee }, person), by);
  say(`operators set the first fee to ${first_fee}`);
}

function refund({ world, say }: Scene, random: Random): void {
  world.logs.read();
  const { ledger: folded, confirmed } = world.logs;
  const rejected = [...folded.deposits].flatMap(([id, each]) =>
    each.status === 'needs_manual' && each.rejected && each.refunded === 0n ? [id] : [],
  );
  if (rejected.length === 0) return say('no deposit is to be paid back');
  const deposit_id = random.pick(rejected);
  const paid = world.tron.find(confirmed.get(deposit_id)?.event.tx_id ?? Buffer.alloc(0));
  if (paid === undefined || world.tron.balanceOf(CUSTODY) < paid.value)
    return say('custody cannot pay a deposit back');
  const { tx_id: tron_tx_id } = world.tron.pay(CUSTODY, paid.from, paid.value, random);
  const refunded = { deposit_id, tron_tx_id, amount: paid.value };
  const person = { actor: 'alice', reason: 'paid back', now: world.time.now };
  for (const by of world.two_above > 0n ? ([0, 1] as const) : ([0] as const))
    world.decide((all) => recordRefund(all, { ...person, ...refunded }), by);
  say(`deposit ${deposit_id} is paid back`);
}

/** Now, or when the treasury writes or sends next. */
function forge(scene: Scene, random: Random, make: (forger: Forger) => string): void {
  const { world, capability, say } = scene;
  const act = (prefix: string): void => {
    world.logs.read();
    if (world.logs.broken === undefined) say(`${prefix}${make(new Forger(world, capability))}`);
  };
  const moment = random.pick([
    'now',
    'now',
    'now',
    'now',
    'before_append',
    'after_append',
    'before_submit',
  ] as const);
  if (moment === 'now') return act('the thief ');
  say(`the thief lies in wait (${moment})`);
  world.ambush(moment, () => act(`  ${moment}: the thief `));
}

function ledger(scene: Scene, random: Random): void {
  forge(scene, random, (forger) => forger.ledger(random));
}

function run(scene: Scene, random: Random): void {
  forge(scene, random, (forger) => forger.run(random));
}

function transfer(scene: Scene, random: Random): void {
  forge(scene, random, (forger) => forger.transfer(random));
}

function address(scene: Scene, random: Random): void {
  forge(scene, random, (forger) => forger.address(random));
}

function short(bytes: Buffer): string {
  return bytes.toString('hex').slice(-8);
}
