import { expect, test } from 'vitest';
import { confirmAll, setPolicy } from '../../../../projections/deposits/domain/confirmation.ts';
import { Ledger } from '../../../../projections/deposits/domain/ledger.ts';
import type { Recorded } from '../../../../projections/contract/projection.ts';
import { NETWORK_LIMITS } from '../../../../schemas/deposit-policy.ts';
import type { TransferEvent, TransferObserved } from '../../../../schemas/tron.transfers/events.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { confirmedEvent, depositEvents } from '../../../support/deposit-events.ts';
import {
  BEGIN,
  ledgerLog,
  openLedger,
  PARTITIONS,
  transferLog,
  USDT_CONTRACT,
  withRefund,
} from '../../../support/deposit-log.ts';
import { DAY_MS } from '../../../support/mint-ledger.ts';
import { plainMoney } from '../../../support/plain-money.ts';
import { Random } from '../../../support/random.ts';
import { expectLedger } from '../../../services/treasury/plain-decisions.ts';

const ACCOUNTS = 15;
const { testnet } = NETWORK_LIMITS;
const POLICY = { network: 'testnet', limits: testnet } as const;
const DECIDING = { now: BEGIN, usdt_contract: USDT_CONTRACT, custody_addresses: [] };

function catchUp(ledger: Ledger, log: readonly TreasuryEvent[]): void {
  for (const event of log.slice(Number(ledger.end))) ledger.apply(event, ledger.end);
}

/** The records that a treasury reads after a start: from its last deposit on, up to a limit. */
function readOn(
  log: readonly TreasuryEvent[],
  transfers: readonly (readonly TransferEvent[])[],
  partition: number,
  most: number,
): Recorded<TransferObserved>[] {
  const offsets = log.flatMap((event, offset) =>
    event.type === 'DepositConfirmed' &&
    event.sequence === offset &&
    event.transfer_partition === partition
      ? [event.transfer_offset]
      : [],
  );
  const from = Math.max(-1, ...offsets) + 1;
  return (transfers[partition] ?? [])
    .slice(from, from + most)
    .flatMap((event, at) =>
      event.type === 'TransferObserved'
        ? [{ event, partition, offset: BigInt(from + at), timestamp: 0 }]
        : [],
    );
}

/**
 * The log of independent treasuries: each folds the log and decides the next transfers of some
 * partitions. Its events land after those of others, twice, or not at all after a kill.
 */
function race(
  transfers: readonly (readonly TransferEvent[])[],
  seed: number,
): readonly TreasuryEvent[] {
  const random = new Random(seed);
  const log: TreasuryEvent[] = [];
  const underway: (readonly TreasuryEvent[])[] = [];
  const ledgers = [openLedger(ACCOUNTS), openLedger(ACCOUNTS), openLedger(ACCOUNTS)];
  for (let step = 0; step < 60; step++) {
    const at = random.below(ledgers.length);
    if (random.chance(0.1)) ledgers[at] = openLedger(ACCOUNTS);
    const ledger = ledgers[at] ?? openLedger(ACCOUNTS);
    if (random.chance(0.8)) catchUp(ledger, log);
    const partitions = [random.below(PARTITIONS), random.below(PARTITIONS)];
    const observed = [...new Set(partitions)].flatMap((partition) =>
      readOn(log.slice(0, Number(ledger.end)), transfers, partition, 1 + random.below(30)),
    );
    const set = setPolicy(ledger, POLICY, BEGIN + step);
    const events =
      ledger.policy === undefined && 'events' in set
        ? set.events
        : confirmAll(ledger, observed, DECIDING).events;
    if (events.length > 0) underway.push(events);
    for (let times = random.below(3); times > 0 && underway.length > 0; times--) {
      const batch = random.chance(0.2)
        ? underway[random.below(underway.length)]
        : underway.splice(random.below(underway.length), 1)[0];
      log.push(...(batch ?? []));
    }
  }
  finish(transfers, log);
  return log;
}

/** One treasury alone, until nothing is left. */
function finish(transfers: readonly (readonly TransferEvent[])[], log: TreasuryEvent[]): void {
  const ledger = openLedger(ACCOUNTS);
  catchUp(ledger, log);
  const set = setPolicy(ledger, POLICY, BEGIN);
  if ('events' in set) log.push(...set.events);
  catchUp(ledger, log);
  for (let partition = 0; partition < PARTITIONS; partition++) {
    log.push(
      ...confirmAll(ledger, readOn(log, transfers, partition, Number.POSITIVE_INFINITY), DECIDING)
        .events,
    );
    catchUp(ledger, log);
  }
}

