/**
 * How soon TRON's watcher sees a deposit while its provider answers badly about other addresses.
 * The provider and its clock are simulated: a request takes 50 ms and ten are allowed in a second,
 * so that the times are those of the watcher's own decisions, whatever the machine.
 */
import { Random } from '../support/random.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { MINUTE_MS, SECOND_MS, Simulated } from '../services/tron-watcher/simulated.ts';
import { say, type Bench } from './bench.ts';
import { percentile, type BenchReport } from './report.ts';

/** Others about whom the provider answers badly. */
const BAD = [0, 1, 10, 100] as const;
const OTHERS = Math.max(...BAD);
const HONEST = 100;
const GOAL = 2;

type Options = Readonly<Record<'deposits' | 'rounds', number>>;

export const watching: Bench<keyof Options> = {
  about: 'from a final deposit to its record, while other addresses are answered badly',
  options: {
    deposits: { about: 'deposits of a round', default: 50 },
    rounds: { about: 'rounds, each with every number of bad addresses in turn', default: 3 },
  },
  run: benchWatching,
};

async function benchWatching({ deposits, rounds }: Options): Promise<BenchReport> {
  const p99 = new Map<number, number[]>(BAD.map((bad) => [bad, []]));
  for (let round = 1; round <= rounds; round++) {
    for (const bad of round % 2 === 0 ? BAD.toReversed() : BAD) {
      const took = await detections(bad, deposits, round);
      p99.get(bad)?.push(percentile(took, 0.99) / SECOND_MS);
    }
    say(`round ${round} of ${rounds}`);
  }
  const well = p99.get(0) ?? [];
  return {
    bench: 'watching',
    about: `${HONEST} addresses that are paid, and ${OTHERS} others with a transfer each, all hot; the others' lists and receipts are malformed; simulated time`,
    measured: BAD.map((bad) => ({
      what: `final deposit to its record, p99, ${bad} bad addresses`,
      unit: 's',
      rounds: p99.get(bad) ?? [],
    })),
    // of the rounds of one seed, the worst
    ratios: BAD.filter((bad) => bad > 0).map((bad) => ({
      what: `p99 with ${bad} bad addresses / without, the worst round`,
      ratio: Math.max(...(p99.get(bad) ?? []).map((each, at) => each / (well[at] ?? Number.NaN))),
      goal: `<= ${GOAL}`,
    })),
  };
}

/** Milliseconds from each deposit to its record. Half of the bad ones have bad lists. */
async function detections(bad: number, deposits: number, seed: number): Promise<readonly number[]> {
  const random = new Random(seed);
  const world = new Simulated();
  const honest = world.request(HONEST);
  const others = world.request(OTHERS);
  await world.run(2 * MINUTE_MS);
  const lists = new Set<string>();
  const receipts = new Set<string>();
  for (const [at, address] of others.entries()) {
    world.open(address);
    const id = world.pay(address);
    if (at >= bad) continue;
    if (at % 2 === 0) receipts.add(id);
    else lists.add(toTronAddress(address));
  }
  world.rule = ({ route, address, tx_id: id }) =>
    (route === 'list' && lists.has(address)) || receipts.has(id) ? 'malformed' : undefined;
  const took: number[] = [];
  for (let deposit = 0; deposit < deposits; deposit++) {
    await world.run(random.below(10) * SECOND_MS);
    // those who are answered badly look at their panels, too
    for (const address of others) if (random.chance(0.05)) world.open(address);
    const payee = random.pick(honest);
    world.open(payee);
    const begun = world.now;
    const paid = world.pay(payee);
    // at any time between two passes
    world.now += random.below(world.pass_every_ms);
    await world.run(60 * MINUTE_MS, [paid]);
    took.push((world.observed.get(paid) ?? Number.POSITIVE_INFINITY) - begun);
  }
  return took;
}
