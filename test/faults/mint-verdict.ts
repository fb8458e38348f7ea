/** Holds what `ops audit` found against the forged records, and the node against the payments. */
import { toHex } from '../../schemas/address.ts';
import type { Invariant } from '../../services/ops/audit/findings.ts';
import { accountAt } from '../support/deposit-log.ts';
import { FIRST_FEE, LATER_FEE, MINIMUM } from './deposit-ledger.ts';
import type { Planted } from './stranger.ts';

/** The output of `ops audit --json`. */
export interface Audited {
  readonly deposits: number;
  readonly mints: number;
  readonly waiting: number;
  readonly without_effect: number;
  readonly sums: Readonly<Record<'arrived' | 'minted' | 'fees' | 'held', string>>;
  readonly checked: Readonly<Record<Invariant, number>>;
  readonly violations: readonly {
    readonly invariant: Invariant;
    readonly topic: string;
    readonly partition: number;
    readonly offset: string;
    readonly what: string;
  }[];
}

/** Forged records that the audit does not find as it should, and whatever else it finds. */
export function misjudged({ violations }: Audited, planted: readonly Planted[]): readonly string[] {
  const named = new Set(violations.map((each) => `${each.invariant} at ${placeOf(each)}`));
  const places = new Set(planted.map(placeOf));
  const missed = planted
    .filter(({ found }) => found !== undefined)
    .map((each) => [each.kind, `${each.found} at ${placeOf(each)}`] as const)
    .filter(([, name]) => !named.has(name));
  return [
    ...missed.map(([kind, name]) => `the audit does not find ${kind}: ${name}`),
    ...violations
      .filter((each) => !places.has(placeOf(each)))
      .map((each) => `${each.invariant} at ${placeOf(each)}: ${each.what}`),
  ];
}

/** An offset of JSON is text. */
function placeOf({
  topic,
  partition,
  offset,
}: {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint | string;
}): string {
  return `${topic}/${partition}@${offset}`;
}

/** Each payment is a deposit and a Mint; forged ones are deposits too, and other Mints nobody's. */
export function miscounted(
  { deposits, mints }: Audited,
  { made, forged, others }: Readonly<Record<'made' | 'forged' | 'others', number>>,
): readonly string[] {
  return deposits === made + forged && mints === made + others
    ? []
    : [
        `of ${made} payments and ${forged} forged deposits ${deposits} are deposits, ${mints} are minted with ${others} others`,
      ];
}

/** Compares each account's balance at the node with its deposits. */
export async function unlikeBalances(
  nodeUrl: string,
  paid: ReadonlyMap<number, readonly bigint[]>,
): Promise<readonly string[]> {
  const unlike: string[] = [];
  for (const [account, amounts] of paid) {
    const response = await fetch(`${nodeUrl}/v1/accounts/${toHex(accountAt(account))}`);
    const balance = BigInt(Object(await response.json()).balance);
    // the network decides which payment of an address is first: all are above the minimum
    const sum = amounts.reduce(
      (total, amount) => total + amount - LATER_FEE,
      LATER_FEE - FIRST_FEE,
    );
    if (amounts.some((amount) => amount - FIRST_FEE < MINIMUM))
      throw new Error('the run pays less than is minted');
    if (balance !== sum)
      unlike.push(`account ${account} has ${balance}, and ${sum} was credited to it`);
  }
  return unlike;
}
