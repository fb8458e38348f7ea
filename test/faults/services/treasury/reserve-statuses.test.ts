/**
 * Each state of the reserve, provoked on TRON of a running system, and seen where it is published
 * and where it acts: at the gate.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEVELOPMENT_CUSTODY } from '../../../../schemas/development.ts';
import { isReserveEvent, type ReserveReconciled } from '../../../../schemas/reserve.runs/events.ts';
import { RESERVE_RUNS } from '../../../../schemas/topics.ts';
import { appendAll, readAll, testKafka } from '../../../support/kafka.ts';
import {
  startWholeSystem,
  type WholeSystem,
} from '../../../servers/services/treasury/whole-system.ts';
import { openCodec } from '../../../support/codec.ts';

const USD = 1_000_000n;
const [ALICE, BOB, CAROL, DAVE, ERIN, FRANK] = [1, 2, 3, 4, 5, 6];
const OUTSIDE = 'TKx29eiTfFinZhYoi3FbaMWyud8NMdZnMb';

let system: WholeSystem;

beforeAll(async () => {
  // no provider answers there
  system = await startWholeSystem({ APP_TRON_URL: 'http://127.0.0.1:9' });
  await system.start();
});
afterAll(() => system?.stack.stop());

type Run = null | Readonly<Record<string, unknown>>;

const isRun =
  (run: Run) =>
  (last: unknown): boolean =>
    run === null
      ? last === null
      : Object.entries(run).every(([name, value]) => Object(last)[name] === value);

/** The newest run at the treasury is this. */
async function isPublished(run: Run): Promise<void> {
  const is = isRun(run);
  await system.until(async () => is(await system.published()), 'the run at the treasury');
}

/** The same at the explorer: at one that starts, as others keep an answer for half a minute. */
async function isAtExplorer(run: Run): Promise<void> {
  await isPublished(run);
  await system.restart('explorer-gateway');
  const is = isRun(run);
  const hasRun = async (): Promise<boolean> => {
    const shown: Readonly<Record<string, unknown>> = await system.explorer('/reserve');
    return shown['configured'] === true && shown['available'] === true && is(shown['last_run']);
  };
  await system.until(hasRun, 'the run at the explorer');
}

async function gate(isClosed: boolean): Promise<void> {
  await system.until(
    () => system.isMintingClosed(),
    `the gate to be ${isClosed ? 'closed' : 'open'}`,
    (seen) => seen === isClosed,
  );
}

/**
 * Appends a copy of the last run that says `ok`, of a block that no true run has reached, and the
 * newest run that said it, byte by byte.
 */
async function forgeRun(): Promise<void> {
  const { addresses } = system.stack;
  const kafka = testKafka(addresses);
  const codec = await openCodec(addresses.registry_url, [RESERVE_RUNS]);
  const records = await readAll(kafka, RESERVE_RUNS.name);
  const run = codec.decode(records.at(-1)?.value ?? null);
  const isOk = ({ value }: { readonly value: Buffer | null }): boolean => {
    const event = codec.decode(value);
    return isReserveEvent(event) && event.run_id !== 'forged' && event.status === 'ok';
  };
  const ok = records.findLast((record) => isOk(record))?.value ?? null;
  if (!isReserveEvent(run) || ok === null) throw new Error('there is no run to copy');
  const block_height = run.block_height + 1_000_000;
  const said = { run_id: 'forged', status: 'ok', uncovered: 0n, block_height };
  const forged: ReserveReconciled = { ...run, ...said };
  const value = codec.encode(forged);
  const entries = [ok, value].map((each) => ({
    key: 'forged',
    value: each,
    headers: {},
    timestamp: Date.now(),
  }));
  await appendAll(kafka, RESERVE_RUNS.name, entries);
}

