/**
 * Re-examines an address now and then: a row that the provider listed late shows when an old range
 * is listed again, and one that it never lists shows in the balance. The balance is read first, so
 * that later arrivals make no difference. Money may have left the address: only a balance above the
 * log's sum proves a missing transfer.
 */
import { crc32 } from '../../schemas/tron-partition.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import type { Logger } from '../runtime/process/log.ts';
import type { AddressCheck, Checked, Range } from './address-check.ts';
import type { Entry, ReadModel } from './read-model.ts';
import type { TronGrid } from '../runtime/trongrid/trongrid.ts';

/** `missing`: not even a list from the beginning explains the balance. */
export type CrossCheckOutcome =
  'equal' | 'less_on_chain' | 'more_on_chain' | 'missing' | 'undecided';

export interface CrossCheckOptions {
  readonly check: Pick<AddressCheck, 'run'>;
  readonly provider: Pick<TronGrid, 'balance'>;
  readonly model: Pick<ReadModel, 'observed'>;
  /** block time before the cursor of the address that is listed again */
  readonly cross_check_ms: number;
  /** resolves when the read model shows all that was appended */
  readonly folded: () => Promise<void>;
  readonly log: Logger;
  readonly onCrossCheck: (outcome: CrossCheckOutcome) => void;
}

/** About one in `every` cold checks, derived from the address and its last check; 0: never. */
export function isCrossChecked(
  { hot, address, checked_at: at }: Pick<Entry, 'hot' | 'address' | 'checked_at'>,
  every: number,
): boolean {
  if (hot || every === 0) return false;
  const seed = Buffer.alloc(28);
  address.copy(seed);
  seed.writeBigUInt64BE(BigInt(at), 20);
  return crc32(seed) % every === 0;
}

/** Like `AddressCheck.run`. */
export async function crossCheck(
  options: CrossCheckOptions,
  entry: Entry,
  { from, until }: Range,
): Promise<Checked> {
  const { check, provider, model, cross_check_ms: range, folded, log, onCrossCheck } = options;
  const observedValue = async (): Promise<bigint> => {
    await folded();
    return model.observed(entry.address);
  };
  const balance = await provider.balance(entry.address);
  const first = await check.run(entry, {
    from: Math.max(0, Math.min(from, entry.checked_until - range)),
    until,
    again: 'silent',
  });
  if (first.undecided_from !== undefined) {
    onCrossCheck('undecided');
    return first;
  }
  const observed = await observedValue();
  if (balance <= observed) {
    onCrossCheck(balance === observed ? 'equal' : 'less_on_chain');
    return first;
  }
  onCrossCheck('more_on_chain');
  const about = { address: toTronAddress(entry.address), balance: balance.toString() };
  log.warn(
    { ...about, observed: observed.toString() },
    'an address has more than the log explains: listing it from the beginning',
  );
  const again = await check.run(entry, { from: 0, until, again: 'all' });
  const found = await observedValue();
  if (balance > found && again.undecided_from === undefined) {
    onCrossCheck('missing');
    log.warn(
      { ...about, observed: found.toString() },
      'neither lists nor receipts of the provider explain the balance: check the address with another provider; it is checked again',
    );
  }
  return again;
}
