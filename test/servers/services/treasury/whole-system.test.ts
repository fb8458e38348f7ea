/**
 * From USDT on TRON to CLT in a balance and to the explorer's reserve, through every process on the
 * way. The last test halts minting for good.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createClient } from 'graphql-ws';
import { Client } from 'pg';
import { WebSocket } from 'ws';
import { toHex } from '../../../../schemas/address.ts';
import { TEXT } from '../../../../services/console/src/text.ts';
import { VERIFY } from '../../../../services/console/src/verify/text.ts';
import { STEPS } from '../../../../services/console/src/verify/verification.ts';
import { openSystemConsole, type SystemConsole } from '../../../services/console/system-console.ts';
import { openChromium } from '../../../support/chromium.ts';
import { Collector, type CollectedSpan } from '../../../support/collector.ts';
import { accountAt } from '../../../support/deposit-log.ts';
import { startWholeSystem, type WholeSystem } from './whole-system.ts';
import { PROJECTION_NAMES } from '../../../../services/ops/commands.ts';

const USD = 1_000_000n;
const [ALICE, BOB, CAROL, DAVE, ERIN, FRANK, GRACE] = [1, 2, 3, 4, 5, 6, 7];
const MINTED = ['TransferObserved', 'DepositConfirmed', 'MintIntended', 'MintCredited'];

let system: WholeSystem;
let collector: Collector;

/** Changes a read model behind its projector's back. */
async function change(statement: string, values: readonly string[] = []): Promise<void> {
  const writer = new Client({ connectionString: system.stack.addresses.postgres_url });
  await writer.connect();
  await writer.query(statement, [...values]);
  await writer.end();
}

beforeAll(async () => {
  collector = await Collector.open();
  system = await startWholeSystem({}, { APP_OTLP_URL: collector.url });
  await system.start();
});
afterAll(async () => {
  await system?.stack.stop();
  await collector?.close();
});

test('deposits of 10 USDT are confirmed, mint_requested, credited: 8,000,000 base units for the first, 9,500,000 for the second', async () => {
  const address = await system.open(ALICE);
  const first = await system.reaches(ALICE, await system.pay(address, 10n * USD), 'credited');
  expect(first.amount_usdt).toBe(10_000_000);
  expect(await system.balanceOf(ALICE)).toBe(8_000_000n);
  const second = await system.reaches(ALICE, await system.pay(address, 10n * USD), 'credited');
  expect(await system.balanceOf(ALICE)).toBe(17_500_000n);
  for (const { id } of [first, second]) {
    expect((await system.story(ALICE, id)).events).toEqual(MINTED);
    // a look may miss one that passes quickly, and never sees one out of its turn
    const order = ['confirmed', 'mint_requested', 'credited'];
    expect(system.seen(id)).toEqual(order.filter((status) => system.seen(id).includes(status)));
  }
});

test('a first deposit of 2.50 USDT and one above the single cap are held, and an approved one is minted', async () => {
  const small = await system.reaches(
    BOB,
    await system.pay(await system.open(BOB), 2_500_000n),
    'needs_manual',
  );
  expect((await system.story(BOB, small.id)).events).toEqual([
    'TransferObserved',
    'DepositConfirmed',
    'DepositHeld',
  ]);
  const txId = await system.pay(await system.open(CAROL), 1_010n * USD);
  const large = await system.reaches(CAROL, txId, 'needs_manual');
  expect(await system.story(CAROL, large.id)).toMatchObject({ waiting_for: 'awaiting_approval' });
  const approved = await system.ops(
    'deposit',
    'approve',
    large.id,
    '--actor',
    'alice',
    '--reason',
    'known to us',
    '--json',
  );
  expect(approved).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"topic":"treasury.ledger"'),
  });
  await system.reaches(CAROL, txId, 'credited');
  expect([await system.balanceOf(CAROL), await system.balanceOf(BOB)]).toEqual([1_008n * USD, 0n]);
});

