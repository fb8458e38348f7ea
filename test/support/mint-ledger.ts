/** A ledger that a test writes event by event, with deposits of any credit. */
import type { Deposit } from '../../projections/deposits/domain/deposit.ts';
import { Ledger } from '../../projections/deposits/domain/ledger.ts';
import type { MintCall } from '../../projections/deposits/domain/minting.ts';
import { depositIdOf } from '../../schemas/deposit-id.ts';
import {
  feeOf,
  holdReasonOf,
  NETWORK_LIMITS,
  type PolicyLimits,
} from '../../schemas/deposit-policy.ts';
import type { TreasuryEvent } from '../../schemas/treasury.ledger/events.ts';
import { confirmedEvent, depositEvents } from './deposit-events.ts';

export const BEGIN = 1_790_000_000_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
export const USD = 1_000_000n;

/** In place of a signed transaction's hash: as unlike another as the calls are. */
export function hashOf({ nonce, reference }: MintCall): Buffer {
  const hash = Buffer.concat([reference.subarray(0, 16), Buffer.alloc(16)]);
  hash.writeUInt32BE(nonce, 16);
  return hash;
}

export class MintLedger {
  readonly ledger = new Ledger();
  readonly log: TreasuryEvent[] = [];
  #deposits = 0;

  /** The testnet's limits, unless said otherwise; a single cap within the rolling cap. */
  setPolicy(change: Partial<PolicyLimits> = {}): void {
    const limits = { ...NETWORK_LIMITS.testnet, ...change };
    const { rolling_cap, single_cap: most } = limits;
    const single_cap = most < rolling_cap ? most : rolling_cap;
    const version = (this.ledger.policy?.version ?? 0) + 1;
    const by = { sequence: 0, version, network: 'testnet', decided_at: BEGIN };
    this.writeAll([{ type: 'PolicySet', ...by, ...limits, single_cap }]);
  }

  /** Appends to the log and folds it: the verdict. */
  write(event: TreasuryEvent): 'applied' | 'replayed' | 'ignored' {
    const placed = { ...event, sequence: this.log.length };
    this.log.push(placed);
    return this.ledger.apply(placed, this.ledger.end);
  }

  /** As `write`, all of them, each at the time given. */
  writeAll(events: readonly TreasuryEvent[]): void {
    for (const event of events)
      if (this.write(event) !== 'applied') throw new Error(`${event.type} has no effect`);
  }

  /** A deposit of this credit under the policy in force, held where that says so; gives its id. */
  deposit(credit: bigint, at = BEGIN): string {
    const tx_id = Buffer.alloc(32);
    tx_id.writeUInt32BE(++this.#deposits);
    const { policy } = this.ledger;
    if (policy === undefined) throw new Error('no policy is in force');
    const ordinal = this.ledger.depositsOf(confirmedEvent().clt_address);
    const fee = feeOf(policy, ordinal);
    const confirmed = confirmedEvent({
      tx_id,
      gross: credit + fee,
      fee,
      credit,
      policy_version: policy.version,
      address_ordinal: ordinal,
      decided_at: at,
    });
    this.writeAll([confirmed]);
    const reason = holdReasonOf(policy, credit);
    if (reason !== undefined)
      this.write({ ...depositEvents(confirmed.deposit_id).held(reason), decided_at: at });
    return confirmed.deposit_id;
  }

  state(id: string): Deposit {
    return this.ledger.deposit(id);
  }
}

export const NOBODY = depositIdOf(Buffer.alloc(32, 0xee), 0);
