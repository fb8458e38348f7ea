import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOT_WINDOW_MS } from '../../../projections/watch/queue.ts';
import { watch } from '../../../projections/watch/watch.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import type { DepositAddressEvent } from '../../../schemas/deposit.addresses/events.ts';
import type { TransferEvent } from '../../../schemas/tron.transfers/events.ts';
import {
  accountAt,
  addressLog,
  BEGIN,
  depositKey,
  transferLog,
  XPUB,
} from '../../support/deposit-log.ts';
import { plainWatch } from '../../support/plain-deposits.ts';
import { differences, digestOf } from '../../support/plain-fold.ts';
import { interleaved } from '../deposits/interleaved.ts';
import { FoldedTables } from '../folded-tables.ts';
import { specify, type Specification } from '../specify.ts';
import { fixedCases } from '../../support/fixed-cases.ts';

type Event = DepositAddressEvent | TransferEvent;

interface Logs {
  readonly addresses: readonly DepositAddressEvent[];
  readonly transfers: readonly (readonly TransferEvent[])[];
  readonly all: readonly { readonly partition: number; readonly events: readonly Event[] }[];
}

function logsOf(seed: number): Logs {
  const addresses = addressLog({ seed, accounts: 15, events: 60 });
  const transfers = transferLog({ seed: seed + 1, accounts: 15, events: 120 });
  return {
    addresses,
    transfers,
    all: [
      { partition: 0, events: addresses },
      ...transfers.map((events, partition) => ({ partition, events })),
    ],
  };
}

const CUTS = fc.record({
  seed: fc.integer({ min: 0 }),
  cut: fc.integer({ min: 0 }),
  size_max: fc.integer({ min: 1, max: 40 }),
  back: fc.nat({ max: 6 }),
});

test('for any batches, redeliveries and interleavings the rows equal a plain fold of the logs', () => {
  const counts = { transfers: 0, hot: 0, cold: 0, unrequested: 0, paid: 0 };
  fc.assert(
    fc.property(CUTS, ({ seed, cut, size_max, back }) => {
      const { addresses, transfers, all } = logsOf(seed);
      const folded = new FoldedTables(watch);
      for (const stretch of interleaved(all, { seed: cut, size_max, back })) folded.apply(stretch);
      expect(differences(folded.texts(), plainWatch(addresses, transfers))).toEqual([]);
      counts.transfers += folded.rows('transfers').length;
      for (const { hot, requested, paid } of folded.rows('queue')) {
        counts[requested === false ? 'unrequested' : hot === true ? 'hot' : 'cold']++;
        if (paid === true) counts.paid++;
      }
    }),
    { numRuns: 10, examples: fixedCases(5, CUTS) },
  );
  expect(counts.transfers).toBeGreaterThan(100);
  expect(counts.hot).toBeGreaterThan(50);
  expect(counts.unrequested).toBeGreaterThan(0);
  expect(counts.paid).toBeGreaterThan(30);
});

test('the order of the topics and the batch size do not change the rows', () => {
  for (let seed = 1; seed <= 8; seed++) {
    const { addresses, transfers, all } = logsOf(seed);
    const digests = [all, all.toReversed()].flatMap((logs) =>
      [1, 1_000].map((size) => {
        const folded = new FoldedTables(watch);
        for (const { partition, events } of logs) {
          for (let from = 0; from < events.length; from += size)
            folded.apply({ partition, from, events: events.slice(from, from + size) });
        }
        return digestOf(folded.texts());
      }),
    );
    expect(new Set([...digests, digestOf(plainWatch(addresses, transfers))]).size).toBe(1);
  }
});

const ADDRESS = depositKey().addressAt(0);
const PARTITION = transferPartition(ADDRESS);
const PINNED: DepositAddressEvent = {
  type: 'SchemePinned',
  scheme: 'hd',
  extended_public_key: XPUB,
  pinned_at: 0,
};
const requested = (at: number): DepositAddressEvent => ({
  type: 'AddressRequested',
  clt_address: accountAt(0),
  requested_at: at,
});
const opened = (at: number): DepositAddressEvent => ({
  type: 'PanelOpened',
  clt_address: accountAt(0),
  opened_at: at,
});
const checked = (at: number, until: number): TransferEvent => ({
  type: 'AddressesChecked',
  checked_at: at,
  checked: [{ address: ADDRESS, until }],
});

