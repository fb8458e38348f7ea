/** The credit of a deposit that is not sent yet, by the rules that the treasury follows. */
import {
  creditOf,
  feeOf,
  holdReasonOf,
  type PolicyLimits,
} from '../../../../schemas/deposit-policy.ts';

export interface Estimate {
  readonly fee: bigint;
  readonly credit: bigint;
  readonly outcome: 'minted' | 'below_minimum' | 'over_single_cap';
}

export function estimate(limits: PolicyLimits, gross: bigint, isFirst: boolean): Estimate {
  const fee = feeOf(limits, isFirst ? 0 : 1);
  const credit = creditOf(gross, fee);
  return { fee, credit, outcome: holdReasonOf(limits, credit) ?? 'minted' };
}
