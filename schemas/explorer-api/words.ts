/**
 * Titles and sentences about the chain for people: on pages of the console, and in previews of
 * their links, which the explorer gateway writes. Amounts are base units, as text.
 */
import type { Transaction } from './transactions.ts';

/** Base units of one CLT, and of one USDT. */
export const UNIT = 1_000_000n;
export const DECIMALS = 6;
export const DECIMALS_MIN = 2;

export function grouped(digits: bigint | number): string {
  return String(digits).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',');
}

/** Base units as whole units: `1234500000` is `1,234.50`. No digit is lost. */
export function amountText(base: bigint): string {
  const size = base < 0n ? -base : base;
  const fraction = String(size % UNIT).padStart(DECIMALS, '0');
  const shown = fraction.replace(/0+$/, '').padEnd(DECIMALS_MIN, '0');
  return `${base < 0n ? '−' : ''}${grouped(size / UNIT)}.${shown}`;
}

/** The beginning and the end of a hash or an address. */
export function shortened(text: string): string {
  return text.length <= 16 ? text : `${text.slice(0, 8)}…${text.slice(-6)}`;
}

/** Seconds as people say them: `12 s`, `3 min`, `5 h`, `2 d`. No part of a unit counts. */
export function durationText(seconds: number): string {
  if (seconds < 100) return `${Math.floor(seconds)} s`;
  if (seconds < 6_000) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** The name of the chain behind the title of each page. */
export const SITE = 'CLT';

export function titleOf(page: string): string {
  return `${page} · ${SITE}`;
}

export function blockTitle(height: bigint | number): string {
  return `Block ${grouped(height)}`;
}

/** The status of a reserve run; `uncovered`: it is no mismatch, and custody does not cover all. */
export const RUN_WORDS = {
  ok: 'no mismatch',
  uncovered: 'not covered',
  mismatch: 'mismatch',
  over_backed_drift: 'more custody than needed',
} as const;

/** How good a status is. */
export const RUN_TONES = {
  ok: 'good',
  over_backed_drift: 'warn',
  uncovered: 'bad',
  mismatch: 'bad',
} as const;

/** The status, and `uncovered` where the treasury mints nothing although there is no mismatch. */
export function verdictOf<Status extends string>(run: {
  readonly status: Status;
  readonly uncovered?: string;
}): Status | 'uncovered' {
  const isCovered = run.status === 'mismatch' || BigInt(run.uncovered ?? 0) <= 0n;
  return isCovered ? run.status : 'uncovered';
}

type Call = Pick<Transaction, 'from' | 'to' | 'amount' | 'function_call_type'>;

const clt = (base: bigint | string): string => `${amountText(BigInt(base))} CLT`;

export function transactionTitle(call: Pick<Call, 'amount' | 'function_call_type'>): string {
  const amount = clt(call.amount);
  switch (call.function_call_type) {
    case 'RideRequest':
      return `Ride request at ${amount}`;
    case 'RideOffer':
      return `Ride offer at ${amount}`;
    case 'RideAcceptance':
      return `Ride offer accepted at ${amount}`;
    case 'RidePay':
      return `Ride payment of ${amount}`;
    case 'RideCancel':
      return 'Ride cancelled';
    case 'RideRequestCancel':
      return 'Ride request withdrawn';
    default:
      return `${call.function_call_type} of ${amount}`;
  }
}

/** A part of a sentence: text, or an address that a page may show by its name. */
export type Part = string | { readonly address: string };

export function plainText(parts: readonly Part[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : shortened(part.address))).join('');
}

function say(texts: readonly string[], ...values: readonly Part[]): readonly Part[] {
  return texts.flatMap((text, at): readonly Part[] => {
    const value = values[at];
    return value === undefined ? [text] : [text, value];
  });
}

/** A ride as the hub says it, with its steps in the order of the chain. */
export interface KnownRide {
  readonly status: 'open' | 'withdrawn' | 'active' | 'completed' | 'cancelled';
  readonly fare: string;
  readonly fare_paid: string;
  readonly passenger: string;
  readonly driver: string | null;
  readonly steps: readonly {
    readonly step: string;
    readonly tx_hash: string;
    readonly amount: string | null;
  }[];
}

