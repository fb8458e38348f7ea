import { expect, test } from 'vitest';
import {
  AddressBook,
  judge,
  type Book,
} from '../../../../projections/deposits/domain/address-book.ts';
import type { DepositAddressEvent } from '../../../../schemas/deposit.addresses/events.ts';
import { accountAt, addressLog, depositKey, XPUB } from '../../../support/deposit-log.ts';
import { plainDeposits } from '../../../support/plain-deposits.ts';

const ACCOUNT = accountAt(1);
const KEY = depositKey();
const { fingerprint } = KEY;
/** the next index of the books below in which others are known */
const NEXT = 7;
const ADDRESS = KEY.addressAt(NEXT);

function pin(scheme: string, key: string, of?: Buffer): DepositAddressEvent {
  const pinned = { type: 'SchemePinned', scheme, extended_public_key: key, pinned_at: 0 } as const;
  return of === undefined ? pinned : { ...pinned, fingerprint: of };
}

const REQUEST = { type: 'AddressRequested', clt_address: ACCOUNT, requested_at: 0 } as const;

const EVENTS = {
  'the key': pin('hd', XPUB),
  'the fingerprint': pin('hd', '', fingerprint),
  'another key': pin('hd', `${XPUB.slice(0, -1)}x`),
  'another fingerprint': pin('hd', '', Buffer.alloc(32)),
  'no fingerprint': pin('hd', '', Buffer.alloc(0)),
  'another scheme': pin('single', '', fingerprint),
  'a request of an older writer': REQUEST,
  'a request with its address': { ...REQUEST, derivation_index: NEXT, deposit_address: ADDRESS },
  'a request for another index': {
    ...REQUEST,
    derivation_index: NEXT + 1,
    deposit_address: ADDRESS,
  },
  'a request with a short address': {
    ...REQUEST,
    derivation_index: NEXT,
    deposit_address: ADDRESS.subarray(1),
  },
  'a panel opened': { type: 'PanelOpened', clt_address: ACCOUNT, opened_at: 0 },
} as const satisfies Record<string, DepositAddressEvent>;

const OLD = { fingerprint, key: KEY };
const NEW = { fingerprint, key: undefined };

const BOOKS: Readonly<Record<string, readonly [book: Book, isKnown: boolean]>> = {
  'nothing pinned': [{ scheme: undefined, addresses: 0 }, false],
  'key pinned': [{ scheme: OLD, addresses: NEXT }, false],
  'key pinned, known': [{ scheme: OLD, addresses: NEXT }, true],
  'key pinned, no index left': [{ scheme: OLD, addresses: 2 ** 31 }, false],
  'fingerprint pinned': [{ scheme: NEW, addresses: NEXT }, false],
  'fingerprint pinned, known': [{ scheme: NEW, addresses: NEXT }, true],
};