/** The ledger has the deposits, mints, limits and sums of the plain fold of its log. */
function expectPlain(ledger: Ledger, log: readonly TreasuryEvent[]): void {
  const { stories, mints, sums } = plainMoney(log);
  const told = [...ledger.deposits].map(([id, deposit]) => {
    if (deposit.status === 'absent') throw new Error(`${id} is no deposit`);
    const { clt_address: cltAddress, gross, fee, credit } = deposit.terms;
    return { id, status: deposit.status, owner: cltAddress, gross, fee, credit };
  });
  expect(told).toEqual(
    [...stories.values()].map(({ first, status }) => {
      const { deposit_id: depositId, clt_address: cltAddress, gross, fee, credit } = first;
      return { id: depositId, status, owner: cltAddress, gross, fee, credit };
    }),
  );
  const { gross, credit, fees, shortfalls, minted, refunded } = ledger.sums;
  expect({ gross, retained: fees - shortfalls, minted, held: credit - minted, refunded }).toEqual({
    gross: sums.observed,
    retained: sums.retained,
    minted: sums.minted,
    held: sums.held,
    refunded: sums.refunded,
  });
  expect(sums.observed).toBe(sums.minted + sums.retained + sums.held);
  const live = mints.counted.filter((mint) => mint.live);
  expect([...ledger.live.values()].map(({ sequence }) => sequence).toSorted(ascending)).toEqual(
    live.map(({ sequence }) => sequence),
  );
  expect(ledger.last_nonce).toBe(mints.lastNonce);
  expect(ledger.free_nonces).toEqual([...mints.free].toSorted(ascending));
  expect(ledger.policy?.version).toBe(mints.policies.at(-1)?.version);
  // just before, when and after each mint leaves the window
  const times = mints.counted.flatMap(({ at }) => [-1, 0, 1].map((edge) => at + DAY_MS + edge));
  for (const time of [0, ...times]) expect(ledger.leftAt(time)).toBe(mints.leftAt(time));
}

function ascending(one: number, other: number): number {
  return one - other;
}

test('a ledger of any records has the deposits, mints and sums of a plain fold of them', () => {
  const statuses = new Set<string>();
  for (let seed = 1; seed <= 12; seed++) {
    const log = withRefund(ledgerLog({ seed, accounts: 5, events: 150 }));
    const ledger = new Ledger();
    for (const [offset, event] of log.entries()) ledger.apply(event, BigInt(offset));
    expectPlain(ledger, log);
    for (const { status } of ledger.deposits.values()) statuses.add(status);
  }
  expect(statuses.size).toBe(4);
});

test('every transfer is one deposit on the same terms despite races, restarts and repeats', () => {
  let deposits = 0;
  let ignored = 0;
  for (let seed = 1; seed <= 15; seed++) {
    const transfers = transferLog({ seed, accounts: ACCOUNTS, events: 250 });
    const log = race(transfers, seed);
    const ledger = openLedger(ACCOUNTS);
    ignored += log.filter(
      (event, offset) => ledger.apply(event, BigInt(offset)) === 'ignored',
    ).length;
    expectLedger(log, transfers);
    expectPlain(ledger, log);
    deposits += ledger.deposits.size;
  }
  expect(deposits).toBeGreaterThan(1_000);
  expect(ignored).toBeGreaterThan(1_000);
});

test('repeated records leave the ledger unchanged', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const log = ledgerLog({ seed, accounts: 5, events: 150 });
    const once = openLedger(ACCOUNTS);
    log.forEach((event, offset) => once.apply(event, BigInt(offset)));
    const again = openLedger(ACCOUNTS);
    const random = new Random(seed);
    for (let next = 0; next < log.length; next++) {
      for (let from = next - random.below(Math.min(5, next + 1)); from < next; from++) {
        const event = log[from];
        if (event !== undefined) expect(again.apply(event, BigInt(from))).toBe('replayed');
      }
      const event = log[next];
      if (event !== undefined) again.apply(event, BigInt(next));
    }
    expect([...again.deposits]).toEqual([...once.deposits]);
    expect([again.end, again.sums, again.policy]).toEqual([once.end, once.sums, once.policy]);
  }
});

test('an event written for another offset has no effect and still takes an offset', () => {
  const ledger = openLedger(ACCOUNTS);
  const set = setPolicy(ledger, POLICY, BEGIN);
  for (const event of 'events' in set ? set.events : []) ledger.apply(event, ledger.end);
  const confirmed = confirmedEvent();
  expect(ledger.apply({ ...confirmed, sequence: 2 }, 1n)).toBe('ignored');
  expect([ledger.end, ledger.deposits.size]).toEqual([2n, 0]);
  expect(ledger.apply({ ...confirmed, sequence: 2 }, 2n)).toBe('applied');
  const { deposit_id: depositId } = confirmedEvent({ log_index: 1 });
  expect(ledger.apply({ ...depositEvents(depositId).held('below_minimum'), sequence: 3 }, 3n)).toBe(
    'ignored',
  );
  expect(ledger.end).toBe(4n);
});

test('policies are numbered consecutively; any other number has no effect', () => {
  const ledger = openLedger(ACCOUNTS);
  const set = (version: number): TreasuryEvent => ({
    type: 'PolicySet',
    sequence: Number(ledger.end),
    version,
    network: 'testnet',
    ...testnet,
    decided_at: 0,
  });
  expect([2, 1, 1, 3, 2].map((version) => ledger.apply(set(version), ledger.end))).toEqual([
    'ignored',
    'applied',
    'ignored',
    'ignored',
    'applied',
  ]);
  expect(ledger.policy?.version).toBe(2);
});

test('the mark of a transaction takes an offset, and is no record', () => {
  const ledger = new Ledger();
  expect(ledger.apply(confirmedEvent(), 1n)).toBe('ignored');
  expect(ledger.end).toBe(2n);
});
