/**
 * The treasury's settings and the ledger, at the start. The settings become the first limits,
 * operators and custody of a ledger that has none. Later ones are decisions of operators: a
 * treasury with other settings than those in force does not start. Limits are taken from the
 * ledger.
 */
import { begin, type Governed } from '../../../projections/deposits/domain/governing.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { setPolicy, type Decision } from '../../../projections/deposits/domain/confirmation.ts';
import { toHex } from '../../../schemas/address.ts';
import { sameLimits, type Network, type PolicyLimits } from '../../../schemas/deposit-policy.ts';
import { restartWith } from '../../runtime/process/config.ts';

import { Fault } from '../../runtime/process/errors.ts';
import { otherCustody } from '../reconciliation/pinned-custody.ts';
import type { Append, TreasuryContext } from './ledger-writer.ts';

export interface OpeningOptions extends Pick<
  TreasuryContext,
  'books' | 'lease' | 'log' | 'signal'
> {
  readonly network: Network;
  readonly limits: PolicyLimits;
  /** undefined: decisions count without signatures */
  readonly governed: Governed | undefined;
  readonly append: Append;
  /** resolves once the ledger and the addresses are read to their ends, or at the abort */
  readonly catchUp: () => Promise<void>;
}

/** Who decides by the settings; undefined: decisions count without signatures. */
export function governedBy({
  operators = [],
  two_operators_above: twoOperatorsAbove = 0n,
  usdt_contract,
  custody_addresses,
}: {
  readonly operators?: readonly Buffer[];
  readonly two_operators_above?: bigint;
} & Pick<Governed, 'usdt_contract' | 'custody_addresses'>): Governed | undefined {
  if (operators.length === 0) return undefined;
  return { operators, two_above: twoOperatorsAbove, usdt_contract, custody_addresses };
}

/**
 * False: the lease was lost first, or the process stops. Throws a fault without retry where the
 * settings contradict the ledger.
 */
export async function putInForce(options: OpeningOptions): Promise<boolean> {
  const { network, limits, governed, books, log } = options;
  const isSettled =
    (await settle(options, (ledger) => setPolicy(ledger, { network, limits }, Date.now()))) &&
    (await settle(options, (ledger) => begin(ledger, governed, Date.now())));
  if (!isSettled) return false;
  if (governed === undefined)
    log.warn(
      {},
      'no operators are set, so decisions count without signatures: set APP_OPERATORS to the addresses of their keys',
    );
  const { policy } = books.ledger;
  if (policy !== undefined && !sameLimits(policy, limits))
    log.warn(
      { policy: policy.version },
      'the limits in force are not those of the settings, which count for nothing: `ops policy set` replaces them',
    );
  return true;
}

type Refusal = Refused<typeof setPolicy> | Refused<typeof begin>;
type Refused<Decide extends (...args: never[]) => Decision<string>> = Extract<
  ReturnType<Decide>,
  { readonly refused: string }
>['refused'];

/**
 * Why the settings are others than those in force, and what to do: operators have replaced them
 * while the treasury runs. So one operator's key alone changes nothing about who decides: somebody
 * has to change the treasury's settings too.
 */
export function otherInForce(
  ledger: Ledger,
  settings: Pick<OpeningOptions, 'network' | 'governed'>,
): string | undefined {
  const decision = begin(ledger, settings.governed, 0);
  return 'refused' in decision ? refusal(decision.refused, ledger, settings) : undefined;
}

/** Decides and appends, again after each lost race. */
async function settle(
  { books, lease, append, catchUp, signal, ...settings }: OpeningOptions,
  decide: (ledger: Ledger) => Decision<Refusal>,
): Promise<boolean> {
  for (;;) {
    await catchUp();
    if (signal.aborted || !lease.is_held) return false;
    const decision = decide(books.ledger);
    if ('refused' in decision) {
      const { refused } = decision;
      throw new Fault(refused, refusal(refused, books.ledger, settings), { retry: false });
    }
    if (decision.events.length === 0 || (await append(decision.events))) return true;
  }
}

function refusal(
  refused: Refusal,
  { policy, governance: { operators, custody } }: Ledger,
  { network, governed }: Pick<OpeningOptions, 'network' | 'governed'>,
): string {
  const texts: Partial<Record<Refusal, string>> = {
    other_network: `the ledger is of ${policy?.network}, the settings are for ${network}. What to do: correct APP_NETWORK or APP_KAFKA_BROKERS`,
    contradicting_limits:
      'the limits contradict each other. What to do: correct APP_MINIMUM, APP_SINGLE_CAP and APP_ROLLING_CAP',
    other_operators: `in force are ${textOfOperators(operators)}, the settings have ${textOfOperators(governed)}. What to do: if nobody of yours decided so, a stranger writes to the ledger; if your operators did not mean it, one of them restores the others (\`ops operators set\`); otherwise set APP_OPERATORS and APP_TWO_OPERATORS_ABOVE to those in force`,
    other_custody: otherCustody(custody, governed),
  };
  const text =
    texts[refused] ??
    `the settings cannot be the first of a ledger (${refused}). What to do: correct APP_OPERATORS and APP_CUSTODY_ADDRESSES`;
  return `${text}: ${restartWith('treasury', 'NAME=VALUE')}`;
}

function textOfOperators(set: Pick<Governed, 'operators' | 'two_above'> | undefined): string {
  if (set === undefined) return 'no operators';
  const two = set.two_above === 0n ? '' : `, two of them above ${set.two_above} micro-USDT`;
  return `the operators ${set.operators.map(toHex).join(', ')}${two}`;
}