test('no run, ok, over_backed_drift, mismatch and uncovered are seen at treasury and gate, the first and the last at the explorer', async () => {
  const address = await system.open(ALICE);
  const first = await system.pay(address, 10n * USD);
  await system.reaches(ALICE, first, 'confirmed');
  await isAtExplorer(null);
  await gate(true);
  await system.reaches(ALICE, first, 'confirmed');

  await system.restart('treasury');
  await system.reaches(ALICE, first, 'credited');
  await isPublished({ status: 'ok', treasury_minted: 8_000_000, custody_reported: 10_000_000 });
  await gate(false);

  await system.pay(DEVELOPMENT_CUSTODY, 5n * USD);
  await isPublished({ status: 'over_backed_drift', custody_reported: 15_000_000 });
  await gate(false);
  const second = await system.open(BOB);
  await system.reaches(BOB, await system.pay(second, 10n * USD), 'credited');

  await system.pay(OUTSIDE, 5n * USD, DEVELOPMENT_CUSTODY);
  await system.pay(OUTSIDE, 10n * USD, address);
  await system.pay(OUTSIDE, 6n * USD, second);
  await isPublished({ status: 'mismatch', custody_reported: 4_000_000 });
  await gate(true);
  const third = await system.pay(await system.open(CAROL), 10n * USD);
  const { id } = await system.reaches(CAROL, third, 'confirmed');

  // liability 16, waiting 8
  await system.pay(DEVELOPMENT_CUSTODY, 5n * USD);
  await isPublished({ status: 'ok', ledger_liability: 16_000_000, custody_reported: 19_000_000 });
  await gate(true);
  const listed = await system.ops('reserve', 'runs', '--limit', '1', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { status: 'ok', waiting: '8000000', uncovered: '5000000' },
  ]);
  expect((await system.story(CAROL, id)).events).toEqual(['TransferObserved', 'DepositConfirmed']);

  await system.pay(DEVELOPMENT_CUSTODY, 5n * USD);
  await system.reaches(CAROL, third, 'credited');
  await gate(false);

  // the signed runs of its predecessor suffice
  await system.restart('treasury', { APP_RECONCILE_EVERY_MS: '3000000' });
  const more = await system.pay(await system.open(FRANK), 10n * USD);
  await system.reaches(FRANK, more, 'credited');
  expect(await system.ownRuns()).toBe(0);
  await system.restart('treasury');

  await system.hideFees();
  await isAtExplorer({ status: 'mismatch', ledger_liability: 32_000_000 });
  expect(await system.published()).toMatchObject({ custody_reported: 34_000_000 });
  await gate(true);
  const fourth = await system.pay(await system.open(DAVE), 10n * USD);
  await system.reaches(DAVE, fourth, 'confirmed');
});

test('forged runs that are ok are published, and do not open the gate', async () => {
  // the newest run is the mismatch of the test before
  await gate(true);
  const paid = await system.pay(await system.open(ERIN), 10n * USD);
  const { id } = await system.reaches(ERIN, paid, 'confirmed');
  const runs = await system.ownRuns();
  let [isShown, isOpen] = [false, false];
  const isOver = async (): Promise<boolean> => {
    await forgeRun();
    isShown ||= (await system.published())?.status === 'ok';
    isOpen ||= !(await system.isMintingClosed());
    return isOpen || (isShown && (await system.ownRuns()) >= runs + 3);
  };
  await system.until(isOver, 'three more runs between forged ones');
  expect(isOpen).toBe(false);
  // with a forged one as the newest, and none of its own
  await forgeRun();
  await system.restart('treasury', { APP_RECONCILE_EVERY_MS: '3000000' });
  // the run that the one before it made last may stand behind that forged one
  const hasRun = async (): Promise<boolean> => {
    await forgeRun();
    return (await system.ownRuns()) > 0;
  };
  await system.until(hasRun, 'a run behind a forged one');
  await gate(true);
  expect((await system.story(ERIN, id)).events).toEqual(['TransferObserved', 'DepositConfirmed']);
});
