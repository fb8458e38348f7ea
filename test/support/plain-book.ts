/** Addresses in the order of their requests, computed naively from the whole log. */
import type { DepositAddressEvent } from '../../schemas/deposit.addresses/events.ts';
import { depositKey, XPUB } from './deposit-log.ts';
import { plainHead } from './plain-chain.ts';
import type { Row } from './plain-fold-rows.ts';

interface Requested {
  readonly account: Buffer;
  readonly address: Buffer;
  readonly requested_at: number;
  readonly at: number;
}

function isPin(event: DepositAddressEvent): boolean {
  if (event.type !== 'SchemePinned' || event.scheme !== 'hd') return false;
  return (
    event.extended_public_key === XPUB ||
    event.fingerprint?.equals(depositKey().fingerprint) === true
  );
}

/** An event is in its place where it names none, or its own. */
export function isPlaced({ sequence = -1 }: DepositAddressEvent, at: number): boolean {
  return sequence === -1 || sequence === at;
}

/**
 * Accounts ordered by address, each with the event that requested it. Only the scheme of the test
 * world counts.
 */
export function requestsOf(log: readonly DepositAddressEvent[]): readonly Requested[] {
  const pinned = log.findIndex((event, at) => isPin(event) && isPlaced(event, at));
  const pin = log[pinned];
  const hasKey = pin?.type === 'SchemePinned' && pin.extended_public_key !== '';
  const given: Requested[] = [];
  log.forEach((event, at) => {
    if (event.type !== 'AddressRequested' || pinned === -1 || at < pinned) return;
    const { clt_address: account, requested_at, derivation_index: index } = event;
    if (!isPlaced(event, at) || given.some((other) => other.account.equals(account))) return;
    const address = hasKey ? depositKey().addressAt(given.length) : event.deposit_address;
    if (address === undefined || (!hasKey && index !== given.length)) return;
    given.push({ account, address, requested_at, at });
  });
  return given;
}

export function bookRows(log: readonly DepositAddressEvent[]): Row[] {
  if (log.length === 0) return [];
  const pin = log.find((event, at) => isPin(event) && isPlaced(event, at));
  const scheme = {
    extended_public_key:
      pin?.type === 'SchemePinned' && pin.extended_public_key !== '' ? XPUB : null,
    key_fingerprint: pin === undefined ? null : depositKey().fingerprint,
  };
  const head = plainHead(log.filter(isPlaced));
  return [{ one: true, log_end: log.length, head, ...scheme, addresses: requestsOf(log).length }];
}

export function millis(time: number): string {
  return String(time);
}
