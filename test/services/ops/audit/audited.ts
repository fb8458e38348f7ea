/** Logs in memory and the audit of them, in the order in which `ops audit` reads. */
import type { Recorded } from '../../../../projections/contract/projection.ts';
import type { ChainEvent } from '../../../../schemas/chain.blocks/events.ts';
import { hashOfValue } from '../../../../schemas/hash-chain.ts';
import type { ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import type { TransferObserved } from '../../../../schemas/tron.transfers/events.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { ChainAudit } from '../../../../services/ops/audit/chain-audit.ts';
import { Findings } from '../../../../services/ops/audit/findings.ts';
import { LedgerAudit } from '../../../../services/ops/audit/ledger-audit.ts';
import { RunAudit } from '../../../../services/ops/audit/run-audit.ts';
import { TransferAudit } from '../../../../services/ops/audit/transfer-audit.ts';
import { requestedAddresses, USDT_CONTRACT } from '../../../support/deposit-log.ts';

export interface Logs {
  readonly transfers: readonly {
    readonly event: TransferObserved;
    readonly partition: number;
    readonly offset: bigint;
  }[];
  readonly ledger: readonly TreasuryEvent[];
  readonly chain: readonly ChainEvent[];
  readonly runs: readonly ReserveReconciled[];
}

export const ACCOUNTS = 3;

export const ADDRESSES = requestedAddresses(ACCOUNTS);

/** A record's value is its offset. */
function recorded(event: ReserveReconciled, offset: number): Recorded<ReserveReconciled> {
  const value_hash = hashOfValue(Buffer.from([offset]));
  return { event, partition: 0, offset: BigInt(offset), timestamp: event.run_at, value_hash };
}

export interface AuditedLogs {
  readonly findings: Findings;
  /** transfers that are not decided */
  readonly waiting: number;
  readonly ledger: LedgerAudit['ledger'];
}

export function audited({ transfers, ledger, chain, runs }: Logs): AuditedLogs {
  const findings = new Findings();
  const transferAudit = new TransferAudit(USDT_CONTRACT, findings);
  for (const [offset, event] of ADDRESSES.entries()) transferAudit.address(event, BigInt(offset));
  for (const { event, partition, offset } of transfers)
    transferAudit.transfer(event, partition, offset);
  const ledgerAudit = new LedgerAudit(findings, (event, place, inForce) =>
    transferAudit.confirmed(event, place, inForce),
  );
  for (const [offset, event] of ledger.entries()) ledgerAudit.apply(event, BigInt(offset));
  const waiting = transferAudit.finish();
  const runAudit = new RunAudit(findings);
  for (const [offset, run] of runs.entries()) runAudit.run(recorded(run, offset), true);
  const chainAudit = new ChainAudit(ledgerAudit, findings, (final) => runAudit.final(final));
  for (const [offset, event] of chain.entries()) chainAudit.apply(event, BigInt(offset));
  chainAudit.finish();
  for (const [offset, event] of ledger.slice(0, Number(runAudit.ledger_end)).entries())
    runAudit.ledger(event, BigInt(offset), chainAudit);
  runAudit.finish(ledgerAudit.intents.values(), chainAudit.supply);
  return { findings, waiting, ledger: ledgerAudit.ledger };
}
