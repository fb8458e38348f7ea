/**
 * From USDT on TRON to CLT in a balance and to the explorer's reserve, through every process on the
 * way. The last test halts minting for good.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from 'pg';
import { until } from '../../../support/until.ts';
import { startWholeSystem, type WholeSystem } from './whole-system.ts';
import { PROJECTION_NAMES } from '../../../../services/ops/commands.ts';

/** Nine processes and the command line on a machine that has other things to do as well. */
const PATIENCE_MS = 240_000;

const USD = 1_000_000n;
const [ALICE, BOB, CAROL, DAVE, ERIN, FRANK] = [1, 2, 3, 4, 5, 6];
const MINTED = ['TransferObserved', 'DepositConfirmed', 'MintIntended', 'MintCredited'];

let system: WholeSystem;

beforeAll(async () => {
  system = await startWholeSystem();
  await system.start();
}, PATIENCE_MS);
afterAll(() => system?.stack.stop());

test(
  'deposits of 10 USDT are confirmed, mint_requested, credited: 8,000,000 base units for the first, 9,500,000 for the second',
  { timeout: PATIENCE_MS },
  async () => {
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
    expect([...new Set([...system.seen(first.id), ...system.seen(second.id)])]).toContain(
      'mint_requested',
    );
  },
);

test(
  'a first deposit of 2.50 USDT and one above the single cap are held, and an approved one is minted',
  { timeout: PATIENCE_MS },
  async () => {
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
    expect([await system.balanceOf(CAROL), await system.balanceOf(BOB)]).toEqual([
      1_008n * USD,
      0n,
    ]);
  },
);

test(
  'the audit of a working system and a reconciliation on demand end with exit code 0',
  { timeout: PATIENCE_MS },
  async () => {
    const txId = await system.pay(await system.open(DAVE), 10n * USD);
    await system.reaches(DAVE, txId, 'credited');
    const audit = await system.ops('audit', '--json');
    expect(audit).toMatchObject({ code: 0 });
    const audited: { readonly checked: Readonly<Record<string, number>> } = JSON.parse(
      audit.stdout,
    );
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
      return items.some(({ run_id: id }) => run.stdout.includes(id));
    };
    await until(isShown, 'the run at the explorer');
  },
);

test(
  'a changed cell of the read model is named by the audit with its offset and by ops verify with its row and column, with exit code 2',
  { timeout: PATIENCE_MS },
  async () => {
    const txId = await system.pay(await system.open(ERIN), 10n * USD);
    const { id } = await system.reaches(ERIN, txId, 'credited');
    const writer = new Client({ connectionString: system.stack.addresses.postgres_url });
    await writer.connect();
    const change = (credit: string): Promise<unknown> =>
      writer.query('UPDATE deposits.deposits SET credit = $1 WHERE id = $2', [credit, id]);
    await change('8000001');
    const audit = await system.ops('audit');
    const verified = await system.ops('verify', 'deposits');
    const all = await system.ops('verify', 'all', '--json');
    await change('8000000');
    await writer.end();
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
  },
);

interface Heads {
  readonly heads: readonly {
    readonly topic: string;
    readonly offset: string;
    readonly head: string;
  }[];
  readonly seen?: { readonly topic: string; readonly offset: string } | null;
}

test(
  'a head of a log that an audit printed is found by a later audit with its offset, another one is not, with exit code 2',
  { timeout: PATIENCE_MS },
  async () => {
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
  },
);

test(
  'an unrequested Mint is a mismatch at the treasury and at the explorer, halts minting, and is named by the audit',
  { timeout: PATIENCE_MS },
  async () => {
    const address = await system.open(FRANK);
    const hash = await system.mintByHand(BOB, 5n * USD);
    await until(async () => (await system.published())?.status === 'mismatch', 'the mismatch');
    await until(async () => (await system.problem()).includes(`Mint ${hash}`), 'the alarm');
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
  },
);
