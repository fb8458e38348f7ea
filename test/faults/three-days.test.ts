/**
 * Three days of operation within the default requests: 10,000 funded addresses, a deposit every
 * ten minutes, money swept into custody every five minutes. No fee is left in custody, so that any
 * micro-USDT that is read wrongly shows. The clock is virtual: a wait passes at once.
 */
import { expect, test } from 'vitest';
import { NETWORK_LIMITS } from '../../schemas/deposit-policy.ts';
import { toTronAddress } from '../../schemas/tron-address.ts';
import { isReserveEvent, type ReserveReconciled } from '../../schemas/reserve.runs/events.ts';
import { readConfig } from '../../services/runtime/process/config.ts';
import { openLog } from '../../services/runtime/process/log.ts';
import { TokenBucket } from '../../services/runtime/trongrid/token-bucket.ts';
import { LOG_NAMES } from '../../services/treasury/reconciliation/logs.ts';
import { mintingForbidden, NewestRun } from '../../services/treasury/reconciliation/newest-run.ts';
import { BATCH_MAX } from '../../services/treasury/reconciliation/readings.ts';
import { Reconciler } from '../../services/treasury/reconciliation/reconciler.ts';
import {
  RECONCILIATION_SETTINGS,
  refreshRequests,
} from '../../services/treasury/reconciliation/settings.ts';
import { named } from '../support/chain-by-hand.ts';
import { depositEvents } from '../support/deposit-events.ts';
import { BEGIN, USDT_CONTRACT } from '../support/deposit-log.ts';
import { CUSTODY, DAY_MS, Simulated, USD } from '../services/treasury/reconciliation/simulated.ts';

const MINUTE_MS = 60_000;
const ANSWER_MS = 100;
const FUNDED = 10_000;
/** Minting and sweeping are only limited by the reserve. */
const LIMITS = {
  ...NETWORK_LIMITS.testnet,
  first_fee: 0n,
  later_fee: 0n,
  single_cap: 40n * USD,
  rolling_cap: 10n ** 18n,
};

const SETTINGS = readConfig(
  {
    APP_USDT_CONTRACT: toTronAddress(USDT_CONTRACT),
    APP_CUSTODY_ADDRESSES: toTronAddress(CUSTODY),
    APP_TRON_URL: 'http://127.0.0.1:1',
  },
  RECONCILIATION_SETTINGS,
);

const clock = { now: 0, passed: (_to: number): void => undefined };

/** Passes at once. */
function pause(ms: number): Promise<void> {
  clock.passed(clock.now + ms);
  return Promise.resolve();
}

class Operation {
  readonly simulated = new Simulated(LIMITS);
  readonly newest = new NewestRun();
  readonly runs: ReserveReconciled[] = [];
  readonly stop = new AbortController();
  readonly #bucket = new TokenBucket({
    requests_per_second: SETTINGS.reconcile_requests_per_second,
    requests_per_day: SETTINGS.reconcile_requests_per_day,
    now: () => clock.now,
    signal: this.stop.signal,
    pause,
  });
  readonly #every: { readonly ms: number; readonly act: () => void; next: number }[] = [];
  requests = 0;

  constructor() {
    this.simulated.batch_max = BATCH_MAX;
    clock.now = 0;
    clock.passed = (to) => this.#pass(to);
  }

  every(ms: number, act: () => void): void {
    this.#every.push({ ms, act, next: clock.now + ms });
  }

  get isOpen(): boolean {
    const { reconcile_age_max_ms: ageMax } = SETTINGS;
    return mintingForbidden(this.newest, ageMax, this.now) === undefined;
  }

  get now(): number {
    return BEGIN + clock.now;
  }

  get reconciler(): Reconciler {
    const { options } = this.simulated;
    const { provider } = options;
    const limited = <Output>(ask: () => Promise<Output>): Promise<Output> =>
      this.#bucket.run(() => {
        this.requests++;
        this.#pass(clock.now + ANSWER_MS);
        return ask();
      });
    return new Reconciler({
      ...options,
      provider: {
        head: () => limited(() => provider.head()),
        balance: (address) => limited(() => provider.balance(address)),
        balances: (addresses) => limited(() => provider.balances(addresses)),
        isBlocked: (address) => limited(() => provider.isBlocked(address)),
        token: () => limited(() => provider.token()),
        list: (request) => limited(() => provider.list(request)),
        receipt: (tx_id) => limited(() => provider.receipt(tx_id)),
      },
      saved: (requests) => this.#bucket.saved(requests),
      expectedMs: (requests) => this.#bucket.expectedMs(requests),
      refresh_requests: refreshRequests(SETTINGS),
      tolerance: SETTINGS.reserve_tolerance,
      every_ms: SETTINGS.reconcile_every_ms,
      confirm_ms: 6_000,
      logs: { ...options.logs, newest: this.newest, names: LOG_NAMES },
      codec: {
        fingerprintOf: () => 'none',
        encode: (event) => {
          if (isReserveEvent(event)) this.#append(event);
          return Buffer.alloc(0);
        },
      },
      writer: { append: () => Promise.resolve(0n) },
      metrics: { made() {}, token() {}, planned() {}, failed() {}, lag() {} },
      log: openLog({ service: 'test', level: 'fatal' }),
      signal: this.stop.signal,
      source: 'test',
      pause,
      now: () => this.now,
    });
  }

  /** Lets the time pass, with all that happens in it. */
  #pass(to: number): void {
    for (;;) {
      const due = this.#every
        .filter(({ next }) => next <= to)
        .toSorted((one, other) => one.next - other.next)[0];
      if (due === undefined) break;
      clock.now = Math.max(clock.now, due.next);
      due.next += due.ms;
      this.#tick();
      due.act();
    }
    clock.now = Math.max(clock.now, to);
    this.#tick();
  }

  #tick(): void {
    this.simulated.head = Math.max(this.simulated.head, this.now);
  }

  #append(event: ReserveReconciled): void {
    this.runs.push(event);
    const recorded = { event, partition: 0, offset: this.newest.end, timestamp: event.run_at };
    this.newest.fold({
      topic: LOG_NAMES.runs,
      partition: 0,
      from: recorded.offset,
      next: recorded.offset + 1n,
      events: [recorded],
      fingerprints: [Buffer.alloc(32)],
      sizes: [1],
    });
  }
}

