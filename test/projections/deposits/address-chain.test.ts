/** The chain of records of `deposit.addresses`, in memory and in both read models (LOG-8). */
import { expect, test } from 'vitest';
import { AddressBook } from '../../../projections/deposits/domain/address-book.ts';
import { deposits } from '../../../projections/deposits/deposits.ts';
import { watch } from '../../../projections/watch/watch.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import { BrokenChain } from '../../../schemas/hash-chain.ts';
import { placed } from '../../support/deposit-events.ts';
import { accountAt, BEGIN, depositKey } from '../../support/deposit-log.ts';
import { plainHash, plainHead, plainLinks } from '../../support/plain-chain.ts';
import { FoldedTables, type Folding } from '../folded-tables.ts';

const ACCOUNTS = 8;

type Placed = DepositAddressEvent & { readonly sequence: number };

/** The scheme, then the request of each account and its panel, as a gateway places them. */
const PLACED: readonly Placed[] = [
  {
    type: 'SchemePinned',
    scheme: 'hd',
    extended_public_key: '',
    fingerprint: depositKey().fingerprint,
    pinned_at: BEGIN,
    sequence: 0,
  },
  ...Array.from({ length: ACCOUNTS }, (_, index) => index).flatMap((index): readonly Placed[] => [
    {
      type: 'AddressRequested',
      clt_address: accountAt(index),
      requested_at: BEGIN,
      derivation_index: index,
      deposit_address: depositKey().addressAt(index),
      sequence: 2 * index + 1,
    },
    {
      type: 'PanelOpened',
      clt_address: accountAt(index),
      opened_at: BEGIN,
      sequence: 2 * index + 2,
    },
  ]),
];
const LINKED: readonly Placed[] = plainLinks(PLACED);

function headInMemory(log: readonly DepositAddressEvent[]): Buffer {
  const book = new AddressBook();
  for (const event of log) book.apply(event, book.end, plainHash(event));
  return book.head;
}

const READ_MODELS: readonly Folding<DepositAddressEvent>[] = [deposits, watch];

function storedHead(readModel: Folding<DepositAddressEvent>, log: readonly DepositAddressEvent[]) {
  const tables = new FoldedTables(readModel);
  for (const [from, event] of log.entries()) tables.apply({ from, events: [event] });
  return tables.rows('book')[0]?.['head'];
}

function expectBroken(log: readonly DepositAddressEvent[]): void {
  expect(() => headInMemory(log)).toThrow(BrokenChain);
  for (const readModel of READ_MODELS) expect(() => storedHead(readModel, log)).toThrow(/names/);
}

function expectHead(log: readonly DepositAddressEvent[], head: Buffer): void {
  expect(headInMemory(log)).toEqual(head);
  for (const readModel of READ_MODELS) expect(storedHead(readModel, log)).toEqual(head);
}

test('the head is the same in memory and in both read models', () => {
  expectHead(LINKED, plainHead(LINKED));
});

test('a record that lost a race is no part of the chain', () => {
  const lost = {
    type: 'PanelOpened',
    clt_address: accountAt(0),
    opened_at: 1,
    sequence: 3,
  } as const;
  expectHead([...LINKED, lost], plainHead(LINKED));
});

/** The first five as an older writer wrote them: for any place, with no link. */
const OLD = PLACED.slice(0, 5).map(({ sequence: _sequence, ...event }) => event);
const LATER = ((): readonly DepositAddressEvent[] => {
  const log: DepositAddressEvent[] = [...OLD];
  for (const event of PLACED.slice(5)) log.push({ ...event, previous: plainHead(log) });
  return log;
})();

test('a chain that begins behind the records of an older writer covers them', () => {
  expectHead(LATER, plainHead(LATER));
  const [, request] = OLD;
  if (request?.type !== 'AddressRequested') throw new Error('the first request comes second');
  expectBroken(LATER.with(1, { ...request, requested_at: BEGIN + 1 }));
});

const [FIRST, SECOND] = [LINKED[1], LINKED[3]];

test('a record that was changed, moved or removed is found by every reader', () => {
  if (FIRST?.type !== 'AddressRequested' || SECOND?.type !== 'AddressRequested')
    throw new Error('these are requests');
  expectBroken(LINKED.with(1, { ...FIRST, requested_at: BEGIN + 1 }));
  const [one, other] = [FIRST.clt_address, SECOND.clt_address];
  expectBroken(
    LINKED.with(1, { ...FIRST, clt_address: other }).with(3, { ...SECOND, clt_address: one }),
  );
  expectBroken(placed(LINKED.toSpliced(2, 1)));
});

test('a record that breaks the chain changes nothing, and is refused again', () => {
  const book = new AddressBook();
  const [first, second] = LINKED;
  if (first === undefined || second === undefined) throw new Error('the log has two records');
  book.apply(first, 0n, plainHash(first));
  const broken = { ...second, previous: Buffer.alloc(32, 1) };
  for (let times = 0; times < 2; times++)
    expect(() => book.apply(broken, 1n, plainHash(broken))).toThrow(BrokenChain);
  expect([book.end, book.size]).toEqual([1n, 0]);
  expect(book.apply(second, 1n, plainHash(second))).toBe('applied');
});
