/** Fees, credits and holds of deposits. Amounts are micro-USDT, which are CLT base units. */

export const NETWORKS = ['mainnet', 'testnet'] as const;
export type Network = (typeof NETWORKS)[number];

/** The limits of deposits. */
export interface PolicyLimits {
  /** of an account's first deposit */
  readonly first_fee: bigint;
  readonly later_fee: bigint;
  /** the smallest credit that is minted without approval */
  readonly minimum: bigint;
  /** the largest credit that is minted without approval */
  readonly single_cap: bigint;
  /** of all mints within 24 hours */
  readonly rolling_cap: bigint;
}

/** The USDT contracts on mainnet and Nile. Source: tronscan.org and nile.tronscan.org. */
export const USDT_CONTRACTS: Readonly<Record<Network, string>> = {
  mainnet: 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t',
  testnet: 'TXYZopYRdj2D9XRtbG411XZZ3kM5VkAeBf',
};

const USD = 1_000_000n;

/** The default limits of each network. */
export const NETWORK_LIMITS: Readonly<Record<Network, PolicyLimits>> = {
  mainnet: {
    first_fee: 4n * USD,
    later_fee: 2n * USD,
    minimum: 5n * USD,
    single_cap: 100n * USD,
    rolling_cap: 200n * USD,
  },
  testnet: {
    first_fee: 2n * USD,
    later_fee: USD / 2n,
    minimum: USD,
    single_cap: 1_000n * USD,
    rolling_cap: 5_000n * USD,
  },
};

/** Why a person must decide: the policy, the payer, no proof, or a mint that was not executed. */
export const HOLD_REASONS = [
  'below_minimum',
  'over_single_cap',
  'internal_transfer',
  'unproven',
  'mint_failed',
] as const;
export type HoldReason = (typeof HOLD_REASONS)[number];

/** Each reason as people read it, on pages and terminals. */
export const HOLD_REASON_WORDS: Readonly<Record<HoldReason, string>> = {
  below_minimum: 'the credit is below the minimum',
  over_single_cap: 'the credit is above the most that is minted without a person',
  internal_transfer: 'it was paid from an address of this system',
  unproven: 'there is no proof yet that it arrived',
  mint_failed: 'the chain did not execute its mint',
};

/** A reason of a newer version stays as it is; `unknown`: none was recorded. */
export function holdReasonText(reason: string): string {
  const words: Readonly<Record<string, string>> = {
    ...HOLD_REASON_WORDS,
    unknown: 'no reason is known',
  };
  return words[reason] ?? reason;
}

/** The network's limits with overrides, or every problem of the result. */
export function limitsOf(
  network: Network,
  set: Partial<PolicyLimits> = {},
): { readonly limits: PolicyLimits } | { readonly problems: readonly string[] } {
  const limits: PolicyLimits = { ...NETWORK_LIMITS[network], ...set };
  const problems = problemsOf(limits);
  return problems.length === 0 ? { limits } : { problems };
}

/** Contradictions between limits; empty when there are none. */
export function problemsOf(limits: PolicyLimits): readonly string[] {
  const { first_fee, later_fee, minimum, single_cap, rolling_cap } = limits;
  const negative = Object.entries({
    first_fee,
    later_fee,
    minimum,
    single_cap,
    rolling_cap,
  }).filter(([, amount]) => amount < 0n);
  return [
    ...negative.map(([name]) => `${name} is below 0`),
    ...(minimum > single_cap
      ? ['minimum is above single_cap: no deposit would ever be minted without a person']
      : []),
    ...(single_cap > rolling_cap
      ? ['single_cap is above rolling_cap: a deposit between the two would wait for ever']
      : []),
  ];
}

/** The network fee of an account's deposit; ordinal 0 is its first. */
export function feeOf(limits: PolicyLimits, ordinal: number): bigint {
  return ordinal === 0 ? limits.first_fee : limits.later_fee;
}

/** The credit: gross less fee, at least 0. */
export function creditOf(gross: bigint, fee: bigint): bigint {
  return gross > fee ? gross - fee : 0n;
}

/** The part of the fee above gross: gross = credit + fee - shortfall. */
export function shortfallOf(gross: bigint, fee: bigint): bigint {
  return fee > gross ? fee - gross : 0n;
}

/** Why a credit is held; undefined when it is minted. Limits are inclusive; 0 is always held. */
export function holdReasonOf(
  limits: PolicyLimits,
  credit: bigint,
): Extract<HoldReason, 'below_minimum' | 'over_single_cap'> | undefined {
  if (credit === 0n || credit < limits.minimum) return 'below_minimum';
  return credit > limits.single_cap ? 'over_single_cap' : undefined;
}

export function sameLimits(one: PolicyLimits, other: PolicyLimits): boolean {
  return (
    one.first_fee === other.first_fee &&
    one.later_fee === other.later_fee &&
    one.minimum === other.minimum &&
    one.single_cap === other.single_cap &&
    one.rolling_cap === other.rolling_cap
  );
}
