import { expect, test } from 'vitest';
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import { BrokenChain, hashOfValue, NO_RECORDS } from '../../../../schemas/hash-chain.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import type { LogEntry } from '../../../../services/runtime/kafka/record.ts';
import { toEntries } from '../../../../services/treasury/ledger/ledger-writer.ts';
import { confirmedEvent, depositEvents, placed } from '../../../support/deposit-events.ts';
import { NumberedValues } from '../../../support/plain-chain.ts';

const FIRST = confirmedEvent();
const EVENTS = depositEvents(FIRST.deposit_id);

function apply(
  ledger: Ledger,
  codec: NumberedValues<TreasuryEvent>,
  entries: readonly LogEntry[],
): void {
  for (const { value } of entries)
    ledger.apply(codec.decode(value), ledger.end, hashOfValue(value));
}

test('each event of a batch names the hash of the one before it, the first the head of the ledger', () => {
  const codec = new NumberedValues<TreasuryEvent>();
  const ledger = new Ledger();
  apply(
    ledger,
    codec,
    toEntries(codec, placed([FIRST, EVENTS.held('below_minimum')]), ledger.head),
  );
  const next = placed<TreasuryEvent>([EVENTS.rejected(), EVENTS.refunded(1n)], 2);
  const entries = toEntries(codec, next, ledger.head);
  const links = entries.map(({ value }) => codec.decode(value).previous);
  expect(links[0]).toEqual(ledger.head);
  apply(ledger, codec, entries.slice(0, 1));
  expect(links[1]).toEqual(ledger.head);
  apply(ledger, codec, entries.slice(1));
});

test('a batch on another ledger does not follow', () => {
  const codec = new NumberedValues<TreasuryEvent>();
  const ledger = new Ledger();
  apply(ledger, codec, toEntries(codec, [FIRST], NO_RECORDS));
  const other = new Ledger();
  apply(other, codec, toEntries(codec, [{ ...FIRST, gross: 1n }], NO_RECORDS));
  const entries = toEntries(codec, placed([EVENTS.held('below_minimum')], 1), other.head);
  expect(() => apply(ledger, codec, entries)).toThrow(BrokenChain);
});

test('a batch that lost a race leaves nothing in the chain, and the next one follows', () => {
  const codec = new NumberedValues<TreasuryEvent>();
  const ledger = new Ledger();
  const [winner, loser] = [FIRST, { ...FIRST, gross: 9_000_000n }].map((event) =>
    toEntries(codec, [event], ledger.head),
  );
  apply(ledger, codec, winner ?? []);
  const { head } = ledger;
  apply(ledger, codec, loser ?? []);
  expect(ledger.head).toEqual(head);
  apply(ledger, codec, toEntries(codec, placed([EVENTS.held('below_minimum')], 2), ledger.head));
  expect(ledger.head).not.toEqual(head);
});
