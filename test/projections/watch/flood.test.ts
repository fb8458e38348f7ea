/** Hours of a client who makes addresses as fast as one is allowed to, and of those who pay. */
import { expect, test } from 'vitest';
import { Queue } from '../../../projections/watch/queue.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import { BEGIN } from '../../support/deposit-log.ts';

const MINUTE_MS = 60_000;
const HOURS = 3;
const NEW_A_MINUTE = 10;
/** Addresses of a pass, which the default requests of a day allow about once a minute. */
const PASS = { addresses: 50, in_turn: 10 };

interface Entry {
  readonly address: Buffer;
  readonly checks: number[];
  hot: boolean;
  paid: boolean;
  turn_at: number;
  due_at: number;
  checked_at: number;
  pause_level: number;
}

class World {
  readonly #queue = new Queue([]);
  readonly entries = new Map<string, Entry>();
  #addresses = 0;
  now = BEGIN;

  newAddress(): Buffer {
    const address = Buffer.alloc(20);
    address.writeUInt32BE(++this.#addresses);
    return address;
  }

  open(address: Buffer): void {
    this.#queue.open(address, this.now);
  }

  pay(address: Buffer): void {
    this.#queue.pay(address);
  }

  checksOf(address: Buffer): readonly number[] {
    return this.entries.get(address.toString('hex'))?.checks ?? [];
  }

  /** Picks addresses in the order of the queries, and checks them. */
  pass(): void {
    this.#read();
    const all = [...this.entries.values()];
    const hot = all
      .filter((entry) => entry.hot && entry.due_at <= this.now)
      .toSorted((one, two) => Number(two.paid) - Number(one.paid) || this.#order(one, two))
      .slice(0, PASS.addresses - PASS.in_turn);
    const turns = all.toSorted((one, two) => one.turn_at - two.turn_at);
    const picked = [...new Set([...hot, ...turns])].slice(0, PASS.addresses);
    for (const { address, checks } of picked) {
      checks.push(this.now);
      this.#queue.check(
        { type: 'AddressesChecked', checked_at: this.now, checked: [{ address, until: this.now }] },
        transferPartition(address),
      );
    }
    this.now += MINUTE_MS;
  }

  #order(one: Entry, two: Entry): number {
    const [late, later] = [one, two].map(({ pause_level: pauseLevel, checked_at, due_at }) =>
      pauseLevel === 0 ? Infinity : (this.now - checked_at) / (due_at - checked_at),
    );
    return late === later ? two.due_at - one.due_at : Number(later) - Number(late);
  }

  /** The rows that the fold would write. */
  #read(): void {
    for (const row of this.#queue.changedRows()) {
      const [address, , , hot, paid, , , checked_at, , turn_at, due_at, pause_level] = row;
      if (!Buffer.isBuffer(address)) throw new Error('a row without an address');
      const key = address.toString('hex');
      const entry = this.entries.get(key) ?? { address, checks: [] };
      const state = { hot: hot === true, paid: paid === true };
      const times = { turn_at: Number(turn_at), due_at: Number(due_at) };
      const check = { checked_at: Number(checked_at), pause_level: Number(pause_level) };
      this.entries.set(key, Object.assign(entry, state, times, check));
    }
  }
}

/** The longest time without a check, from the first time on, in minutes. */
function longestPause(checks: readonly number[], from: number, until: number): number {
  const times = [from, ...checks.filter((at) => at >= from && at <= until), until];
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at))) / MINUTE_MS;
}

test('a flood of new addresses delays neither those who have paid before nor new panels', () => {
  const world = new World();
  const customer = world.newAddress();
  world.open(customer);
  world.pay(customer);
  const flood: Buffer[] = [];
  let newcomer: { readonly address: Buffer; readonly at: number } | undefined;
  for (let minute = 0; minute < HOURS * 60; minute++) {
    for (let made = 0; made < NEW_A_MINUTE; made++) {
      const address = world.newAddress();
      world.open(address);
      flood.push(address);
    }
    if (minute === (HOURS - 1) * 60) {
      newcomer = { address: world.newAddress(), at: world.now };
      world.open(newcomer.address);
    }
    world.pass();
  }
  if (newcomer === undefined) throw new Error('nobody came');
  // a sixteenth of three hours, and a pass
  expect(longestPause(world.checksOf(customer), BEGIN, world.now)).toBeLessThanOrEqual(13);
  const { address, at } = newcomer;
  expect(longestPause(world.checksOf(address), at, at + 10 * MINUTE_MS)).toBeLessThanOrEqual(6);
  expect(world.checksOf(address)[0]).toBe(at);
  // nobody is forgotten, and nobody takes more than the pauses of a day allow
  const counts = flood.slice(0, -10 * NEW_A_MINUTE).map((each) => world.checksOf(each).length);
  expect(Math.min(...counts)).toBeGreaterThan(0);
  expect(Math.max(...counts)).toBeLessThan(45);
});