/** The address has been asked for. */
const begun: Specification<Event> = specify<Event>(watch).given([PINNED, requested(BEGIN)]);

test('an address is hot for 24 hours after its request and after each panel opening', () => {
  const end = BEGIN + HOT_WINDOW_MS;
  begun.thenRows({ queue: [{ hot: true, hot_until: end, checked_at: 0 }] });
  begun
    .when([checked(end - 1, BEGIN)], PARTITION)
    .thenRows({ queue: [{ hot: true, checked_at: end - 1, checked_until: BEGIN }] });
  const cold = begun.given([checked(end, BEGIN)], PARTITION);
  cold.thenRows({ queue: [{ hot: false }] });
  cold
    .when([opened(end + 5)])
    .thenRows({ queue: [{ hot: true, hot_until: end + 5 + HOT_WINDOW_MS }] });
});

const paid = (value = 1n): TransferEvent => ({
  type: 'TransferObserved',
  tx_id: Buffer.alloc(32, 7),
  log_index: 0,
  block_number: 1,
  block_timestamp: BEGIN,
  contract: Buffer.alloc(20, 8),
  from: Buffer.alloc(20, 9),
  to: ADDRESS,
  value,
  address_index: 0,
});

test('a hot address is due at once, and after a check when a part of its time since the opening has passed', () => {
  const hour = 3_600_000;
  const check = [checked(BEGIN + hour, BEGIN)];
  begun.thenRows({ queue: [{ due_at: BEGIN, pause_level: 0, turn_at: BEGIN, openings: 1 }] });
  const once = begun.given(check, PARTITION);
  once.thenRows({
    queue: [{ due_at: BEGIN + hour + hour / 4, pause_level: 5, turn_at: BEGIN + hour }],
  });
  // an account that looks again and again without paying has longer pauses
  begun
    .given([opened(BEGIN + 1), opened(BEGIN + 2), opened(BEGIN)])
    .when(check, PARTITION)
    .thenRows({ queue: [{ openings: 4, due_at: BEGIN + hour + hour - 2 }] });
  once
    .when([paid()], PARTITION)
    .thenRows({ queue: [{ paid: true, due_at: BEGIN + hour + hour / 16 }] });
  once.when([paid(0n)], PARTITION).thenRows({ queue: [{ paid: false }] });
  once
    .when([opened(BEGIN + 2 * hour)])
    .thenRows({ queue: [{ due_at: BEGIN + 2 * hour, turn_at: BEGIN + 2 * hour }] });
});

test('times in the queue never decrease', () => {
  begun
    .given([checked(BEGIN + 9, 9)], PARTITION)
    .when([checked(BEGIN + 5, 12)], PARTITION)
    .when([opened(5)])
    .thenRows({
      queue: [{ hot_until: BEGIN + HOT_WINDOW_MS, checked_at: BEGIN + 9, checked_until: 12 }],
    });
});

test('a record in the wrong partition for its address has no effect', () => {
  begun
    .when([checked(BEGIN + 9, 9)], (PARTITION + 1) % 6)
    .thenRows({ queue: [{ checked_at: 0, checked_until: 0 }] });
});

test('addresses that become hot are announced; others are not', () => {
  specify<Event>(watch)
    .when([PINNED, requested(BEGIN), opened(BEGIN - 5)])
    .thenFolded({
      announced: [`0x${ADDRESS.toString('hex')}`],
      outcomes: { applied: 3 },
    });
  specify<Event>(watch)
    .when([checked(BEGIN, BEGIN)], PARTITION)
    .thenFolded({ announced: [], outcomes: { applied: 1 } });
});

test('isEvent accepts the events of its topics only', () => {
  const types = [
    'SchemePinned',
    'AddressRequested',
    'PanelOpened',
    'TransferObserved',
    'AddressesChecked',
    'DepositConfirmed',
    'toString',
  ];
  expect(types.map((type) => watch.isEvent({ type }))).toEqual([
    true,
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});
