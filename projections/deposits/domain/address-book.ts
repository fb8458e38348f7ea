/**
 * The owner of each deposit address, from `deposit.addresses`. The first valid scheme in the log
 * counts for ever. From then on the first request of each account gets the next derivation index; a
 * repeated request changes nothing. Everybody who folds the topic judges with `judge`.
 *
 * The log names each address, and of the key that derives it only the fingerprint: a fold needs no
 * key, and whoever has the key can tell whether an address is derived from it. A request says for
 * which index its address is, and counts only where that is the next one. In the log of an older
 * writer the scheme has the key itself, and each address is derived from it.
 */
import { bytesKey } from '../../../schemas/address.ts';
import {
  isDepositIndex,
  readDepositKey,
  SCHEME,
  type DepositKey,
} from '../../../schemas/deposit-address.ts';
import { ADDRESS_RULES } from '../../../schemas/deposit.addresses/rules.ts';
import { linked, NO_RECORDS } from '../../../schemas/hash-chain.ts';
import { brokenRule } from '../../../schemas/rules.ts';
import type {
  AddressRequested,
  DepositAddressEvent,
  SchemePinned,
} from '../../../schemas/deposit.addresses/events.ts';

const ADDRESS_BYTES = 20;
const FINGERPRINT_BYTES = 32;

/** How the addresses of a log are derived. */
export interface Scheme {
  /** SHA-256 of the extended public key's text */
  readonly fingerprint: Buffer;
  /** undefined: the log has the addresses */
  readonly key: DepositKey | undefined;
}

/** An address (20 bytes), or the key that derives it. */
export type AddressSource = Buffer | DepositKey;

export function addressFrom(source: AddressSource, index: number): Buffer {
  return Buffer.isBuffer(source) ? source : source.addressAt(index);
}

export type AddressVerdict =
  | { readonly verdict: 'pinned'; readonly scheme: Scheme }
  /** the account gets the address of this index */
  | { readonly verdict: 'assigned'; readonly source: AddressSource; readonly index: number }
  /** the account looks at its address */
  | { readonly verdict: 'opened' }
  /** a repetition */
  | { readonly verdict: 'replayed' }
  /** written for another offset or index, before the scheme is pinned, or another scheme */
  | { readonly verdict: 'ignored' };

export interface Book {
  readonly scheme: Scheme | undefined;
  readonly addresses: number;
}

/** The meaning of the event at the next offset. `isKnown`: its account has an address. */
export function judge(
  { scheme, addresses }: Book,
  event: DepositAddressEvent,
  offset: bigint,
  isKnown: boolean,
): AddressVerdict {
  if (!isInPlace(event, offset) || brokenRule(ADDRESS_RULES, event) !== undefined)
    return { verdict: 'ignored' };
  switch (event.type) {
    case 'SchemePinned':
      return pinned(scheme, event);
    case 'AddressRequested': {
      if (isKnown) return { verdict: 'replayed' };
      const source = scheme && isDepositIndex(addresses) && sourceOf(scheme, event, addresses);
      return source ? { verdict: 'assigned', source, index: addresses } : { verdict: 'ignored' };
    }
    case 'PanelOpened':
      return { verdict: isKnown ? 'opened' : 'ignored' };
  }
}

/** Whether an event stands where it was written for; older writers wrote for any place. */
export function isInPlace({ sequence = -1 }: DepositAddressEvent, offset: bigint): boolean {
  return sequence === -1 || BigInt(sequence) === offset;
}

function pinned(scheme: Scheme | undefined, event: SchemePinned): AddressVerdict {
  const other = event.scheme === SCHEME ? schemeOf(event) : undefined;
  if (other === undefined) return { verdict: 'ignored' };
  if (scheme === undefined) return { verdict: 'pinned', scheme: other };
  return { verdict: scheme.fingerprint.equals(other.fingerprint) ? 'replayed' : 'ignored' };
}

function schemeOf({
  extended_public_key: extendedPublicKey,
  fingerprint,
}: Pick<SchemePinned, 'extended_public_key' | 'fingerprint'>): Scheme | undefined {
  if (extendedPublicKey === '')
    return fingerprint?.length === FINGERPRINT_BYTES ? { fingerprint, key: undefined } : undefined;
  const read = readDepositKey(extendedPublicKey);
  return 'problem' in read ? undefined : { fingerprint: read.key.fingerprint, key: read.key };
}

function sourceOf(
  { key }: Scheme,
  { derivation_index: derivationIndex, deposit_address: depositAddress }: AddressRequested,
  next: number,
): AddressSource | undefined {
  if (key !== undefined) return key;
  return derivationIndex === next && depositAddress?.length === ADDRESS_BYTES
    ? depositAddress
    : undefined;
}

/** Addresses one behind the other: a Buffer of its own for each would take ten times as much. */
class Packed {
  #bytes: Buffer = Buffer.alloc(ADDRESS_BYTES);
  #size = 0;

  get state(): Buffer {
    return this.#bytes.subarray(0, this.#size * ADDRESS_BYTES);
  }

  restore(addresses: Buffer): void {
    this.#bytes = addresses;
    this.#size = addresses.length / ADDRESS_BYTES;
  }

  get size(): number {
    return this.#size;
  }

