/** The governance that deposits depend on, restored from the columns of `ledger`. */
import type { GovernanceEvent, TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { amountIn, bytesIn, countIn, textIn } from '../contract/loaded-row.ts';
import type { Load, Loaded, LoadedRow, Recorded } from '../contract/projection.ts';
import { addressesIn } from './deposit-rows.ts';
import { Governance, type Proposal } from './domain/governance.ts';

/** Columns of `ledger`. */
interface GovernanceHead {
  readonly operators_version: number;
  /** 20 bytes each */
  readonly operators: Buffer;
  readonly two_above: bigint;
  readonly authority_version: number;
  readonly authority: Buffer;
  /** empty before the ledger is pinned */
  readonly ledger_id: Buffer;
  readonly minting_stopped: boolean;
  /** operator, content and time of each, one behind the other */
  readonly proposals: Buffer;
}

const OPERATOR_BYTES = 20;
const CONTENT_BYTES = 32;
const TIME_BYTES = 8;
const PROPOSAL_BYTES = OPERATOR_BYTES + CONTENT_BYTES + TIME_BYTES;

/** The columns of `ledger` that `storedGovernance` reads. */
export const GOVERNANCE_COLUMNS =
  'operators_version, operators, two_above, authority_version, authority, ledger_id, minting_stopped, proposals';

const NEED_MINTS: ReadonlySet<string> = new Set(['AuthoritySet', 'DepositRejected', 'MintVoided']);

/** A rotation counts only while no mint is in flight; a nonce becomes free below those. */
export function governanceLoads(batch: readonly Recorded<TreasuryEvent>[]): readonly Load[] {
  if (!batch.some(({ event }) => NEED_MINTS.has(event.type))) return [];
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
  const ledger_id = bytesIn(head, 'ledger_id');
  return new Governance({
    operators: operators.version === 0 ? undefined : operators,
    authority: authority.version === 0 ? undefined : authority,
    ledger_id: ledger_id.length === 0 ? undefined : ledger_id,
    is_stopped: head['minting_stopped'] === true,
    proposals: proposalsIn(bytesIn(head, 'proposals')),
  });
}

function timeBytes(ms: number): Buffer {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeBigUInt64BE(BigInt(ms));
  return bytes;
}

function proposalsIn(bytes: Buffer): readonly Proposal[] {
  return Array.from({ length: bytes.length / PROPOSAL_BYTES }, (_, at) => {
    const proposal = bytes.subarray(at * PROPOSAL_BYTES, (at + 1) * PROPOSAL_BYTES);
    return {
      operator: proposal.subarray(0, OPERATOR_BYTES),
      content: proposal.subarray(OPERATOR_BYTES, OPERATOR_BYTES + CONTENT_BYTES),
      decided_at: Number(proposal.readBigUInt64BE(OPERATOR_BYTES + CONTENT_BYTES)),
    };
  });
}

export function governanceHead(governance: Governance): GovernanceHead {
  const { operators, authority, ledger_id, is_stopped: isStopped, proposals } = governance;
  return {
    operators_version: operators?.version ?? 0,
    operators: Buffer.concat(operators?.operators ?? []),
    two_above: operators?.two_above ?? 0n,
    authority_version: authority?.version ?? 0,
    authority: authority?.authority ?? Buffer.alloc(0),
    ledger_id: ledger_id ?? Buffer.alloc(0),
    minting_stopped: isStopped,
    proposals: Buffer.concat(
      proposals.flatMap(({ operator, content, decided_at }) => [
        operator,
        content,
        timeBytes(decided_at),
      ]),
    ),
  };
}

const DEPOSITS_DEPEND_ON: ReadonlySet<string> = new Set([
  'LedgerPinned',
  'OperatorsSet',
  'AuthoritySet',
  'MintingSet',
]);

/** Whether the deposits depend on the event: the rest of governance is about other money. */
export function concernsDeposits(event: GovernanceEvent): boolean {
  return DEPOSITS_DEPEND_ON.has(event.type);
}
