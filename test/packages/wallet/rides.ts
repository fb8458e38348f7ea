/**
 * Wallets that forget all but what they have stored after each step, and send again at each chance,
 * ride in a `LossyWorld`. They do what the README of the package says.
 */
import { vi } from 'vitest';
import {
  ask,
  HubError,
  send,
  signTransaction,
  waitForOutcome,
  type SignedTransaction,
  type Signer,
} from '../../../packages/wallet/src/index.ts';
import { LossyWorld } from './lossy-world.ts';

const AGAIN = 'it sends again';
const HUB = { url: 'http://hub/graphql', chainId: 7777 };

/** of each ride, equal ones; a third would be as good for the chain */
const PAYMENTS = 2;
const TIP = '7000';
const OTHER_DEVICE = 'Transfer 1';
const ROUTE = {
  pickup_lat: '52.52',
  pickup_lng: '-13.405',
  dropoff_lat: '52.5',
  dropoff_lng: '13.3',
  fare: '5000000',
  referrer: null,
};

interface Call {
  readonly function_call_type: string;
  readonly arguments: Readonly<Record<string, string | null>>;
}

/** Stored before it is sent; final: once and for all. */
interface Stored {
  readonly signed?: SignedTransaction;
  readonly isFinal?: true;
}

/** The hash of the one transaction by which the call was made. */
async function make(world: LossyWorld, signer: Signer, call: Call): Promise<string> {
  let stored: Stored = {};
  while (stored.isFinal !== true) stored = await step(world, signer, call, stored);
  return stored.signed?.hash ?? '';
}

/** Starts the wallet with what it stored, until the next thing to store or a loss. */
async function step(
  world: LossyWorld,
  signer: Signer,
  call: Call,
  stored: Stored,
): Promise<Stored> {
  const { signed } = stored;
  try {
    if (signed === undefined) {
      const { built } = await ask(HUB, 'mutation', { data: call }, signer.address);
      return { signed: await signTransaction(HUB.chainId, built, signer) };
    }
    // a hasty wallet signs anew at once, a careful one waits until the other one is final
    if (!(await isSent(signer, signed)) && world.random() < 0.5) return {};
    // soon it sends again: nobody knows whether the chain still has it
    const { outcome } = await waitForOutcome('http://explorer', signed, {
      until: 'final',
      pollMs: 1,
      signal: world.patience(3 + Math.floor(60 * world.random()), AGAIN),
    });
    return outcome === 'final' ? { signed, isFinal: true } : {};
  } catch (error) {
    if (error === AGAIN || error instanceof TypeError) return stored;
    if (error instanceof HubError && error.code === 'UPSTREAM_ERROR') return stored;
    throw error;
  }
}

/** False: another transaction has the nonce. */
async function isSent({ address }: Signer, signed: SignedTransaction): Promise<boolean> {
  try {
    await send(HUB, address, signed);
    return true;
  } catch (error) {
    if (error instanceof HubError && error.code === 'nonce_too_low') return false;
    throw error;
  }
}

/** A ride with some equal payments and tips. The hash of the trip. */
async function ride(world: LossyWorld): Promise<string> {
  const { passenger, driver } = world;
  const by = (signer: Signer, type: string, args: Call['arguments']): Promise<string> =>
    make(world, signer, { function_call_type: type, arguments: args });
  const request = await by(passenger, 'RideRequest', ROUTE);
  const offered = { request_hash: request, fare: '4000000', referrer: null };
  const offer = await by(driver, 'RideOffer', offered);
  const trip = await by(passenger, 'RideAcceptance', { offer_hash: offer });
  for (let paid = 0; paid < PAYMENTS; paid++) {
    await by(passenger, 'RidePay', { acceptance_hash: trip, fare: '1000000' });
    await by(passenger, 'Transfer', { to: driver.address, amount: TIP });
  }
  return trip;
}

/**
 * Rides `count` rides; losses, reorganisations and other devices follow from the seed. Returns what
 * the chain has, what it should have, and how often each disturbance happened.
 */
export async function rides(count: number, seed: string) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }).setTimerTickMode('nextTimerAsync');
  const world = new LossyWorld(seed);
  vi.stubGlobal('fetch', world.fetch);
  try {
    const made: Record<string, number> = {};
    const trips: string[] = [];
    for (let begun = 0; begun < count; begun++) trips.push(await ride(world));
    const wanted = Object.fromEntries([
      ...['RideRequest', 'RideOffer', 'RideAcceptance'].map((type) => [type, count]),
      ...trips.map((trip) => [`RidePay ${trip}`, PAYMENTS]),
      [`Transfer ${TIP}`, PAYMENTS * count],
    ]);
    for (const { call } of world.transactions) {
      const { function_call_type: type } = call;
      const key =
        type === 'RidePay'
          ? `RidePay ${call.arguments.acceptance_hash}`
          : type === 'Transfer'
            ? `Transfer ${call.arguments.amount}`
            : type;
      if (key !== OTHER_DEVICE) made[key] = (made[key] ?? 0) + 1;
    }
    return { made, wanted, seen: world.seen };
  } finally {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  }
}
