/** One sequence of moves: made from a seed, played in a world of its own, and made smaller. */
import { Random } from '../../support/random.ts';
import { EndlessWork } from '../../support/virtual-time.ts';
import type { Capability } from './forgery.ts';
import { deckOf, KINDS, type Named } from './moves.ts';
import { naming } from './naming.ts';
import { Oracle, type Violation } from './oracle.ts';
import { LATE_MS, RUN_EVERY_MS } from './processes.ts';
import { World } from './world.ts';

const USD = 1_000_000n;
/** Rounds without a change after which the world is at rest, and the most that are waited for. */
const RESTS = 3;
const ROUNDS_MAX = 40;

export interface Move {
  readonly name: Named;
  readonly seed: number;
  /** the next move follows before anybody has reacted */
  readonly isHasty: boolean;
}

export interface Plan {
  readonly seed: number;
  readonly capability: Capability;
  /** nobody forges anything */
  readonly isHonest: boolean;
  readonly two_above: bigint;
  /** the thief may write before the first treasury starts */
  readonly isEarly: boolean;
  readonly moves: readonly Move[];
}

export interface Played {
  readonly violations: readonly Violation[];
  /** what happened, a line each */
  readonly words: readonly string[];
  /** records that the thief wrote, and those of the ledger that counted */
  readonly forged: number;
  readonly counted: number;
  /** Mints of the chain */
  readonly mints: number;
}

export function planOf(seed: number): Plan {
  const random = new Random(seed);
  const isHonest = random.chance(0.08);
  const capability: Capability = random.chance(0.5) ? 'operator' : 'nobody';
  const two_above = random.chance(0.35) ? 100n * USD : 0n;
  const isEarly = random.chance(0.08);
  const deck = deckOf(!isHonest);
  const moves = Array.from({ length: 12 + random.below(18) }, () => ({
    name: random.pick(deck),
    seed: random.uint32(),
    isHasty: random.chance(0.2),
  }));
  return { seed, capability, isHonest, two_above, isEarly, moves };
}

export async function play(plan: Plan): Promise<Played> {
  const words: string[] = [];
  const world = new World(plan.two_above);
  const say = (line: string): void => void words.push(line);
  const { capability, isEarly, moves } = plan;
  const violations: Violation[] = [];
  const note = (found: readonly Violation[]): void => void violations.push(...found);
  try {
    await world.open();
    if (!isEarly) world.start();
    await world.time.settle();
    world.ask();
    world.ask();
    for (const { name, seed, isHasty } of moves) {
      await KINDS[name].act({ world, capability, say }, new Random(seed));
      if (!isHasty) await world.time.settle();
      if (name === 'pass') note(gateOf(world));
    }
    await rest(world, note);
    const alarm = await alarmOf(world);
    say(`at rest: ${alarm === undefined ? 'no alarm' : `alarm: ${alarm}`}`);
    world.logs.read();
    note(new Oracle(world).judge(alarm));
    note(await naming(world));
    await world.stop();
    note(world.bugs.map(bugOf));
  } catch (error) {
    if (!(error instanceof EndlessWork)) throw error;
    note([
      {
        invariant: 'I-e',
        kind: 'a record makes the treasury work without end',
        what: error.message,
      },
    ]);
  } finally {
    await world.close();
  }
  const { of_ledger, of_addresses, of_transfers, of_runs } = world.logs;
  const records = [...of_ledger, ...of_addresses, ...of_transfers, ...of_runs];
  return {
    violations: distinct(violations),
    words,
    forged: records.filter(({ forged }) => forged !== undefined).length,
    counted: of_ledger.filter(({ forged, counts }) => forged !== undefined && counts).length,
    mints: world.node.mints.length,
  };
}

/** The same plan with fewer moves, as long as this kind of violation stays. */
export async function shrunk(plan: Plan, kind: string): Promise<Plan> {
  let { moves } = plan;
  const sizes = [8, 4, 2, 1, 1];
  for (const size of sizes)
    for (let at = 0; at < moves.length;) {
      const fewer = moves.toSpliced(at, size);
      const { violations } = await play({ ...plan, moves: fewer });
      if (violations.some((each) => each.kind === kind)) moves = fewer;
      else at += size;
    }
  return { ...plan, moves };
}

export function wordsOf({ seed, capability, isHonest, two_above, isEarly }: Plan): string {
  const keys = capability === 'operator' ? 'the key of one operator' : 'no key';
  const who = isHonest ? 'nobody forges anything' : `a thief with ${keys}`;
  const two = two_above > 0n ? `two operators above ${two_above}` : 'one operator decides';
  return `seed ${seed}: ${who}, ${two}${isEarly ? ', before the treasury starts' : ''}`;
}

/** Everything is observed, final and reconciled, as far as it comes to that. */
async function rest(world: World, note: (found: readonly Violation[]) => void): Promise<void> {
  let before = '';
  let rests = 0;
  for (let rounds = 0; rounds < ROUNDS_MAX && rests < 2 * RESTS; rounds++) {
    world.start();
    await world.watch();
    world.mine(2);
    // half way, what is late becomes late
    await world.time.pass(rests === RESTS ? 2 * LATE_MS : RUN_EVERY_MS + 15_000, 5);
    note(gateOf(world));
    const now = stateOf(world);
    rests = now === before ? rests + 1 : 0;
    before = now;
  }
}

function bugOf(error: unknown): Violation {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { invariant: 'I-e', kind: 'a record ends the treasury with a bug', what };
}

function stateOf({ logs, node }: World): string {
  logs.read();
  return `${logs.ledger.end} ${node.mints.length}`;
}

function gateOf(world: World): readonly Violation[] {
  world.logs.read();
  return new Oracle(world).gate();
}

async function alarmOf({ treasury }: World): Promise<string | undefined> {
  if (treasury === undefined) return 'there is no treasury';
  if (treasury.bug !== undefined) return 'the treasury has ended';
  const { problem, forbidden } = treasury;
  if (problem !== undefined || forbidden !== undefined) return problem ?? forbidden;
  return (await treasury.isClosed()) ? 'minting is closed' : undefined;
}

function distinct(violations: readonly Violation[]): readonly Violation[] {
  const first = new Map<string, Violation>();
  for (const each of violations) first.set(each.kind, each);
  return [...first.values()];
}
