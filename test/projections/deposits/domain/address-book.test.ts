import { expect, test } from 'vitest';
import { AddressBook, judge } from '../../../../projections/deposits/domain/address-book.ts';
import type { DepositAddressEvent } from '../../../../schemas/deposit.addresses/events.ts';
import { accountAt, addressLog, depositKey, XPUB } from '../../../support/deposit-log.ts';
import { plainDeposits } from '../../../support/plain-deposits.ts';

const ACCOUNT = accountAt(1);
const KEY = depositKey();

function pin(scheme: string, key: string): DepositAddressEvent {
  return { type: 'SchemePinned', scheme, extended_public_key: key, pinned_at: 0 };
}

const EVENTS = {
  'the scheme': pin('hd', XPUB),
  'another key': pin('hd', `${XPUB.slice(0, -1)}x`),
  'another scheme': pin('single', XPUB),
  'a request': { type: 'AddressRequested', clt_address: ACCOUNT, requested_at: 0 },
  'a panel opened': { type: 'PanelOpened', clt_address: ACCOUNT, opened_at: 0 },
} as const satisfies Record<string, DepositAddressEvent>;

const BOOKS = {
  'nothing pinned': [{ key: undefined, addresses: 0 }, false],
  'pinned, nobody known': [{ key: KEY, addresses: 0 }, false],
  'pinned, others known': [{ key: KEY, addresses: 7 }, false],
  'pinned, the account known': [{ key: KEY, addresses: 7 }, true],
  'no index left': [{ key: KEY, addresses: 2 ** 31 }, false],
} as const;

type Cell = 'pinned' | 'opened' | 'replayed' | 'ignored' | number;

/** the outcome; a number is the assigned index */
const TABLE: Record<keyof typeof EVENTS, Record<keyof typeof BOOKS, Cell>> = {
  'the scheme': {
    'nothing pinned': 'pinned',
    'pinned, nobody known': 'replayed',
    'pinned, others known': 'replayed',
    'pinned, the account known': 'replayed',
    'no index left': 'replayed',
  },
  'another key': {
    'nothing pinned': 'ignored',
    'pinned, nobody known': 'ignored',
    'pinned, others known': 'ignored',
    'pinned, the account known': 'ignored',
    'no index left': 'ignored',
  },
  'another scheme': {
    'nothing pinned': 'ignored',
    'pinned, nobody known': 'ignored',
    'pinned, others known': 'ignored',
    'pinned, the account known': 'ignored',
    'no index left': 'ignored',
  },
  'a request': {
    'nothing pinned': 'ignored',
    'pinned, nobody known': 0,
    'pinned, others known': 7,
    'pinned, the account known': 'replayed',
    'no index left': 'ignored',
  },
  'a panel opened': {
    'nothing pinned': 'ignored',
    'pinned, nobody known': 'ignored',
    'pinned, others known': 'ignored',
    'pinned, the account known': 'opened',
    'no index left': 'ignored',
  },
};

function keysOf<Key extends string>(table: Readonly<Record<Key, unknown>>): Key[] {
  return Object.keys(table).filter((key): key is Key => key in table);
}

test.each(
  keysOf(TABLE).flatMap((what) =>
    keysOf(TABLE[what]).map((when) => ({ what, when, cell: TABLE[what][when] })),
  ),
)('$when: $what', ({ what, when, cell }) => {
  const [book, isKnown] = BOOKS[when];
  const judged = judge(book, EVENTS[what], isKnown);
  if (typeof cell === 'number')
    expect(judged).toEqual({ verdict: 'assigned', key: KEY, index: cell });
  else expect(judged.verdict).toBe(cell);
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
  expect([book.ownerAt(0), book.addressOf(ACCOUNT), book.key]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  book.apply(EVENTS['the scheme'], 0n);
  book.apply(EVENTS['a request'], 1n);
  expect(book.ownerAt(0)).toEqual(ACCOUNT);
  expect(book.addressOf(ACCOUNT)).toEqual(KEY.addressAt(0));
  expect([
    book.ownerAt(1),
    book.ownerAt(-1),
    book.ownerAt(0.5),
    book.addressOf(accountAt(2)),
  ]).toEqual([undefined, undefined, undefined, undefined]);
});

test('a missing record is a bug of the reader', () => {
  const book = new AddressBook();
  expect(() => book.apply(EVENTS['the scheme'], 1n)).toThrow(
    'deposit.addresses continues at 0, not at 1: records are missing',
  );
});