/** in the order of `BOOKS`: `derived` by the key of the log, or the address of the `log` */
const TABLE: Readonly<Record<keyof typeof EVENTS, readonly string[]>> = {
  'the key': ['pinned', 'replayed', 'replayed', 'replayed', 'replayed', 'replayed'],
  'the fingerprint': ['pinned', 'replayed', 'replayed', 'replayed', 'replayed', 'replayed'],
  'another key': ['ignored', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'],
  'another fingerprint': ['pinned', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'],
  'no fingerprint': ['ignored', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'],
  'another scheme': ['ignored', 'ignored', 'ignored', 'ignored', 'ignored', 'ignored'],
  'a request of an older writer': [
    'ignored',
    'derived',
    'replayed',
    'ignored',
    'ignored',
    'replayed',
  ],
  'a request with its address': ['ignored', 'derived', 'replayed', 'ignored', 'log', 'replayed'],
  'a request for another index': [
    'ignored',
    'derived',
    'replayed',
    'ignored',
    'ignored',
    'replayed',
  ],
  'a request with a short address': [
    'ignored',
    'ignored',
    'ignored',
    'ignored',
    'ignored',
    'ignored',
  ],
  'a panel opened': ['ignored', 'ignored', 'opened', 'ignored', 'ignored', 'opened'],
};

const SOURCES = { derived: KEY, log: ADDRESS };
const CELLS = Object.entries(EVENTS).flatMap(([name, event]) =>
  Object.entries(BOOKS).map(([when, [book, isKnown]], at) => {
    const row: readonly string[] = Object.entries(TABLE).find(([key]) => key === name)?.[1] ?? [];
    return { name, when, event, book, isKnown, cell: row[at] ?? '' };
  }),
);

test.each(CELLS)('$when: $name', ({ event, book, isKnown, cell }) => {
  const judged = judge(book, event, 9n, isKnown);
  if (cell === 'derived' || cell === 'log')
    expect(judged).toEqual({ verdict: 'assigned', source: SOURCES[cell], index: NEXT });
  else expect(judged.verdict).toBe(cell);
  expect(judge(book, { ...event, sequence: 9 }, 9n, isKnown)).toEqual(judged);
  expect(judge(book, { ...event, sequence: 8 }, 9n, isKnown).verdict).toBe('ignored');
});

test('the address book has the owners of a plain fold of the log, also with repeats', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const log = addressLog({ seed, accounts: 10, events: 40 });
    const book = new AddressBook();
    log.forEach((event, offset) => {
      book.apply(event, BigInt(offset));
      if (offset % 7 === 0) expect(book.apply(event, BigInt(offset))).toBe('replayed');
    });
    expect(book.end).toBe(BigInt(log.length));
    const rows = plainDeposits(log, [])['addresses'] ?? [];
    expect(book.size).toBe(rows.length);
    const known = Array.from({ length: book.size }, (_, index) => {
      const account = book.ownerAt(index) ?? Buffer.alloc(0);
      return `${account.toString('hex')} ${book.addressOf(account)?.toString('hex')}`;
    });
    expect(known.toSorted()).toEqual(
      rows
        .map((text): Readonly<Record<string, string>> => JSON.parse(text))
        .map((row) => `${row['clt_address']} ${row['deposit_address']}`)
        .toSorted(),
    );
  }
});

test('an unassigned index has no owner, and an unknown account has no address', () => {
  const book = new AddressBook();
  expect([book.ownerAt(0), book.addressOf(ACCOUNT), book.scheme]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  book.apply(EVENTS['the key'], 0n);
  book.apply(REQUEST, 1n);
  expect(book.ownerAt(0)).toEqual(ACCOUNT);
  expect(book.addressOf(ACCOUNT)).toEqual(KEY.addressAt(0));
  expect([
    book.ownerAt(1),
    book.ownerAt(-1),
    book.ownerAt(0.5),
    book.addressOf(accountAt(2)),
  ]).toEqual([undefined, undefined, undefined, undefined]);
});

test('an address of the log that the key does not derive shows to those who have the key', () => {
  const book = new AddressBook();
  const [own, forged, swapped] = [KEY.addressAt(0), Buffer.alloc(20, 0xbd), KEY.addressAt(0)];
  const given = [own, forged, swapped].map((deposit_address, index): DepositAddressEvent => ({
    type: 'AddressRequested',
    clt_address: accountAt(index),
    requested_at: 0,
    derivation_index: index,
    deposit_address,
  }));
  [EVENTS['the fingerprint'], ...given].forEach((event, offset) =>
    expect(book.apply(event, BigInt(offset))).toBe('applied'),
  );
  expect(book.addressOf(accountAt(1))).toEqual(forged);
  expect(
    [own, forged, swapped].map((address, at) => book.isDerived(KEY, accountAt(at), address)),
  ).toEqual([true, false, false]);
  expect(book.isDerived(KEY, accountAt(1), KEY.addressAt(1))).toBe(false);
  expect(book.isDerived(KEY, accountAt(9), own)).toBe(false);
  expect([own, forged, KEY.addressAt(1)].map((address) => book.has(address))).toEqual([
    true,
    true,
    false,
  ]);
  expect([own, forged, KEY.addressAt(1)].map((address) => book.has(address, KEY))).toEqual([
    true,
    false,
    false,
  ]);
});

test('an address that the log gives out before its turn counts once it is at its index', () => {
  const book = new AddressBook();
  book.apply(EVENTS['the fingerprint'], 0n);
  [0, 1].forEach((index) =>
    book.apply(
      {
        type: 'AddressRequested',
        clt_address: accountAt(index),
        requested_at: 0,
        derivation_index: index,
        deposit_address: KEY.addressAt(1),
      },
      BigInt(index + 1),
    ),
  );
  expect(book.has(KEY.addressAt(1), KEY)).toBe(true);
});

test('the mark of a transaction takes an offset, and is no record', () => {
  const book = new AddressBook();
  book.apply(EVENTS['the key'], 1n);
  expect(book.end).toBe(2n);
});
