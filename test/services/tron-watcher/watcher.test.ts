/** Passes over a provider and a read model in memory: what is due, clocks, odd answers. */
import { expect, test } from 'vitest';
import { PAGE_ROWS, type ListRequest } from '../../../services/runtime/trongrid/trongrid.ts';
import { Fault } from '../../../services/runtime/process/errors.ts';
import type { Entry } from '../../../services/tron-watcher/read-model.ts';
import { TransferLog } from '../../../services/tron-watcher/transfer-log.ts';
import { Watcher, type WatcherOptions } from '../../../services/tron-watcher/watcher.ts';
import { transferPartition } from '../../../schemas/tron-partition.ts';
import type { ListPage, TronReceipt } from '../../../schemas/trongrid.ts';
import type { TransferEvent } from '../../../schemas/tron.transfers/events.ts';
import { USDT_CONTRACT } from '../../support/deposit-log.ts';
import { never, silentLog } from '../../support/kafka.ts';

const NOW = 1_790_000_000_000;
const HEAD_AGE_MS = 57_000;
const MINUTE_MS = 60_000;
const ALL = [0, 1, 2, 3, 4, 5];
const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

interface Paid {
  readonly to: Buffer;
  readonly at: number;
}

interface Sight {
  readonly head_ages: number[];
  readonly cross_checks: string[];
}

/** Real time is `NOW`; addresses were checked an hour ago, in turn. */
class World {
  readonly paid: Paid[] = [];
  readonly events: TransferEvent[] = [];
  readonly seen: Sight = { head_ages: [], cross_checks: [] };
  readonly lists: ListRequest[] = [];
  heads = 0;
  entries: Entry[] = [];

  constructor(addresses: number) {
    this.entries = Array.from({ length: addresses }, (_, index) => {
      const address = Buffer.alloc(20, index + 1);
      const checked_at = NOW - 60 * MINUTE_MS + index;
      return {
        address,
        partition: transferPartition(address),
        derivation_index: index,
        hot: false,
        checked_at,
        checked_until: checked_at,
        turn_at: checked_at,
      };
    });
  }

  watcher(change: Partial<WatcherOptions> = {}): Watcher {
    return new Watcher({
      provider: this.provider(),
      model: {
        hot: () => Promise.resolve([]),
        inTurn: () => Promise.resolve(this.entries),
        longestDue: () => Promise.resolve({ paid: undefined, unpaid: NOW - MINUTE_MS }),
        receivedAfter: () => Promise.resolve([]),
        entries: () => Promise.resolve([]),
        seen: () => Promise.resolve(new Map()),
        watched: () => Promise.resolve(new Map()),
        observed: () => Promise.resolve(0n),
        folded: () => Promise.resolve(new Map(ALL.map((partition) => [partition, 1_000_000n]))),
      },
      transfers: new TransferLog({
        writer: { append: () => Promise.resolve(0n) },
        codec: { encode: () => Buffer.alloc(0), fingerprintOf: () => 'none' },
        onAppended: (events) => void this.events.push(...events),
      }),
      usdt_contract: USDT_CONTRACT,
      receipts_max: 1_000,
      pass_addresses_max: 50,
      pass_cold_min: 10,
      cold_every_ms: MINUTE_MS,
      overlap_ms: 0,
      cross_check_every: 0,
      cross_check_ms: 0,
      balance_requests_max: 0,
      retry_ms_min: 0,
      retry_ms_max: 0,
      unexplained_ms: 0,
      log: silentLog(),
      signal: never,
      now: () => NOW,
      onStep() {},
      onHeadAge: (age) => void this.seen.head_ages.push(age),
      onCrossCheck: (outcome) => void this.seen.cross_checks.push(outcome),
      ...change,
    });
  }

