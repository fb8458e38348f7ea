/**
 * Makes blocks at an interval, transactions at a rate, and large blocks on demand. The next act of
 * the devnet's people follows from the state of the chain and seeded randomness.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { coordinateText } from '../../../schemas/coordinate.ts';
import type { FunctionCall } from '../../../schemas/function-call.ts';
import type { Block } from '../clt/block.ts';
import { verifiedByUs, type VerifiedTransaction } from '../clt/execute.ts';
import type { Cast } from '../clt/genesis.ts';
import { signCall, type Key } from '../clt/keys.ts';
import type { CltNode } from '../clt/node.ts';
import type { Rows } from '../clt/state.ts';

/**
 * Makes a block each interval while enabled, which it is not at first. The time that blocks take to
 * make does not delay the next ones. After a stall two of the blocks that were due follow at once;
 * the others are left out.
 */
export function blockTimer(
  chain: { produce(now: number): unknown },
  interval_ms: number,
  now: () => number,
): (enabled: boolean) => void {
  let timer: NodeJS.Timeout | undefined;
  const schedule = (due: number): void => {
    timer = setTimeout(() => {
      chain.produce(now());
      schedule(Math.max(due + interval_ms, performance.now() - interval_ms));
    }, due - performance.now());
  };
  return (enabled) => {
    clearTimeout(timer);
    if (enabled) schedule(performance.now() + interval_ms);
  };
}

const TICK_MS = 50;
/** A tick signs and checks these in about 100 ms; more would delay the node's answers. */
const TICK_TRANSACTIONS_MAX = 50;

export type TrafficOutcome = 'taken' | 'refused';

/** Lets the devnet's people act at a steady rate. */
export class Traffic {
  readonly #node: CltNode;
  readonly #count: (outcome: TrafficOutcome) => void;
  readonly #random: () => number;
  #credit = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `seed` and the height at the start determine every transaction. */
  constructor(node: CltNode, seed: string, count: (outcome: TrafficOutcome) => void) {
    this.#node = node;
    this.#count = count;
    this.#random = seededRandom(`traffic:${seed}:${node.head.height}`);
  }

