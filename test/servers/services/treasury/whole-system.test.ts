/** From USDT on TRON to CLT in a balance and to the reserve that the explorer shows, through every process on the way; each test goes on from the one before. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from 'pg';
import { until } from '../../../support/until.ts';
import { startWholeSystem, type WholeSystem } from './whole-system.ts';

/** Nine processes and the command line on a machine that has other things to do as well. */
const PATIENCE_MS = 240_000;

const USD = 1_000_000n;
const [ALICE, BOB, CAROL] = [1, 2, 3];
const MINTED = ['TransferObserved', 'DepositConfirmed', 'MintIntended', 'MintCredited'];

let system: WholeSystem;
let carols = { address: '', deposit: '' };

beforeAll(async () => {
  system = await startWholeSystem();
  await system.start();
}, PATIENCE_MS);
afterAll(() => system?.stack.stop());

test(
  '10 USDT are confirmed, mint_requested, credited: 8,000,000 in CLT, and 9,500,000 more for a second 10',
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
  'a first 2.50 need a person; above the cap of a single one too, and are minted once a person has approved',
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
    const address = await system.open(CAROL);
    const txId = await system.pay(address, 1_010n * USD);
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
    carols = { address, deposit: large.id };
  },
);

test(
  'the audit finds everything right, a reconciliation on demand is ok, and both are exit code 0',
  { timeout: PATIENCE_MS },
  async () => {
    const audit = await system.ops('audit', '--json');
    expect(audit).toMatchObject({ code: 0 });
    const audited: { readonly checked: Readonly<Record<string, number>> } = JSON.parse(
      audit.stdout,
    );
    expect(audited).toMatchObject({ deposits: 4, mints: 3, compared: true, violations: [] });
    for (const [invariant, count] of Object.entries(audited.checked))
      expect(count, invariant).toBeGreaterThan(0);
    const run = await system.ops('reserve', 'run', '--json');
    expect(run).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/reading the logs\nreading 5 balances, which takes 1 s/),
    });
    expect(JSON.parse(run.stdout)).toMatchObject({
      status: 'ok',
      treasury_minted: '1025500000',
      custody_reported: '1032500000',
    });
    const isShown = async (): Promise<boolean> => {
      const { items }: { readonly items: readonly { readonly run_id: string }[] } =
        await system.explorer('/reserve/runs');
      return items.some(({ run_id: id }) => run.stdout.includes(id));
    };
    await until(isShown, 'the run at the explorer');
  },
);

test(
  'a single changed cell of the read model is found by the audit, with its place, and by ops verify, with its row and column, both with exit code 2',
  { timeout: PATIENCE_MS },
  async () => {
    const writer = new Client({ connectionString: system.stack.addresses.postgres_url });
    await writer.connect();
    const change = (credit: string): Promise<unknown> =>
      writer.query('UPDATE deposits.deposits SET credit = $1 WHERE id = $2', [
        credit,
        carols.deposit,
      ]);
    await change('1008000001');
    const [audit, verified] = await Promise.all([
      system.ops('audit'),
      system.ops('verify', 'deposits'),
    ]);
    await change('1008000000');
    await writer.end();
    expect(audit.code).toBe(2);
    expect(audit.stdout).toMatch(
      new RegExp(`^VIOLATED {2}I8 at treasury\\.ledger/0@\\d+: deposit ${carols.deposit} is `, 'm'),
    );
    expect(verified.code).toBe(2);
    expect(verified.stdout).toContain(
      `deposits, row id ${carols.deposit}: credit is 1008000001, by the log 1008000000\n`,
    );
  },
);

test(
  'a Mint that nobody requested is a mismatch at the treasury and at the explorer; nothing is minted any more, and the audit names it',
  { timeout: PATIENCE_MS },
  async () => {
    const hash = await system.mintByHand(BOB, 5n * USD);
    await until(async () => (await system.published())?.status === 'mismatch', 'the mismatch');
    await until(async () => (await system.matter()).includes(`Mint ${hash}`), 'the alarm');
    const txId = await system.pay(carols.address, 10n * USD);
    const { id } = await system.reaches(CAROL, txId, 'confirmed');
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
    expect(await system.story(CAROL, id)).toMatchObject({
      events: ['TransferObserved', 'DepositConfirmed'],
      waiting_for: null,
    });
    expect(await system.balanceOf(CAROL)).toBe(1_008n * USD);
  },
);
