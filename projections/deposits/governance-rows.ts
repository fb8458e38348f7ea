/** The governance that deposits depend on, restored from the columns of `ledger`. */
import type { GovernanceEvent, TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { amountIn, bytesIn, countIn, textIn } from '../contract/loaded-row.ts';
import type { Load, Loaded, LoadedRow, Recorded } from '../contract/projection.ts';
import { addressesIn } from './deposit-rows.ts';
import { Governance } from './domain/governance.ts';

/** Columns of `ledger`. */
interface GovernanceHead {
  readonly operators_version: number;
  /** 20 bytes each */
  readonly operators: Buffer;
  readonly two_above: bigint;
  readonly authority_version: number;
  readonly authority: Buffer;
}

/** A rotation counts only while no mint is in flight; after a release nonces go on behind those. */
export function governanceLoads(batch: readonly Recorded<TreasuryEvent>[]): readonly Load[] {
  if (!batch.some(({ event: { type } }) => type === 'AuthoritySet' || type === 'DepositRejected'))
    return [];
  const text = `SELECT b.id, s.nonce FROM by_status b JOIN standings s ON s.id = b.id
                 WHERE b.status = 'mint_requested'`;
  return [{ name: 'mints_in_flight', text, values: [] }];
}

/** The nonces of the mints in flight before the batch, by deposit. */
export function mintsInFlight(loaded: Loaded): Map<string, number> {
  const rows = loaded['mints_in_flight'] ?? [];
  return new Map(rows.map((row) => [textIn(row, 'id'), countIn(row, 'nonce')]));
}

export function storedGovernance(head: LoadedRow | undefined): Governance {
  if (head === undefined) return new Governance();
  const operators = {
    version: countIn(head, 'operators_version'),
    operators: addressesIn(bytesIn(head, 'operators')),
    two_above: amountIn(head, 'two_above'),
  };
  const authority = {
    version: countIn(head, 'authority_version'),
    authority: bytesIn(head, 'authority'),
  };
  return new Governance(
    operators.version === 0 ? undefined : operators,
    authority.version === 0 ? undefined : authority,
  );
}

export function governanceHead({ operators, authority }: Governance): GovernanceHead {
  return {
    operators_version: operators?.version ?? 0,
    operators: Buffer.concat(operators?.operators ?? []),
    two_above: operators?.two_above ?? 0n,
    authority_version: authority?.version ?? 0,
    authority: authority?.authority ?? Buffer.alloc(0),
  };
}

/** Whether the deposits depend on the event: the rest of governance is about other money. */
export function concernsDeposits(event: GovernanceEvent): boolean {
  return event.type === 'OperatorsSet' || event.type === 'AuthoritySet';
}