test('the audit of a working system and a reconciliation on demand end with exit code 0', async () => {
  const txId = await system.pay(await system.open(DAVE), 10n * USD);
  await system.reaches(DAVE, txId, 'credited');
  const folder = mkdtempSync(join(tmpdir(), 'clt-test-audit-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'audit.prom');
  const audit = await system.ops('audit', '--json', '--metrics', file);
  expect(audit).toMatchObject({ code: 0 });
  expect(readdirSync(folder)).toEqual(['audit.prom']);
  expect(readFileSync(file, 'utf8').replaceAll(/^#.*\n/gm, '')).toMatch(
    /^audit_finished_timestamp_seconds \d{10}\naudit_violations 0\n$/,
  );
  const audited: { readonly checked: Readonly<Record<string, number>> } = JSON.parse(audit.stdout);
  expect(audited).toMatchObject({ compared: true, violations: [] });
  for (const invariant of ['I1', 'I2', 'I3'])
    expect(audited.checked[invariant], invariant).toBeGreaterThan(0);
  const run = await system.ops('reserve', 'run', '--json');
  expect(run).toMatchObject({
    code: 0,
    stderr: '',
  });
  const made: Readonly<Record<string, string>> = JSON.parse(run.stdout);
  expect(made['status']).toBe('ok');
  const amount = (name: string): bigint => BigInt(made[name] ?? '');
  expect(amount('treasury_minted')).toBeGreaterThanOrEqual(8_000_000n);
  expect(amount('custody_reported')).toBe(
    amount('treasury_minted') + amount('held') + amount('retained_fees'),
  );
  const isShown = async (): Promise<boolean> => {
    const { items }: { readonly items: readonly { readonly run_id: string }[] } =
      await system.explorer('/reserve/runs');
    return items.some(({ run_id: runId }) => run.stdout.includes(runId));
  };
  await system.until(isShown, 'the run at the explorer');
});

test('a changed cell of the read model is named by the audit with its offset and by ops verify with its row and column, with exit code 2', async () => {
  const txId = await system.pay(await system.open(ERIN), 10n * USD);
  const { id } = await system.reaches(ERIN, txId, 'credited');
  const credit = 'UPDATE deposits.deposits SET credit = $1 WHERE id = $2';
  await change(credit, ['8000001', id]);
  const audit = await system.ops('audit');
  const verified = await system.ops('verify', 'deposits');
  const all = await system.ops('verify', 'all', '--json');
  await change(credit, ['8000000', id]);
  expect(audit.code).toBe(2);
  expect(audit.stdout).toMatch(
    new RegExp(`^VIOLATED {2}I8 at treasury\\.ledger/0@\\d+: deposit ${id} is `, 'm'),
  );
  expect(all).toMatchObject({ code: 2, stderr: '' });
  const results: readonly { readonly projection: string }[] = JSON.parse(all.stdout);
  expect(results.map(({ projection }) => projection)).toEqual(PROJECTION_NAMES);
  const not_loaded = { error: 'not_loaded' };
  expect(results).toMatchObject([
    not_loaded,
    { equal: true },
    { equal: false },
    { equal: true },
    not_loaded,
    not_loaded,
  ]);
  expect(verified.code).toBe(2);
  expect(verified.stdout).toContain(
    `deposits, row id ${id}: credit is 8000001, by the log 8000000\n`,
  );
});

interface Heads {
  readonly heads: readonly {
    readonly topic: string;
    readonly offset: string;
    readonly head: string;
  }[];
  readonly seen?: { readonly topic: string; readonly offset: string } | null;
}

test('a head of a log that an audit printed is found by a later audit with its offset, another one is not, with exit code 2', async () => {
  const { heads }: Heads = JSON.parse((await system.ops('audit', '--json')).stdout);
  expect(heads.map(({ topic }) => topic)).toEqual([
    'deposit.addresses',
    'treasury.ledger',
    'reserve.runs',
  ]);
  const noted = heads.find(({ topic }) => topic === 'treasury.ledger');
  const txId = await system.pay(await system.open(ALICE), 10n * USD);
  await system.reaches(ALICE, txId, 'credited');
  const again = await system.ops('audit', '--json', '--head', noted?.head ?? '');
  expect(again).toMatchObject({ code: 0 });
  const { seen }: Heads = JSON.parse(again.stdout);
  expect(seen).toMatchObject({ topic: 'treasury.ledger', offset: noted?.offset });
  const other = await system.ops('audit', '--head', `0x${'ab'.repeat(32)}`);
  expect(other).toMatchObject({ code: 2, stdout: expect.stringMatching(/^VIOLATED {2}/m) });
});

const WAY_OF_MONEY = [
  'tron-watcher TransferObserved',
  'treasury DepositConfirmed',
  'treasury MintIntended',
  'treasury MintSent',
  'treasury MintCredited',
];
const PROJECTED = ['fetch', 'fold', 'commit', 'notify'];
const WAY_OF_BLOCK = [
  'chain-ingester node',
  'chain-ingester append',
  ...PROJECTED.map((leg) => `projector-explorer ${leg}`),
  'hub-gateway read',
  'hub-gateway socket',
];
const WAY_OF_ADDRESS = [
  'deposit-gateway POST',
  'deposit-gateway append',
  ...PROJECTED.map((leg) => `projector-deposits ${leg}`),
];
/** The trace of a proxy before the gateway. */
const PROXY = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('one trace shows a request for an address up to the read model, one a deposit from its transfer to its mint, and one the block with the mint from the node to a socket', async () => {
  const hub = await system.startHub();
  const balances: string[] = [];
  const client = createClient({
    url: `${hub.replace('http', 'ws')}/graphql/ws`,
    webSocketImpl: WebSocket,
  });
  client.subscribe<{ readonly accountBalanceUpdated: string }>(
    { query: `subscription { accountBalanceUpdated(publicKey: "${toHex(accountAt(GRACE))}") }` },
    {
      next: ({ data }) => void balances.push(data?.accountBalanceUpdated ?? ''),
      error: (error) => void balances.push(String(error)),
      complete: () => undefined,
    },
  );
  await expect.poll(() => balances.length).toBe(1);
  const address = await system.open(GRACE, PROXY);
  await expect
    .poll(() => legsIn(PROXY.slice(3, 35)))
    .toEqual(expect.arrayContaining(WAY_OF_ADDRESS));
  const txId = await system.pay(address, 10n * USD);
  const { id } = await system.reaches(GRACE, txId, 'credited');
  await expect.poll(() => balances.at(-1)).toBe('8000000');
  await client.dispose();

  const spanOf = (name: string) =>
    collector.spans.find(
      (span) => `${span.service} ${span.name}` === name && span.attributes['clt.deposit'] === id,
    );
  await expect.poll(() => spanOf('treasury MintCredited')).toBeDefined();
  const credited = spanOf('treasury MintCredited');
  const deposit = credited?.trace_id ?? '';
  await expect.poll(() => legsIn(deposit)).toEqual(expect.arrayContaining(WAY_OF_MONEY));
  const [block = ''] = credited?.links ?? [];
  // a late read for the block before may be the one that finds the balance
  const shown = (): CollectedSpan | undefined =>
    collector.spans.find(({ service, name }) => `${service} ${name}` === WAY_OF_BLOCK.at(-1));
  await expect
    .poll(() => legsIn(shown()?.trace_id ?? ''))
    .toEqual(expect.arrayContaining(WAY_OF_BLOCK));
  for (const trace of [deposit, block])
    await expect.poll(() => startsOf(collector.trace(trace))).toHaveLength(1);
});

/** The legs of a trace and of those linked to it: on a busy machine blocks share a batch. */
function legsIn(trace: string): readonly string[] {
  const linked = collector.spans.filter(({ links }) => links.includes(trace));
  return [trace, ...linked.map(({ trace_id }) => trace_id)]
    .flatMap((each) => collector.trace(each))
    .map(({ service, name }) => `${service} ${name}`);
}

/** Names of spans without a parent among these: one in a whole trace. */
function startsOf(spans: readonly CollectedSpan[]): readonly string[] {
  const ids = new Set(spans.map(({ span_id }) => span_id));
  return spans.filter(({ parent }) => !ids.has(parent)).map(({ name }) => name);
}

/** Undefined where there is no Chromium. */
async function openConsole(): Promise<SystemConsole | undefined> {
  const browser = await openChromium();
  if ('missing' in browser) {
    process.stderr.write(`tests in a browser are skipped: ${browser.missing}\n`);
    return undefined;
  }
  await system.startHub();
  return openSystemConsole(system.stack, browser);
}

test('in the console a deposit is followed from the QR code to the credit in the balance', async ({
  skip,
}) => {
  const pages = await openConsole();
  if (pages === undefined) return skip('there is no Chromium');
  onTestFinished(pages.close);
  const { page, show, faults } = pages;
  await show('/deposits');
  await page.getByRole('button', { name: TEXT.signIn.key }).click();
  const address = page.locator('.deposit-address .hash');
  await address.waitFor();
  expect(await page.locator('.qr').getAttribute('aria-label')).toContain(await address.innerText());
  await expect.poll(() => page.locator('main').innerText()).toContain(TEXT.deposits.checked);
  await system.pay(await address.innerText(), 10n * USD);
  const names: Readonly<Record<string, string>> = TEXT.deposits.events;
  await expect
    .poll(() => page.locator('.timeline strong').allInnerTexts())
    .toEqual(MINTED.map((event) => names[event]));
  await expect
    .poll(() => page.locator('summary').innerText())
    .toContain(TEXT.deposits.statuses.credited);
  await page.getByRole('link', { name: /^0x/ }).first().click();
  await expect.poll(() => page.locator('.figures').innerText()).toMatch(/\b8\.00/);
  expect(faults()).toEqual([]);
});

/** The state of each step, once the page of the newest run has verified it. */
async function stepsOfNewest({ page, show }: SystemConsole): Promise<readonly string[]> {
  await show('/reserve');
  await page.getByRole('button', { name: VERIFY.start }).click();
  await page.getByRole('button', { name: VERIFY.again }).waitFor();
  return page
    .locator('[data-step]')
    .evaluateAll((steps) =>
      steps.map((step) => `${step.getAttribute('data-step')} ${step.getAttribute('data-state')}`),
    );
}

test('in the console the newest reserve run has a tick at each step of its verification', async ({
  skip,
}) => {
  const pages = await openConsole();
  if (pages === undefined) return skip('there is no Chromium');
  onTestFinished(pages.close);
  expect(await stepsOfNewest(pages)).toEqual(STEPS.map((step) => `${step} good`));
  expect(pages.faults()).toEqual([]);
});

test('an unrequested Mint is a mismatch at the treasury and at the explorer, halts minting, and is named by the audit', async () => {
  const address = await system.open(FRANK);
  const hash = await system.mintByHand(BOB, 5n * USD);
  await system.until(async () => (await system.published())?.status === 'mismatch', 'the mismatch');
  await system.until(async () => (await system.problem()).includes(`Mint ${hash}`), 'the alarm');
  const txId = await system.pay(address, 10n * USD);
  const { id } = await system.reaches(FRANK, txId, 'confirmed');
  expect(await system.explorer('/reserve')).toMatchObject({
    configured: true,
    available: true,
    last_run: { status: 'mismatch' },
  });
  const audit = await system.ops('audit');
  expect(audit.code).toBe(2);
  expect(audit.stdout).toMatch(
    new RegExp(`^VIOLATED {2}I2 at chain\\.blocks/0@\\d+: Mint ${hash} was never requested`, 'm'),
  );
  expect(await system.story(FRANK, id)).toMatchObject({
    events: ['TransferObserved', 'DepositConfirmed'],
    waiting_for: null,
  });
  expect(await system.balanceOf(FRANK)).toBe(0n);
});
