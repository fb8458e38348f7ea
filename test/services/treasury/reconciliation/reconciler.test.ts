import { expect, onTestFinished, test } from 'vitest';
import { isReserveEvent, type ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import type { TokenState } from '../../../../schemas/trongrid.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { openLog } from '../../../../services/runtime/process/log.ts';
import { LOG_NAMES } from '../../../../services/treasury/reconciliation/logs.ts';
import {
  mintingForbidden,
  NewestRun,
} from '../../../../services/treasury/reconciliation/newest-run.ts';
import { MintSigner } from '../../../../services/treasury/minting/mint-signer.ts';
import { Reconciler } from '../../../../services/treasury/reconciliation/reconciler.ts';
import { named } from '../../../support/chain-by-hand.ts';
import { BEGIN } from '../../../support/deposit-log.ts';
import { toTronAddress } from '../../../../schemas/tron-address.ts';
import { CUSTODY, Simulated, UNTOUCHED, USD } from './simulated.ts';

const ALICE = named('alice');
const OUTSIDE = named('outside');
const EVERY_MS = 60;
const SIGNER = new MintSigner(`0x${'51'.repeat(32)}`, 1);

/** A reconciler whose runs stay in memory; Alice has 8 USD, of the 10 that came. */
class Reconciling {
  readonly simulated = new Simulated();
  readonly runs: ReserveReconciled[] = [];
  readonly failures: string[] = [];
  readonly lines: string[] = [];
  /** of the newest measurement */
  token: TokenState | undefined;
  /** how long the provider takes for one */
  balance_ms = 0;
  /** the log takes no records */
  unwritable = false;
  readonly newest = new NewestRun(SIGNER.address);
  readonly reconciler: Reconciler;
  readonly #stop = new AbortController();
  readonly #begun = performance.now();

  constructor(every = EVERY_MS) {
    const { newest } = this;
    this.simulated.credited(ALICE, 10n * USD);
    const { options } = this.simulated;
    this.reconciler = new Reconciler({
      ...options,
      logs: { ...options.logs, newest, names: LOG_NAMES },
      codec: {
        fingerprintOf: () => 'none',
        encode: (event) => {
          if (this.unwritable) throw new Fault('unwritable', 'no broker', { retry: true });
          if (isReserveEvent(event)) this.append(event);
          return Buffer.alloc(0);
        },
      },
      writer: { append: () => Promise.resolve(0n) },
      metrics: {
        made() {},
        token: (state) => void (this.token = state),
        planned() {},
        failed: (code) => void this.failures.push(code),
        lag() {},
      },
      log: openLog({
        service: 'test',
        level: 'warn',
        destination: { write: (line) => void this.lines.push(line) },
      }),
      expectedMs: (questions) => questions * this.balance_ms,
      signal: this.#stop.signal,
      every_ms: every,
      confirm_ms: 1,
      signer: SIGNER,
      source: 'test',
      now: () => this.now,
    });
  }

  get now(): number {
    return BEGIN + Math.round(performance.now() - this.#begun);
  }

  get isOpen(): boolean {
    return mintingForbidden(this.newest, 3_600_000, this.now) === undefined;
  }

  /** As anybody may, in the log. */
  append(event: ReserveReconciled): void {
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

  /** Works on its schedule until the test ends. */
  start(): void {
    const ended = this.reconciler.run();
    onTestFinished(async () => {
      this.#stop.abort();
      await ended;
    });
  }
}

test('a difference in custody that the second measurement does not show is not published', async () => {
  const missing = new Reconciling();
  missing.simulated.stale = 3;
  expect(await missing.reconciler.once()).toMatchObject({
    status: 'ok',
    custody_reported: 10n * USD,
  });
  expect(missing.runs).toHaveLength(1);

  const passing = new Reconciling();
  passing.simulated.pay(CUSTODY, 7n * USD, { from: OUTSIDE });
  passing.simulated.beforeBalance = (asked) => {
    if (asked === 4) passing.simulated.pay(OUTSIDE, 7n * USD, { from: CUSTODY });
  };
  expect(await passing.reconciler.once()).toMatchObject({
    status: 'ok',
    custody_reported: 10n * USD,
  });
});

test('a difference in both measurements is published, and an unrequested mint after the first', async () => {
  const missing = new Reconciling();
  missing.simulated.pay(OUTSIDE, 5n * USD, { from: ALICE });
  expect(await missing.reconciler.once()).toMatchObject({
    status: 'mismatch',
    custody_reported: 5n * USD,
  });
  expect(missing.simulated.asked).toBe(7);
  // it was said already
  expect(await missing.reconciler.once()).toMatchObject({ status: 'mismatch' });
  expect(missing.simulated.asked).toBe(10);

  const minted = new Reconciling();
  minted.simulated.mint(ALICE, USD);
  minted.simulated.finalize();
  expect(await minted.reconciler.once()).toMatchObject({
    status: 'mismatch',
    custody_reported: 10n * USD,
  });
  expect(minted.simulated.asked).toBe(4);
});

test('custody that does not cover a waiting deposit is measured again once, and is no mismatch', async () => {
  const reconciling = new Reconciling();
  const { simulated, reconciler } = reconciling;
  simulated.confirm(simulated.pay(ALICE, 12n * USD));
  simulated.pay(OUTSIDE, 5n * USD, { from: ALICE });
  expect(await reconciler.once()).toMatchObject({ status: 'ok', uncovered: USD });
  const once = simulated.asked;
  expect(await reconciler.once()).toMatchObject({ status: 'ok', uncovered: USD });
  expect([once, simulated.asked]).toEqual([7, 10]);
});

test('a run says when it began', async () => {
  const reconciling = new Reconciling();
  const run = await reconciling.reconciler.once();
  expect(run.begun_at).toBeGreaterThanOrEqual(BEGIN);
  expect(run.begun_at).toBeLessThanOrEqual(run.run_at);
  expect(run.oldest_reading_at).toBeLessThanOrEqual(run.begun_at);
});

test('the first run is immediate, later ones on schedule, each with its own id and time', async () => {
  const reconciling = new Reconciling();
  reconciling.start();
  await expect.poll(() => reconciling.runs.length, { interval: 5 }).toBeGreaterThanOrEqual(3);
  const { runs } = reconciling;
  expect(new Set(runs.map(({ run_id: runId }) => runId)).size).toBe(runs.length);
  const times = runs.map(({ run_at: runAt }) => runAt);
  for (const [at, time] of times.slice(1).entries())
    expect(time - (times[at] ?? 0)).toBeGreaterThanOrEqual(EVERY_MS);
});

test('a process makes a run right after its start, whatever somebody else has just found', async () => {
  const before = new Reconciling(3_600_000);
  const run = await before.reconciler.once();
  const reconciling = new Reconciling(3_600_000);
  reconciling.append({ ...run, run_at: reconciling.now });
  expect(reconciling.isOpen).toBe(false);
  reconciling.start();
  await expect.poll(() => reconciling.runs.length, { interval: 5 }).toBe(2);
  expect(reconciling.isOpen).toBe(true);
});

test('a process mints by the signed run of its predecessor, and makes the next one when it is due', async () => {
  const before = new Reconciling();
  await before.reconciler.once();
  const followed = (every: number): Reconciling => {
    const reconciling = new Reconciling(every);
    for (const run of before.runs) reconciling.append(run);
    reconciling.start();
    return reconciling;
  };
  const reconciling = followed(3_600_000);
  await expect.poll(() => reconciling.isOpen, { interval: 5 }).toBe(true);
  expect(reconciling.simulated.asked).toBe(0);
  const late = followed(EVERY_MS);
  await expect.poll(() => late.runs.length, { interval: 5 }).toBeGreaterThan(2);
  expect(reconciling.runs).toEqual(before.runs);
});

test('the signed mismatch of a predecessor stays in force behind a forged run', async () => {
  const before = new Reconciling();
  before.simulated.pay(OUTSIDE, 5n * USD, { from: ALICE });
  const run = await before.reconciler.once();
  const reconciling = new Reconciling(3_600_000);
  for (const each of before.runs) reconciling.append(each);
  reconciling.append({ ...run, run_id: 'forged', status: 'ok', uncovered: 0n });
  reconciling.newest.read();
  expect(reconciling.isOpen).toBe(false);
  reconciling.start();
  // it looks itself, and no money is missing by now
  await expect.poll(() => reconciling.runs.length, { interval: 5 }).toBe(3);
  expect(reconciling.isOpen).toBe(true);
});

test('a forged run opens no gate: it is measured again at once, once for each, and own runs decide', async () => {
  const reconciling = new Reconciling(3_600_000);
  const { simulated, newest, runs } = reconciling;
  simulated.pay(OUTSIDE, 5n * USD, { from: ALICE });
  reconciling.start();
  await expect.poll(() => runs.length, { interval: 5 }).toBe(1);
  const forge = (status: string): void => {
    const [own] = runs;
    if (own !== undefined) reconciling.append({ ...own, run_id: 'forged', status, uncovered: 0n });
  };
  for (const made of [3, 5]) {
    forge('ok');
    expect([newest.run?.status, reconciling.isOpen]).toEqual(['ok', false]);
    await expect.poll(() => runs.length, { interval: 5 }).toBe(made);
    expect([runs.at(-1)?.status, reconciling.isOpen]).toEqual(['mismatch', false]);
  }
  simulated.pay(ALICE, 5n * USD, { from: OUTSIDE });
  forge('ok');
  await expect.poll(() => runs.length, { interval: 5 }).toBe(7);
  expect([runs.at(-1)?.status, reconciling.isOpen]).toEqual(['ok', true]);
  forge('mismatch');
  expect(reconciling.isOpen).toBe(false);
  await reconciling.reconciler.once();
  expect(reconciling.isOpen).toBe(true);
  // no further run than these
  expect(runs.map(({ run_id: runId }) => Number(runId === 'forged'))).toEqual([
    0, 1, 0, 1, 0, 1, 0, 1, 0,
  ]);
});

test('a mismatch closes the gate before it is in the log', async () => {
  const reconciling = new Reconciling();
  await reconciling.reconciler.once();
  expect(reconciling.isOpen).toBe(true);
  reconciling.simulated.pay(OUTSIDE, 5n * USD, { from: ALICE });
  reconciling.unwritable = true;
  await expect(reconciling.reconciler.once()).rejects.toThrow('no broker');
  expect([reconciling.runs.length, reconciling.isOpen]).toEqual([1, false]);
});

test('a failed run is retried before the next one is due', async () => {
  const reconciling = new Reconciling(3_600_000);
  const { simulated } = reconciling;
  simulated.beforeBalance = (asked) => {
    if (asked === 0) throw new Fault('tron_unreachable', 'the provider is away', { retry: true });
  };
  reconciling.start();
  await expect.poll(() => reconciling.runs.length).toBe(1);
  expect(reconciling.failures).toEqual(['tron_unreachable']);
  expect(reconciling.runs).toMatchObject([{ status: 'ok' }]);
});

test('a run longer than the interval is warned of once, with the settings to raise', async () => {
  const reconciling = new Reconciling(1_000);
  const warnings = (): readonly string[] =>
    reconciling.lines.filter((line) => line.includes('takes longer than the time between two'));
  // Alice before the first run, custody with Alice, and custody
  reconciling.balance_ms = 1_000 / 3;
  await reconciling.reconciler.once();
  expect(warnings()).toEqual([]);
  reconciling.balance_ms = 600;
  await reconciling.reconciler.once();
  await reconciling.reconciler.once();
  expect(warnings()).toEqual([
    expect.stringMatching(
      /"balances":3,"requests":2,"expected_ms":1200,"every_ms":1000,.*raise APP_RECONCILE_REQUESTS_PER_SECOND and APP_RECONCILE_REQUESTS_PER_DAY/,
    ),
  ]);
  reconciling.balance_ms = 0;
  await reconciling.reconciler.once();
  reconciling.balance_ms = 600;
  await reconciling.reconciler.once();
  expect(warnings()).toHaveLength(2);
});

test('frozen money, a pause, a successor and fees of the token are said once, and again when they change', async () => {
  const reconciling = new Reconciling();
  const { simulated, reconciler, lines } = reconciling;
  const said = async (): Promise<readonly string[]> => {
    await reconciler.once();
    return lines.splice(0).filter((line) => line.includes('"msg":"the token '));
  };
  expect(await said()).toEqual([]);
  simulated.block(ALICE);
  expect(await said()).toEqual([
    expect.stringMatching(
      new RegExp(`"level":"error".*${toTronAddress(ALICE)}.*the token blocks addresses of custody`),
    ),
  ]);
  expect(await said()).toEqual([]);
  expect(reconciling.isOpen).toBe(false);
  expect(mintingForbidden(reconciling.newest, 0, reconciling.now)).toMatch(
    '10000000 micro-USDT in custody are frozen',
  );
  simulated.block(ALICE, false);
  expect([await said(), reconciling.isOpen]).toEqual([[], true]);
  simulated.token = { ...UNTOUCHED, paused: true, fee_basis_points: 10n, maximum_fee: USD };
  expect(await said()).toEqual([
    expect.stringMatching(/"level":"error".*the token is paused/),
    expect.stringMatching(/"level":"warn".*the token takes a fee/),
  ]);
  expect([await said(), reconciling.token]).toEqual([[], simulated.token]);
  simulated.token = { ...simulated.token, deprecated: true, fee_basis_points: 20n };
  expect(await said()).toEqual([
    expect.stringMatching(/"level":"error".*the token is deprecated/),
    expect.stringMatching(/"level":"warn".*the token takes a fee/),
  ]);
  simulated.token = UNTOUCHED;
  expect([await said(), reconciling.isOpen]).toEqual([[], true]);
});
