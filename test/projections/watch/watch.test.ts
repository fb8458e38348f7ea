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
import { WATCH_ANSWERS } from '../deposits/answers.ts';
import { interleaved } from '../deposits/interleaved.ts';
import { MemoryTables } from '../deposits/memory-tables.ts';
import { plainRows } from '../../support/plain-rows.ts';
import { fixedCases } from '../../support/fixed-cases.ts';

type Event = DepositAddressEvent | TransferEvent;

function tables(): MemoryTables<Event> {
  return new MemoryTables(watch, WATCH_ANSWERS);
}

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
      const folded = tables();
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
        const folded = tables();
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

/** The one entry of the queue after these. */
function entryAfter(
  ...events: readonly (readonly [Event, number])[]
): Readonly<Record<string, unknown>> {
  const folded = tables();
  events.forEach(([event, partition], from) => folded.apply({ partition, from, events: [event] }));
  expect(folded.rows('queue')).toHaveLength(1);
  return folded.rows('queue')[0] ?? {};
}

test('an address is hot for 24 hours after its request and after each panel opening', () => {
  const begin: readonly (readonly [Event, number])[] = [
    [PINNED, 0],
    [requested(BEGIN), 0],
  ];
  expect(entryAfter(...begin)).toMatchObject({
    hot: true,
    hot_until: BEGIN + HOT_WINDOW_MS,
    checked_at: 0,
  });
  const end = BEGIN + HOT_WINDOW_MS;
  expect(entryAfter(...begin, [checked(end - 1, BEGIN), PARTITION])).toMatchObject({
    hot: true,
    checked_at: end - 1,
    checked_until: BEGIN,
  });
  expect(entryAfter(...begin, [checked(end, BEGIN), PARTITION])).toMatchObject({ hot: false });
  expect(
    entryAfter(...begin, [checked(end, BEGIN), PARTITION], [opened(end + 5), 0]),
  ).toMatchObject({
    hot: true,
    hot_until: end + 5 + HOT_WINDOW_MS,
  });
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
  const begin: readonly (readonly [Event, number])[] = [
    [PINNED, 0],
    [requested(BEGIN), 0],
  ];
  const hour = 3_600_000;
  const check = [checked(BEGIN + hour, BEGIN), PARTITION] as const;
  expect(entryAfter(...begin)).toMatchObject({
    due_at: BEGIN,
    pause_level: 0,
    turn_at: BEGIN,
    openings: 1,
  });
  expect(entryAfter(...begin, check)).toMatchObject({
    due_at: BEGIN + hour + hour / 4,
    pause_level: 5,
    turn_at: BEGIN + hour,
  });
  // an account that looks again and again without paying has longer pauses
  const looks = [opened(BEGIN + 1), opened(BEGIN + 2), opened(BEGIN)].map(
    (event) => [event, 0] as const,
  );
  expect(entryAfter(...begin, ...looks, check)).toMatchObject({
    openings: 4,
    due_at: BEGIN + hour + hour - 2,
  });
  expect(entryAfter(...begin, check, [paid(), PARTITION])).toMatchObject({
    paid: true,
    due_at: BEGIN + hour + hour / 16,
  });
  expect(entryAfter(...begin, check, [paid(0n), PARTITION])).toMatchObject({ paid: false });
  expect(entryAfter(...begin, check, [opened(BEGIN + 2 * hour), 0])).toMatchObject({
    due_at: BEGIN + 2 * hour,
    turn_at: BEGIN + 2 * hour,
  });
});

test('times in the queue never decrease', () => {
  const entry = entryAfter(
    [PINNED, 0],
    [requested(BEGIN), 0],
    [checked(BEGIN + 9, 9), PARTITION],
    [checked(BEGIN + 5, 12), PARTITION],
    [opened(5), 0],
  );
  expect(entry).toMatchObject({
    hot_until: BEGIN + HOT_WINDOW_MS,
    checked_at: BEGIN + 9,
    checked_until: 12,
  });
});

test('a record in the wrong partition for its address has no effect', () => {
  const other = (PARTITION + 1) % 6;
  expect(
    entryAfter([PINNED, 0], [requested(BEGIN), 0], [checked(BEGIN + 9, 9), other]),
  ).toMatchObject({ checked_at: 0, checked_until: 0 });
});

test('addresses that become hot are announced; others are not', () => {
  const batch = (
    [PINNED, requested(BEGIN), opened(BEGIN - 5), checked(BEGIN, BEGIN)] satisfies Event[]
  ).map((event, at) => ({
    event,
    partition: 0,
    offset: BigInt(at),
    timestamp: 0,
  }));
  expect(watch.fold({}, batch.slice(0, 3), plainRows)).toMatchObject({
    announced: [`0x${ADDRESS.toString('hex')}`],
    outcomes: { applied: 3 },
  });
  expect(
    watch.fold(
      {},
      batch
        .slice(3)
        .map(({ event, offset }) => ({ event, offset, partition: PARTITION, timestamp: 0 })),
      plainRows,
    ),
  ).toMatchObject({ announced: [], outcomes: { applied: 1 } });
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
