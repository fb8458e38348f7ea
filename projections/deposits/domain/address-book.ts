/**
 * The owner of each deposit address, from `deposit.addresses`. The first valid scheme in the
 * log counts for ever. From then on the first request of each account gets the next derivation
 * index; a repeated request changes nothing. Everybody who folds the topic judges with `judge`.
 */
import { bytesKey } from '../../../schemas/address.ts';
import {
  isDepositIndex,
  readDepositKey,
  SCHEME,
  type DepositKey,
} from '../../../schemas/deposit-address.ts';
import type {
  DepositAddressEvent,
  SchemePinned,
} from '../../../schemas/deposit.addresses/events.ts';

export type AddressVerdict =
  | { readonly verdict: 'pinned'; readonly key: DepositKey }
  /** the account gets the key's address at this index */
  | { readonly verdict: 'assigned'; readonly key: DepositKey; readonly index: number }
  /** the account looks at its address */
  | { readonly verdict: 'opened' }
  /** a repetition */
  | { readonly verdict: 'replayed' }
  /** before the scheme is pinned, or another scheme */
  | { readonly verdict: 'ignored' };

export interface Book {
  readonly key: DepositKey | undefined;
  readonly addresses: number;
}

/** The meaning of the next event. `isKnown`: the event's account has an address. */
export function judge(
  { key, addresses }: Book,
  event: DepositAddressEvent,
  isKnown: boolean,
): AddressVerdict {
  switch (event.type) {
    case 'SchemePinned':
      return pinned(key, event);
    case 'AddressRequested':
      if (isKnown) return { verdict: 'replayed' };
      return key === undefined || !isDepositIndex(addresses)
        ? { verdict: 'ignored' }
        : { verdict: 'assigned', key, index: addresses };
    case 'PanelOpened':
      return { verdict: isKnown ? 'opened' : 'ignored' };
  }
}

function pinned(
  key: DepositKey | undefined,
  { scheme, extended_public_key: text }: SchemePinned,
): AddressVerdict {
  if (scheme !== SCHEME) return { verdict: 'ignored' };
  if (key !== undefined)
    return { verdict: key.extended_public_key === text ? 'replayed' : 'ignored' };
  const read = readDepositKey(text);
  return 'problem' in read ? { verdict: 'ignored' } : { verdict: 'pinned', key: read.key };
}

/** The whole book in memory. An address is derived at each call. */
export class AddressBook {
  #key: DepositKey | undefined;
  #end = 0n;
  /** by derivation index */
  readonly #owners: Buffer[] = [];
  readonly #indexes = new Map<string, number>();

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#end;
  }

  /** Undefined until a scheme is pinned. */
  get key(): DepositKey | undefined {
    return this.#key;
  }

  /** The number of accounts with an address, which is the next index. */
  get size(): number {
    return this.#owners.length;
  }

  /** Folds the record at this offset; every record, in order. Repeats have no effect. */
  apply(event: DepositAddressEvent, offset: bigint): 'applied' | 'replayed' | 'ignored' {
    if (offset < this.#end) return 'replayed';
    if (offset > this.#end)
      throw new Error(
        `deposit.addresses continues at ${this.#end}, not at ${offset}: records are missing`,
      );
    this.#end++;
    const account = event.type === 'SchemePinned' ? undefined : event.clt_address;
    const isKnown = account !== undefined && this.#indexes.has(bytesKey(account));
    const judged = judge({ key: this.#key, addresses: this.size }, event, isKnown);
    switch (judged.verdict) {
      case 'pinned':
        this.#key = judged.key;
        return 'applied';
      case 'assigned':
        if (account === undefined) throw new Error('an address was assigned to no account');
        this.#indexes.set(bytesKey(account), judged.index);
        this.#owners.push(account);
        return 'applied';
      case 'opened':
        return 'applied';
      case 'replayed':
      case 'ignored':
        return judged.verdict;
    }
  }

  /** The account whose address has this index, if any. */
  ownerAt(index: number): Buffer | undefined {
    return this.#owners[index];
  }

  /** The deposit address of an account, if it has one. */
  addressOf(account: Buffer): Buffer | undefined {
    const index = this.#indexes.get(bytesKey(account));
    return index === undefined ? undefined : this.#key?.addressAt(index);
  }
}