test('with 10,000 funded addresses and custody moving every 5 minutes minting is open, and a theft of 1 USDT closes it', async () => {
  const operation = new Operation();
  const { simulated, stop } = operation;
  const funded = Array.from({ length: FUNDED }, (_, at) => named(`user ${at}`));
  const user = (at: number): Buffer => funded[at % FUNDED] ?? CUSTODY;
  simulated.requested(funded.map((address) => simulated.confirm(simulated.pay(address, USD))));
  simulated.finalize();

  // a deposit arrives, is confirmed ten minutes later, and minted when the gate is open
  let deposits = 0;
  const arrived: Buffer[] = [];
  const waiting: string[] = [];
  operation.every(10 * MINUTE_MS, () => {
    if (operation.isOpen && waiting.length > 0) {
      simulated.requested(waiting.splice(0));
      simulated.finalize();
    }
    waiting.push(...arrived.splice(0).map((tx_id) => simulated.confirm(tx_id)));
    arrived.push(simulated.pay(user(deposits++ * 7), 10n * USD));
  });
  // the operator sweeps two addresses at a time
  let swept = 0;
  operation.every(5 * MINUTE_MS, () => {
    for (const address of [user(swept++ * 11), user(swept++ * 11)]) {
      const balance = simulated.balanceOf(address);
      if (balance > 0n) simulated.pay(CUSTODY, balance, { from: address });
    }
  });
  // a deposit waits for a person; after three days 1 USDT of it is stolen
  const victim = named('victim');
  const held = simulated.confirm(simulated.pay(victim, 50n * USD));
  simulated.append(depositEvents(held).held('over_single_cap'));
  let [open, looks, requests] = [0, 0, 0];
  let before: readonly ReserveReconciled[] = [];
  operation.every(MINUTE_MS, () => {
    if (clock.now < 3 * DAY_MS) {
      looks++;
      open += Number(operation.isOpen);
    } else if (before.length === 0) {
      [before, requests] = [[...operation.runs], operation.requests];
      simulated.pay(named('thief'), USD, { from: victim });
    } else if (operation.runs.length >= before.length + 2) stop.abort();
  });
  await operation.reconciler.run();

  expect(open / looks).toBeGreaterThanOrEqual(0.99);
  expect(before.map(({ status, uncovered }) => [status, uncovered])).toEqual(
    before.map(() => ['ok', 0n]),
  );
  expect(requests).toBeLessThanOrEqual(3 * SETTINGS.reconcile_requests_per_day);
  expect(deposits).toBeGreaterThanOrEqual((3 * DAY_MS) / (10 * MINUTE_MS));
  expect(operation.isOpen).toBe(false);
  expect(operation.runs.slice(before.length).map(({ uncovered }) => uncovered)).toContain(USD);
});