  /** Transactions per second; 0 stops it. */
  setRate(perSecond: number): void {
    clearInterval(this.#timer);
    this.#credit = 0;
    if (perSecond > 0) this.#timer = setInterval(() => this.#tick(perSecond), TICK_MS);
  }

  #tick(perSecond: number): void {
    this.#credit = Math.min(this.#credit + (perSecond * TICK_MS) / 1000, TICK_TRANSACTIONS_MAX);
    for (; this.#credit >= 1; this.#credit--) this.#count(this.#act());
  }

  #act(): TrafficOutcome {
    const { chain, genesis } = this.#node;
    const { key, call } = nextIntention(chain.state.rows, genesis.cast, this.#random);
    const nonce = chain.mempool.account(key.address).nonce;
    const result = this.#node.submit(signCall(key, chain.parameters.chain_id, nonce, call));
    // two people may want the same offer within one block: the later one is refused
    return 'refused' in result ? 'refused' : 'taken';
  }
}

/** Signatures between two turns of the event loop: about 10 ms of work. */
const SIGNED_PER_TURN = 25;

/**
 * Makes a block of the waiting transactions and `count` transfers of one base unit, all from one
 * account. Signing takes about 0.5 ms each. Only one call at a time.
 */
export async function makeBulkBlock(
  node: CltNode,
  count: number,
  now: () => number,
): Promise<Block> {
  const { bulk, passengers, drivers } = node.genesis.cast;
  const recipients = [...passengers, ...drivers];
  const { chain_id } = node.chain.parameters;
  const first = node.chain.mempool.account(bulk.address).nonce;
  const signed: VerifiedTransaction[] = [];
  for (let index = 0; index < count; index++) {
    const to = recipients[index % recipients.length]?.address ?? bulk.address;
    const call = { function_call_type: 'Transfer', arguments: { to, amount: 1n } } as const;
    signed.push(verifiedByUs(signCall(bulk, chain_id, first + index, call), bulk.address));
    if (index % SIGNED_PER_TURN === 0) await nextTurn();
  }
  for (const transaction of signed) {
    const result = node.enqueue(transaction);
    if ('refused' in result)
      throw new Error(`the node refused a transaction of a bulk block: ${result.message}`);
  }
  return node.produce(now());
}

interface Intention {
  readonly key: Key;
  readonly call: FunctionCall;
}

const USD = 1_000_000;
/** below it, the faucet funds the account */
const POOR = 50n * BigInt(USD);
const ALLOWANCE = 1_000n * BigInt(USD);
const REQUESTS_OPEN = 24;
const OFFERS_A_REQUEST = 3;
/** Berlin */
const CITY = { latitude: 52.52, longitude: 13.405, reach: 0.09 };

type Random = () => number;
/** Undefined when nothing fits. */
type Act = (rows: Rows, cast: Cast, random: Random) => Intention | undefined;

/**
 * Relative frequencies. An act that finds nothing to do becomes a ride request. Nobody burns: all
 * CLT here is of the first block, no USDT stands for it, and its burn would lower a liability that
 * it never was.
 */
const ACTS: readonly (readonly [weight: number, act: Act])[] = [
  [22, request],
  [26, offer],
  [17, accept],
  [22, pay],
  [3, cancel],
  [3, cancelRequest],
  [5, transfer],
];
const WEIGHTS = ACTS.reduce((sum, [weight]) => sum + weight, 0);

export function nextIntention(rows: Rows, cast: Cast, random: Random): Intention {
  const intention = chooseAct(random)(rows, cast, random) ?? newRequest(cast, random);
  const balance = rows.accounts.get(intention.key.address)?.balance ?? 0n;
  if (balance >= POOR || intention.key === cast.faucet) return intention;
  const args = { to: intention.key.address, amount: ALLOWANCE };
  return { key: cast.faucet, call: { function_call_type: 'Transfer', arguments: args } };
}

function chooseAct(random: Random): Act {
  let rest = random() * WEIGHTS;
  for (const [weight, act] of ACTS) {
    rest -= weight;
    if (rest < 0) return act;
  }
  return request;
}

function request(rows: Rows, cast: Cast, random: Random): Intention | undefined {
  return rows.requests.size < REQUESTS_OPEN ? newRequest(cast, random) : offer(rows, cast, random);
}

function newRequest(cast: Cast, random: Random): Intention {
  const near = (center: number): string => coordinateText(center + (random() * 2 - 1) * CITY.reach);
  const args = {
    pickup_lat: near(CITY.latitude),
    pickup_lng: near(CITY.longitude),
    dropoff_lat: near(CITY.latitude),
    dropoff_lng: near(CITY.longitude),
    fare: dollars(4 + random() * 30, random),
    referrer: referrer(cast, random),
  };
  const key = pickKey(cast.passengers, random);
  return { key, call: { function_call_type: 'RideRequest', arguments: args } };
}

function offer(rows: Rows, cast: Cast, random: Random): Intention | undefined {
  const open = [...rows.requests].filter(([, { offers }]) => offers.length < OFFERS_A_REQUEST);
  const chosen = pick(open, random);
  if (chosen === undefined) return undefined;
  const [request_hash, { fare }] = chosen;
  const price = (fare * BigInt(90 + Math.floor(random() * 25))) / 100n;
  const args = { request_hash, fare: price > 0n ? price : fare, referrer: referrer(cast, random) };
  const key = pickKey(cast.drivers, random);
  return { key, call: { function_call_type: 'RideOffer', arguments: args } };
}

function accept(rows: Rows, cast: Cast, random: Random): Intention | undefined {
  const chosen = pick([...rows.offers], random);
  if (chosen === undefined) return undefined;
  const [offer_hash, { request_hash }] = chosen;
  const key = keyFor(cast, rows.requests.get(request_hash)?.passenger);
  return key && { key, call: { function_call_type: 'RideAcceptance', arguments: { offer_hash } } };
}

function pay(rows: Rows, cast: Cast, random: Random): Intention | undefined {
  const chosen = pick([...rows.trips], random);
  if (chosen === undefined) return undefined;
  const [acceptance_hash, { passenger, fare, paid }] = chosen;
  const due = fare - paid;
  const share = random();
  // all that is due, a part of it, or more than the fare, which the chain caps
  const amount = share < 0.4 ? (due + 1n) / 2n : share < 0.93 ? due : due * 2n;
  const key = keyFor(cast, passenger);
  const args = { acceptance_hash, fare: amount };
  return key && { key, call: { function_call_type: 'RidePay', arguments: args } };
}

function cancel(rows: Rows, cast: Cast, random: Random): Intention | undefined {
  const chosen = pick([...rows.trips], random);
  if (chosen === undefined) return undefined;
  const [acceptance_hash, { passenger, driver }] = chosen;
  const key = keyFor(cast, random() < 0.5 ? passenger : driver);
  return key && { key, call: { function_call_type: 'RideCancel', arguments: { acceptance_hash } } };
}

function cancelRequest(rows: Rows, cast: Cast, random: Random): Intention | undefined {
  const chosen = pick([...rows.requests], random);
  if (chosen === undefined) return undefined;
  const [request_hash, { passenger }] = chosen;
  const key = keyFor(cast, passenger);
  return (
    key && { key, call: { function_call_type: 'RideRequestCancel', arguments: { request_hash } } }
  );
}

function transfer(_rows: Rows, cast: Cast, random: Random): Intention {
  const key = pickKey([...cast.passengers, ...cast.drivers, ...cast.validators], random);
  const to = pickKey([...cast.passengers, ...cast.drivers], random).address;
  const amount = dollars(random() * 5, random);
  return { key, call: { function_call_type: 'Transfer', arguments: { to, amount } } };
}

/** Base units, at least one. */
function dollars(usd: number, random: Random): bigint {
  return BigInt(Math.floor(usd * USD) + 1 + Math.floor(random() * 100));
}

function referrer(cast: Cast, random: Random): string | null {
  return random() < 0.5 ? null : (pick(cast.referrers, random)?.address ?? null);
}

function pickKey(keys: readonly Key[], random: Random): Key {
  const key = pick(keys, random);
  if (key === undefined) throw new Error('the cast has no key for this role');
  return key;
}

/** Undefined for an address whose key the devnet does not hold. */
function keyFor(cast: Cast, address: string | undefined): Key | undefined {
  return [...cast.passengers, ...cast.drivers].find((key) => key.address === address);
}

/** Deterministic random numbers in [0, 1): mulberry32, seeded by the text. Not for secrets. */
export function seededRandom(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readUInt32BE(0);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A random item; undefined when there is none. */
function pick<Item>(items: readonly Item[], random: () => number): Item | undefined {
  return items[Math.floor(random() * items.length)];
}