const STATES: Readonly<Record<KnownRide['status'], string>> = {
  open: '; no offer is accepted yet',
  withdrawn: '; the request was withdrawn',
  active: '; the ride is under way',
  completed: '; the ride is complete',
  cancelled: '; the ride was cancelled',
};

/**
 * Says what a transaction did, from its row alone; with the ride that it belongs to, also what came
 * of it. It says nothing of finality.
 */
export function sentenceOf(
  call: Call & Pick<Transaction, 'hash'>,
  ride?: KnownRide,
): readonly Part[] {
  const [from, to] = [{ address: call.from }, { address: call.to }];
  const amount = clt(call.amount);
  const state = ride === undefined ? '' : STATES[ride.status];
  switch (call.function_call_type) {
    case 'Transfer':
      return call.from === call.to
        ? say`${from} sent ${amount} to itself.`
        : say`${from} sent ${amount} to ${to}.`;
    case 'Mint':
      return say`${from} minted ${amount} for ${to}.`;
    case 'Burn':
      return say`${from} burned ${amount}.`;
    case 'RideRequest':
      return say`Passenger ${from} asked for a ride at ${amount}${state}.`;
    case 'RideOffer':
      return say`Driver ${from} offered passenger ${to} a ride at ${amount}${afterOffer(call, ride)}.`;
    case 'RideAcceptance':
      return say`Passenger ${from} accepted the offer of driver ${to} at ${amount}${state}.`;
    case 'RidePay':
      return payment(call, ride);
    case 'RideCancel':
      return cancellation(call, ride);
    case 'RideRequestCancel':
      return ride === undefined
        ? say`Passenger ${from} withdrew a request for a ride.`
        : say`Passenger ${from} withdrew a request for a ride at ${clt(ride.fare)}.`;
    default:
      return say`${from} sent ${to} the call “${call.function_call_type}” with ${amount}.`;
  }
}

/** Which offer was accepted is known by its driver and fare alone. */
function afterOffer({ from, amount }: Call, ride: KnownRide | undefined): string {
  if (ride === undefined) return '';
  const isAnothers = ride.driver !== null && (ride.driver !== from || ride.fare !== amount);
  return isAnothers ? '; the passenger accepted another offer' : STATES[ride.status];
}

/** Says what was left to pay after it, unless the ride does not have this payment yet. */
function payment(
  { hash, from, to, amount }: Call & Pick<Transaction, 'hash'>,
  ride: KnownRide | undefined,
): readonly Part[] {
  const [passenger, driver] = [{ address: from }, { address: to }];
  if (ride === undefined)
    return say`Passenger ${passenger} paid ${clt(amount)} to driver ${driver}.`;
  const payments = ride.steps.filter(({ step }) => step === 'paid');
  const at = payments.findIndex((step) => step.tx_hash === hash);
  const paid = payments.slice(0, at + 1).reduce((sum, step) => sum + BigInt(step.amount ?? 0), 0n);
  const left = BigInt(ride.fare) - paid;
  const isLast = left === 0n && ride.status === 'completed';
  const after = isLast ? STATES.completed : left > 0n ? `, which left ${clt(left)} to pay` : '';
  return say`Passenger ${passenger} paid ${amountText(BigInt(amount))} of ${clt(ride.fare)} to driver ${driver}${at === -1 ? '' : after}.`;
}

function cancellation({ from, to }: Call, ride: KnownRide | undefined): readonly Part[] {
  const [one, other] = [{ address: from }, { address: to }];
  if (ride?.status !== 'cancelled') return say`${one} cancelled the ride with ${other}.`;
  const returned = BigInt(ride.fare) - BigInt(ride.fare_paid);
  const back = `${amountText(returned)} of ${clt(ride.fare)} went back to the passenger`;
  return from === ride.passenger
    ? say`Passenger ${one} cancelled the ride with driver ${other}; ${back}.`
    : say`Driver ${one} cancelled the ride with passenger ${other}; ${back}.`;
}
