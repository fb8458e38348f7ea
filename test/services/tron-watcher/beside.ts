/** How soon deposits are observed beside addresses about which the provider answers badly. */
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { Random } from '../../support/random.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS, Simulated, type Answer } from './simulated.ts';

export interface Beside {
  /** addresses, each with a transfer, that are hot from the first deposit on */
  readonly bad: number;
  /** the answer about each of them, or about its transfer */
  readonly answer: Answer;
  readonly of: 'list' | 'receipt';
  /** whether the payees were paid before */
  readonly payees: 'paid' | 'unpaid';
  readonly deposits: number;
  readonly seed: number;
}

const PAYEES = 60;
const OTHERS = 100;
/** Long enough for all of them to be asked about seldom: the provider's rate is not used up. */
const BEFORE_MS = 3 * HOUR_MS;
const GAP_MS = 10 * SECOND_MS;

/** Milliseconds from each deposit to its record, whenever it comes, also during a pass. */
export async function detections(beside: Beside): Promise<readonly number[]> {
  const { bad, answer, of, payees: kind, deposits, seed } = beside;
  const random = new Random(seed);
  const world = new Simulated();
  const payees = world.request(PAYEES, world.now - BEFORE_MS);
  const others = world.request(OTHERS, world.now - BEFORE_MS).slice(0, bad);
  if (kind === 'paid') for (const payee of payees) world.pay(payee);
  await world.run(2 * MINUTE_MS);
  const subjects = new Set<string>();
  for (const other of others) {
    world.open(other);
    const paid = world.pay(other);
    subjects.add(of === 'list' ? toTronAddress(other) : paid);
  }
  world.rule = ({ route, address, tx_id: txId }) =>
    route === of && subjects.has(of === 'list' ? address : txId) ? answer : undefined;
  const begun = new Map<string, number>();
  let time = world.now;
  for (let deposit = 0; deposit < deposits; deposit++) {
    // those who are answered badly look at their panels, too
    for (const other of others)
      if (random.chance(0.02)) world.at(time + random.below(GAP_MS), () => world.open(other));
    time += random.below(GAP_MS);
    const payee = payees[deposit % PAYEES] ?? random.pick(payees);
    world.at(time, () => {
      world.open(payee);
      begun.set(world.pay(payee), world.now);
    });
  }
  await world.run(time + 1 - world.now);
  await world.run(HOUR_MS, [...begun.keys()]);
  return [...begun].map(([id, at]) => (world.observed.get(id) ?? Infinity) - at);
}
