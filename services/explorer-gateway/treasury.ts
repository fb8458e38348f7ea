/** The treasury as it may answer: wrong, slow, endless or not at all. Whatever it does, this ends in time, in little memory, with figures or with why not. */
import { parseReconciliation, type Reconciliation } from '../../schemas/reconciliation.ts';
import { messageOf, propertyOf } from '../runtime/errors.ts';

export interface TreasuryLimits {
  /** of the whole answer, in milliseconds */
  readonly answer_ms: number;
  readonly body_bytes_max: number;
}

export const TREASURY_LIMITS: TreasuryLimits = { answer_ms: 5_000, body_bytes_max: 65_536 };

/** What came of asking. `unavailable` says why, as may be shown to anyone; `cause` is for the log alone. */
export type TreasuryAnswer = Reconciliation | { readonly unavailable: string; readonly cause?: unknown };

/** Asks once. No redirect is followed, nothing compressed is unpacked, and reading ends where the body is too large. */
export async function askTreasury(url: string, limits = TREASURY_LIMITS): Promise<TreasuryAnswer> {
  const signal = AbortSignal.timeout(limits.answer_ms);
  let response: Response;
  try {
    response = await fetch(url, {
      redirect: 'manual',
      signal,
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    });
  } catch (error) {
    return failed(error, signal, 'the treasury cannot be reached', limits);
  }
  try {
    const unwanted = objectionTo(response, limits);
    if (unwanted !== undefined) {
      await response.body?.cancel();
      return { unavailable: unwanted };
    }
    const text = await textOf(response, limits.body_bytes_max);
    if (text === undefined) return { unavailable: tooLarge(limits) };
    const parsed = parseReconciliation(text);
    return 'problem' in parsed ? { unavailable: `the treasury's answer is not understood: ${parsed.problem}` } : parsed.value;
  } catch (error) {
    return failed(error, signal, "the treasury's answer was cut short", limits);
  }
}
