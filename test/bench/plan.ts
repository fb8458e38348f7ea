/** Plans the next call of each account on the generated chain. */
import { FUNCTION_CALL_TYPES, type FunctionCallType } from '../../schemas/function-call.ts';
import type { Random } from '../support/random.ts';
import { HOT, MINT_AUTHORITY, NEWCOMER, RARE, SPENT_MAX } from './calls.ts';
import type { Ledger } from './ledger.ts';

export interface Plan {
  readonly type: FunctionCallType;
  readonly sender: number;
  readonly other: number;
}

export interface Turn {
  /** regular accounts are those from this number on */
  readonly regulars_from: number;
  readonly producer: number;
  /** whether it is the rare account's turn */
  readonly is_rare: boolean;
}

const NEWCOMERS = 0.01;
const TO_ONESELF = 0.005;
const BY_PRODUCER = 0.005;
const HOT_SENDS = 1 / 6;
const HOT_TAKES = 1 / 6;

/**
 * Half are transfers; the hot account is in a third. An account that has spent nearly everything is
 * replaced by the hot account.
 */
export function plan(random: Random, ledger: Ledger, turn: Turn): Plan {
  const { type, sender, other } = wish(random, ledger, turn);
  const signer = type === 'Mint' ? MINT_AUTHORITY : sender;
  return { type, sender: ledger.balance(signer) < SPENT_MAX ? HOT : signer, other };
}

function wish(
  random: Random,
  ledger: Ledger,
  { regulars_from: first, producer, is_rare: isRare }: Turn,
): Plan {
  const type = OTHERS[random.below(16)] ?? 'Transfer';
  const sender = regular(random, ledger, first);
  const other = regular(random, ledger, first);
  let chance = random.uint32() / 2 ** 32;
  if (isRare)
    return chance < 0.5
      ? { type: 'Transfer', sender: RARE, other }
      : { type: 'Transfer', sender, other: RARE };
  if ((chance -= NEWCOMERS) < 0)
    return { type: type === 'Mint' ? type : 'Transfer', sender, other: NEWCOMER };
  if ((chance -= TO_ONESELF) < 0) return { type: 'Transfer', sender, other: sender };
  if ((chance -= BY_PRODUCER) < 0) return { type, sender: producer, other };
  if ((chance -= HOT_SENDS) < 0)
    return type === 'Mint' ? { type, sender, other: HOT } : { type, sender: HOT, other };
  if ((chance -= HOT_TAKES) < 0)
    return TO_NOBODY.has(type) ? { type, sender: HOT, other } : { type, sender, other: HOT };
  return { type, sender, other };
}

/** Few are busy, most are not. */
function regular(random: Random, ledger: Ledger, first: number): number {
  const share = random.uint32() / 2 ** 32;
  return first + Math.floor((ledger.accounts - first) * share * share);
}

const TO_NOBODY: ReadonlySet<FunctionCallType> = new Set<FunctionCallType>([
  'Burn',
  'RideRequest',
  'RideRequestCancel',
]);
const OTHERS = FUNCTION_CALL_TYPES.filter((type) => type !== 'Transfer');