  /** Lists at most `PAGE_ROWS` rows, and never a fingerprint. */
  provider(): WatcherOptions['provider'] {
    return {
      head: () => Promise.resolve({ number: ++this.heads, timestamp: NOW - HEAD_AGE_MS }),
      list: (request) => Promise.resolve(this.#list(request)),
      receipt: (txId) => Promise.resolve(this.#receipt(txId)),
      balance: () => Promise.resolve(0n),
      balances: () => Promise.reject(new Error('balances are not read')),
      failing() {},
      idle: () => Promise.resolve(0),
    };
  }

  #list(request: ListRequest): ListPage {
    this.lists.push(request);
    const rows = this.paid.flatMap(({ to, at }, index) =>
      to.equals(request.address) && at >= request.min_timestamp
        ? [{ tx_id: txIdOf(index), block_timestamp: at, contract: USDT_CONTRACT }]
        : [],
    );
    return { rows: rows.slice(0, PAGE_ROWS), fingerprint: undefined };
  }

  #receipt(tx_id: Buffer): TronReceipt | undefined {
    const paid = this.paid[tx_id.readUInt32BE()];
    if (paid === undefined) return undefined;
    const topics = [TRANSFER, word(Buffer.alloc(20, 0xee)), word(paid.to)];
    return {
      tx_id,
      block_number: 1,
      block_timestamp: paid.at,
      succeeded: true,
      logs: [{ contract: USDT_CONTRACT, topics, data: '5'.padStart(64, '0') }],
    };
  }

  get observed(): number {
    return this.events.filter(({ type }) => type === 'TransferObserved').length;
  }

  /** The addresses of records, in the order of checks. */
  get checked(): readonly string[] {
    return this.events.flatMap((event) =>
      event.type === 'AddressesChecked'
        ? event.checked.map(({ address }) => address.toString('hex'))
        : [],
    );
  }

  at(index: number): Entry {
    const entry = this.entries[index];
    if (entry === undefined) throw new Error(`there is no address ${index}`);
    return entry;
  }
}

function word(bytes: Buffer): string {
  return bytes.toString('hex').padStart(64, '0');
}

function txIdOf(index: number): Buffer {
  const id = Buffer.alloc(32);
  id.writeUInt32BE(index);
  return id;
}

test('a full page without a fingerprint is not the last: the list goes on from its last row', async () => {
  const world = new World(1);
  const { address } = world.at(0);
  for (let at = 0; at < 2 * PAGE_ROWS + 5; at++)
    world.paid.push({ to: address, at: NOW - 10 * MINUTE_MS + 1_000 * Math.floor(at / 3) });
  await world.watcher().pass(ALL);
  expect(world.observed).toBe(2 * PAGE_ROWS + 5);
  expect(world.lists).toHaveLength(3);
});

test('a page full of one block time, with no page after it, is a bad answer', async () => {
  const world = new World(2);
  for (let at = 0; at < PAGE_ROWS; at++)
    world.paid.push({ to: world.at(0).address, at: NOW - 10 * MINUTE_MS });
  await world.watcher().pass(ALL);
  expect(world.observed).toBe(PAGE_ROWS);
  const [until] = world.events.flatMap((event) =>
    event.type === 'AddressesChecked'
      ? event.checked.filter(({ address }) => address.equals(world.at(0).address))
      : [],
  );
  expect(until).toMatchObject({ until: world.at(0).checked_until });
});

test('the cursor stays before an undecided transfer that the next lists leave out', async () => {
  const world = new World(1);
  const { address } = world.at(0);
  const at = NOW - 10 * MINUTE_MS;
  world.paid.push({ to: address, at });
  const honest = world.provider();
  let lists = 0;
  const provider: WatcherOptions['provider'] = {
    ...honest,
    list: (request) =>
      lists++ === 0 ? honest.list(request) : Promise.resolve({ rows: [], fingerprint: undefined }),
    receipt: () => Promise.resolve(undefined),
  };
  const watcher = world.watcher({ provider });
  for (let time = 0; time < 3; time++) await watcher.pass(ALL);
  const cursors = world.events.flatMap((event) =>
    event.type === 'AddressesChecked' ? event.checked.map(({ until }) => until) : [],
  );
  expect(cursors).toEqual([at - 1, at - 1, at - 1]);
});