  push(address: Buffer): void {
    const at = this.#size * ADDRESS_BYTES;
    if (at === this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes], 2 * this.#bytes.length + ADDRESS_BYTES);
    address.copy(this.#bytes, at);
    this.#size++;
  }

  at(index: number): Buffer | undefined {
    const at = index * ADDRESS_BYTES;
    return isDepositIndex(index) && index < this.#size
      ? Buffer.from(this.#bytes.subarray(at, at + ADDRESS_BYTES))
      : undefined;
  }
}

/** The whole book in memory: about 135 bytes an address, and 50 more once `has` was asked. */
export class AddressBook {
  #scheme: Scheme | undefined;
  /** by derivation index */
  readonly #owners = new Packed();
  /** addresses by derivation index; none where the key of the log derives them */
  readonly #named = new Packed();
  #state = {
    end: 0n,
    head: NO_RECORDS,
    indexes: new Map<string, number>(),
    /** of the first `derived` indexes: the first one of each address, by `bytesKey` */
    addresses: new Map<string, number>(),
    /** the other indexes of an address that the log gives out more than once */
    repeats: new Map<string, readonly number[]>(),
    derived: 0,
    broken: 0,
  };

  /** Everything that was folded, to be copied at once: it changes with the next record. */
  get state() {
    const scheme = this.#scheme && {
      fingerprint: this.#scheme.fingerprint,
      extended_public_key: this.#scheme.key?.extended_public_key ?? '',
    };
    return { ...this.#state, scheme, owners: this.#owners.state, named: this.#named.state };
  }

  /** Goes on from the state of another. */
  restore({ scheme, owners, named, ...own }: AddressBook['state']): void {
    this.#state = own;
    this.#scheme = scheme && schemeOf(scheme);
    this.#owners.restore(owners);
    this.#named.restore(named);
  }

  /** The offset after the last record folded. */
  get end(): bigint {
    return this.#state.end;
  }

  /** The hash of the last record of the chain; empty before the first. */
  get head(): Buffer {
    return this.#state.head;
  }

  /** Records that break a rule of their fields: they have no effect. */
  get broken(): number {
    return this.#state.broken;
  }

  /** Undefined until one is pinned. */
  get scheme(): Scheme | undefined {
    return this.#scheme;
  }

  /** The number of accounts with an address, which is the next index. */
  get size(): number {
    return this.#owners.size;
  }

  /**
   * Folds the record at this offset; every record, in order. Repeats have no effect. Throws
   * `BrokenChain`.
   */
  apply(
    event: DepositAddressEvent,
    offset: bigint,
    valueHash?: Buffer,
  ): 'applied' | 'replayed' | 'ignored' {
    if (offset < this.#state.end) return 'replayed';
    // a record that breaks the chain is not passed over, however often it is read
    if (isInPlace(event, offset))
      this.#state.head = linked(this.#state.head, event, offset, valueHash);
    this.#state.end = offset + 1n;
    if (brokenRule(ADDRESS_RULES, event) !== undefined) this.#state.broken++;
    const account = event.type === 'SchemePinned' ? undefined : event.clt_address;
    const isKnown = account !== undefined && this.#state.indexes.has(bytesKey(account));
    const book = { scheme: this.#scheme, addresses: this.size };
    const judged = judge(book, event, offset, isKnown);
    switch (judged.verdict) {
      case 'pinned':
        this.#scheme = judged.scheme;
        return 'applied';
      case 'assigned':
        if (account === undefined) throw new Error('an address was assigned to no account');
        this.#state.indexes.set(bytesKey(account), judged.index);
        this.#owners.push(account);
        if (Buffer.isBuffer(judged.source)) this.#named.push(judged.source);
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
    return this.#owners.at(index);
  }

  /** The derivation index of an account's address, if it has one. */
  indexOf(account: Buffer): number | undefined {
    return this.#state.indexes.get(bytesKey(account));
  }

  /** Takes in the addresses that no earlier call has: 0.6 ms each where the log has none. */
  derive(): void {
    for (; this.#state.derived < this.size; this.#state.derived++) {
      const address = this.#addressAt(this.#state.derived);
      if (address === undefined) continue;
      const key = bytesKey(address);
      if (this.#state.addresses.has(key))
        this.#state.repeats.set(key, [
          ...(this.#state.repeats.get(key) ?? []),
          this.#state.derived,
        ]);
      else this.#state.addresses.set(key, this.#state.derived);
    }
  }

  /**
   * Whether the log names this as the deposit address of an account. Any writer of the topic can
   * name one; with the key, only one that the key derives counts, at 0.6 ms.
   */
  has(address: Buffer, key?: DepositKey): boolean {
    this.derive();
    const name = bytesKey(address);
    const first = this.#state.addresses.get(name);
    if (first === undefined || key === undefined) return first !== undefined;
    return [first, ...(this.#state.repeats.get(name) ?? [])].some((index) =>
      key.addressAt(index).equals(address),
    );
  }

  /** The deposit address of an account, if it has one. */
  addressOf(account: Buffer): Buffer | undefined {
    const index = this.indexOf(account);
    return index === undefined ? undefined : this.#addressAt(index);
  }

  /** Whether the account has this address, in the log and among the children of the key. */
  isDerived(key: DepositKey, account: Buffer, address: Buffer): boolean {
    const index = this.indexOf(account);
    return (
      index !== undefined &&
      this.addressOf(account)?.equals(address) === true &&
      key.addressAt(index).equals(address)
    );
  }

  #addressAt(index: number): Buffer | undefined {
    return this.#scheme?.key?.addressAt(index) ?? this.#named.at(index);
  }
}
