import { expect, test } from 'vitest';
import { AddressBook } from '../../../projections/deposits/domain/address-book.ts';
import { bytesKey } from '../../../schemas/address.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import { hashOfValue } from '../../../schemas/hash-chain.ts';
import { linkedEntries, written } from '../../../services/deposit-gateway/address-log.ts';
import { accountAt, BEGIN, depositKey } from '../../support/deposit-log.ts';
import { NumberedValues } from '../../support/plain-chain.ts';
import { Random } from '../../support/random.ts';

const KEY = depositKey();
const PIN: DepositAddressEvent = {
  type: 'SchemePinned',
  scheme: 'hd',
  extended_public_key: '',
  fingerprint: KEY.fingerprint,
  pinned_at: BEGIN,
};
interface View {
  readonly end: bigint;
  readonly head: Buffer;
  readonly scheme: AddressBook['scheme'];
  readonly size: number;
  readonly indexOf: AddressBook['indexOf'];
}

const SCHEME = { fingerprint: KEY.fingerprint, key: undefined };

/** A book as it is now. */
function viewOf({ end, head, scheme, size }: AddressBook, known: ReadonlySet<string>): View {
  const accounts = new Set(known);
  const indexOf = (account: Buffer): number | undefined =>
    accounts.has(bytesKey(account)) ? 0 : undefined;
  return { end, head, scheme, size, indexOf };
}

function request(account: number): DepositAddressEvent {
  return { type: 'AddressRequested', clt_address: accountAt(account), requested_at: BEGIN };
}

function panel(account: number): DepositAddressEvent {
  return { type: 'PanelOpened', clt_address: accountAt(account), opened_at: BEGIN };
}

test('each new account gets the next index and its address once, and each event its place', () => {
  const known = new Set([bytesKey(accountAt(1))]);
  const book = { ...viewOf(new AddressBook(), known), scheme: SCHEME, size: 4 };
  const events = [request(1), panel(1), request(2), request(2), panel(2), request(3), PIN];
  expect(written(events, book, 9n, KEY)).toEqual([
    { ...panel(1), sequence: 9 },
    { ...request(2), sequence: 10, derivation_index: 4, deposit_address: KEY.addressAt(4) },
    { ...panel(2), sequence: 11 },
    { ...request(3), sequence: 12, derivation_index: 5, deposit_address: KEY.addressAt(5) },
  ]);
  expect(written([PIN], new AddressBook(), 0n, KEY)).toEqual([{ ...PIN, sequence: 0 }]);
});

test('however many gateways write on old books: one address an account, dense, derived from the key, in one chain', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    const book = new AddressBook();
    const codec = new NumberedValues<DepositAddressEvent>();
    const nothing = viewOf(book, new Set());
    const views = [nothing];
    const known = new Set<string>();
    for (let round = 0; round < 60; round++) {
      const wanted = Array.from({ length: 1 + random.below(4) }, () => random.below(25));
      // the book as it was up to two rounds ago
      const view = views.at(-1 - random.below(Math.min(3, views.length))) ?? nothing;
      const events = [PIN, ...wanted.flatMap((account) => [request(account), panel(account)])];
      const placed = written(events, view, view.end, KEY);
      for (const { value } of linkedEntries(codec, placed, view.head, 'id')) {
        const event = codec.decode(value);
        const offset = book.end;
        const applied = book.apply(event, offset, hashOfValue(value)) === 'applied';
        if (applied && event.sequence !== Number(offset)) throw new Error('a lost race counts');
        if (applied && event.type === 'AddressRequested') known.add(bytesKey(event.clt_address));
      }
      views.push(viewOf(book, known));
    }
    expect(book.size).toBeGreaterThan(15);
    const owners = Array.from({ length: book.size }, (_, index) => book.ownerAt(index));
    expect(new Set(owners.map((owner) => owner?.toString('hex'))).size).toBe(book.size);
    owners.forEach((owner, index) => {
      const address = KEY.addressAt(index);
      expect(book.isDerived(KEY, owner ?? Buffer.alloc(0), address)).toBe(true);
    });
  }
});