test.each([
  ['three minutes slow', -3 * MINUTE_MS],
  ['fifty minutes slow', -50 * MINUTE_MS],
  ['right', 0],
  ['two days fast', 2 * 24 * 60 * MINUTE_MS],
])('a clock that is %s delays no deposit, and shows', async (_what, apart) => {
  const world = new World(3);
  // checked a moment ago by a watcher whose clock is right
  world.entries = world.entries.map((entry) => ({ ...entry, turn_at: NOW - 3 * MINUTE_MS }));
  world.paid.push({ to: world.at(1).address, at: NOW - HEAD_AGE_MS - 3_000 });
  expect(await world.watcher({ now: () => NOW + apart }).pass(ALL)).toBe(3);
  expect(world.observed).toBe(1);
  expect(world.seen.head_ages).toEqual([HEAD_AGE_MS + apart]);
  for (const event of world.events)
    if (event.type === 'AddressesChecked') {
      expect(event.checked_at).toBeGreaterThanOrEqual(NOW - HEAD_AGE_MS);
      expect(event.checked_at).toBeLessThanOrEqual(NOW + 60 * MINUTE_MS);
    }
});

test('a head more than an hour ahead of the clock stops the watcher', async () => {
  const world = new World(1);
  const watcher = world.watcher({ now: () => NOW - 62 * MINUTE_MS });
  await expect(watcher.pass(ALL)).rejects.toMatchObject({ code: 'clock_behind', retry: true });
  expect(world.lists).toEqual([]);
});

test('without due addresses the head is asked for once a minute', async () => {
  const world = new World(0);
  let now = NOW;
  const watcher = world.watcher({ now: () => now });
  for (now of [NOW, NOW + 5_000, NOW + 59_000, NOW + 61_000]) await watcher.pass(ALL);
  expect(world.heads).toBe(2);
});

test('the ages of the rotation and of hot addresses grow while no pass is made', async () => {
  const world = new World(2);
  let now = NOW;
  const watcher = world.watcher({ now: () => now });
  const first = { turn: 60 * MINUTE_MS, paid: 0, unpaid: MINUTE_MS };
  expect(await watcher.ages(ALL)).toEqual(first);
  now += 5 * MINUTE_MS;
  expect(await watcher.ages(ALL)).toEqual({ turn: 65 * MINUTE_MS, paid: 0, unpaid: 6 * MINUTE_MS });
});

test('a provider that refuses balances alone ends no pass', async () => {
  const world = new World(20);
  world.paid.push({ to: world.at(19).address, at: NOW - 10 * MINUTE_MS });
  const refused = new Fault('tron_throttled', 'it answered 403', { retry: true });
  const provider = { ...world.provider(), balance: () => Promise.reject(refused) };
  expect(await world.watcher({ provider, cross_check_every: 1 }).pass(ALL)).toBe(20);
  expect(world.observed).toBe(1);
  expect(new Set(world.seen.cross_checks)).toEqual(new Set(['no_balance']));
});

test('an address whose list is always a bad answer is counted from the third time on, as long as it is', async () => {
  const world = new World(4);
  const bad = world.at(0).address;
  let isBad = true;
  const honest = world.provider();
  const provider: WatcherOptions['provider'] = {
    ...honest,
    list: (request) =>
      isBad && request.address.equals(bad)
        ? Promise.reject(new Fault('tron_answer', 'no JSON', { retry: true }))
        : honest.list(request),
  };
  const watcher = world.watcher({ provider });
  const failing: number[] = [];
  const pass = async (partitions = ALL): Promise<void> => {
    await watcher.pass(partitions);
    failing.push(watcher.retries.failing);
  };
  for (let time = 0; time < 4; time++) await pass();
  isBad = false;
  await pass();
  expect(failing).toEqual([0, 0, 1, 1, 0]);
  // the partition of the address goes to another watcher
  isBad = true;
  for (let time = 0; time < 3; time++) await pass();
  world.entries = world.entries.slice(1);
  await pass(ALL.filter((partition) => partition !== transferPartition(bad)));
  expect(failing.slice(-2)).toEqual([1, 0]);
});
