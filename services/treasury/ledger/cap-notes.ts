import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';

/** A note that the rolling cap is full, and until when. */
export function capNotes(ledger: Ledger, now: number): readonly string[] {
  const { policy } = ledger;
  const left = ledger.leftAt(now);
  let [deposits, amount, first] = [0, 0n, 0n];
  for (const { deposit_id: depositId } of ledger.waiting) {
    const deposit = ledger.deposit(depositId);
    if (deposit.status !== 'confirmed' || deposit.terms.credit <= left) continue;
    if (deposits === 0) first = deposit.terms.credit;
    deposits++;
    amount += deposit.terms.credit;
  }
  if (policy === undefined || deposits === 0) return [];
  const at = ledger.roomAt(first, now);
  const until =
    at === undefined
      ? `its ${first} are above the cap itself, which operators raise with \`ops policy set --rolling-cap\``
      : `there is room for the first at ${new Date(at).toISOString()}`;
  return [
    `the rolling cap of ${policy.rolling_cap} micro-USDT within 24 hours is full: ${deposits} deposits of together ${amount} wait, and ${until}`,
  ];
}
