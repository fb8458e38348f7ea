/**
 * The rules of the USDT contract. Its owner can block addresses, pause the token, replace it by
 * another contract, and take a fee of each transfer.
 */
import { TOKEN_FUNCTIONS } from '../../../schemas/tron-balances.ts';
import type { ContractCall, NativePayment, TokenLog, TokenRules } from './transaction.ts';

export const HARMLESS: TokenRules = {
  paused: false,
  deprecated: false,
  fee_basis_points: 0,
  maximum_fee: 0n,
  blocked: [],
};

/** The answer of each of `TOKEN_FUNCTIONS`, in their order. */
export function tokenWords({
  paused,
  deprecated,
  fee_basis_points,
  maximum_fee,
}: TokenRules): readonly bigint[] {
  const answers: Readonly<Record<(typeof TOKEN_FUNCTIONS)[number], bigint>> = {
    'paused()': BigInt(paused),
    'deprecated()': BigInt(deprecated),
    'basisPointsRate()': BigInt(fee_basis_points),
    'maximumFee()': maximum_fee,
  };
  return TOKEN_FUNCTIONS.map((each) => answers[each]);
}

type Unsigned = Omit<ContractCall, 'id'> | Omit<NativePayment, 'id'>;

/**
 * The transaction as the token carries it out. It reverts where the token is paused or blocks the
 * sender, as on TRON; a deprecated one passes calls on to its successor, which the devnet does not
 * have, and reverts too. A fee goes to the owner, with a log of its own.
 */
export function carriedOut(
  transaction: Unsigned,
  rules: TokenRules,
  { usdt_contract, holder }: { readonly usdt_contract: string; readonly holder: string },
): Unsigned {
  if (transaction.asset !== 'TRC20' || transaction.outcome !== 'SUCCESS') return transaction;
  const isTransfer = ({ contract, event }: TokenLog): boolean =>
    contract === usdt_contract && event === 'Transfer';
  const transfers = transaction.logs.filter(isTransfer);
  const isRefused =
    rules.paused || rules.deprecated || transfers.some(({ from }) => rules.blocked.includes(from));
  if (transfers.length > 0 && isRefused)
    return { ...transaction, outcome: 'REVERT', listed: false };
  const logs = transaction.logs.flatMap((log): readonly TokenLog[] => {
    const fee = isTransfer(log) ? feeOf(log.value, rules) : 0n;
    return fee === 0n
      ? [log]
      : [
          { ...log, value: log.value - fee },
          { ...log, to: holder, value: fee },
        ];
  });
  return { ...transaction, logs };
}

function feeOf(value: bigint, { fee_basis_points, maximum_fee }: TokenRules): bigint {
  const fee = (value * BigInt(fee_basis_points)) / 10_000n;
  return fee < maximum_fee ? fee : maximum_fee;
}
