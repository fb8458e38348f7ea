/** Custody in the settings has to be the one that the ledger pins. */
import { sameCustody, type Custody } from '../../../projections/deposits/domain/governing.ts';
import { toTronAddress } from '../../../schemas/tron-address.ts';
import { Fault } from '../../runtime/process/errors.ts';

/** Throws a fault without retry: with another custody a run would find money missing. */
export function assertPinned(pinned: Custody | undefined, settings: Custody): void {
  if (pinned === undefined || sameCustody(pinned, settings)) return;
  throw new Fault('other_custody', otherCustody(pinned, settings), { retry: false });
}

export function otherCustody(pinned: Custody | undefined, settings: Custody | undefined): string {
  return `pinned in the ledger is ${textOf(pinned)}, the settings have ${textOf(settings)}. What to do: correct APP_CUSTODY_ADDRESSES and APP_USDT_CONTRACT, or have operators pin other addresses (\`ops custody set\`)`;
}

function textOf(custody: Custody | undefined): string {
  if (custody === undefined) return 'none';
  const { usdt_contract, custody_addresses } = custody;
  const addresses = custody_addresses.map(toTronAddress).join(', ') || 'no custody address';
  return `${addresses} of the token ${toTronAddress(usdt_contract)}`;
}
