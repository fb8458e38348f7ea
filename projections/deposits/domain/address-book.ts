/**
 * Whose deposit address is whose, as `deposit.addresses` tells it. The first scheme in the log that addresses can be derived from counts for ever. From then on the
 * first request of each account gets the next derivation index; asking again changes nothing. Whoever folds the topic judges by `judge`.
 */
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

/** What an event means to a log in which so far `key` is pinned and `addresses` accounts have an address. */
export type AddressVerdict =
  | { readonly verdict: 'pinned'; readonly key: DepositKey }
  /** the account gets the address at this index of the key */
  | { readonly verdict: 'assigned'; readonly key: DepositKey; readonly index: number }
  /** the account, which has an address, looks at it */
  | { readonly verdict: 'opened' }
  /** a repetition */
  | { readonly verdict: 'replayed' }
  /** without effect: before the scheme, or another scheme than the first */
  | { readonly verdict: 'ignored' };

export interface Book {
  readonly key: DepositKey | undefined;
  readonly addresses: number;
}

/** `isKnown`: whether the event's account has an address already. */
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

/** The whole book in memory, for whoever has to know every owner. An address is derived when it is asked for. */
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

  /** How many accounts have an address: their indexes are those below. */
  get size(): number {
    return this.#owners.length;
  }

  /** Folds the record at this offset; every record must be given, in order. One given before has no effect again. */
  apply(event: DepositAddressEvent, offset: bigint): 'applied' | 'replayed' | 'ignored' {
    if (offset < this.#end) return 'replayed';
    if (offset > this.#end)
      throw new Error(
        `deposit.addresses goes on at ${this.#end}, not at ${offset}: records are missing`,
      );
    this.#end++;
    const account = event.type === 'SchemePinned' ? undefined : event.clt_address;
    const isKnown = account !== undefined && this.#indexes.has(keyOf(account));
    const judged = judge({ key: this.#key, addresses: this.size }, event, isKnown);
    switch (judged.verdict) {
      case 'pinned':
        this.#key = judged.key;
        return 'applied';
      case 'assigned':
        if (account === undefined) throw new Error('an address was assigned to no account');
        this.#indexes.set(keyOf(account), judged.index);
        this.#owners.push(account);
        return 'applied';
      case 'opened':
        return 'applied';
      case 'replayed':
      case 'ignored':
        return judged.verdict;
    }
  }

  /** The account whose address has this index; undefined when nobody's has. */
  ownerAt(index: number): Buffer | undefined {
    return this.#owners[index];
  }

  /** The deposit address of an account; undefined when it has none. */
  addressOf(account: Buffer): Buffer | undefined {
    const index = this.#indexes.get(keyOf(account));
    return index === undefined ? undefined : this.#key?.addressAt(index);
  }
}

function keyOf(account: Buffer): string {
  return account.toString('latin1');
}
