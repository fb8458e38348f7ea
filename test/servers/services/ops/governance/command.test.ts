/**
 * Operators at work: a treasury and the commands on a Kafka of their own. Alice and Bob are
 * operators, Mallory is not; credits above 2,000 USDT need both, and so does what loosens.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Wallet } from 'ethers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { opsSettings } from '../../../../faults/ops-run.ts';
import { figureOf } from '../../../../faults/processes.ts';
import { approve } from '../../../../../projections/deposits/domain/approval.ts';
import type { Ledger } from '../../../../../projections/deposits/domain/ledger.ts';
import { defaultSettings } from '../../../../../infra/services/settings.ts';
import { toHex } from '../../../../../schemas/address.ts';
import { depositIdOf } from '../../../../../schemas/deposit-id.ts';
import type { TreasuryEvent } from '../../../../../schemas/treasury.ledger/events.ts';
import { LedgerLog } from '../../../../../services/ops/deposit/ledger-log.ts';
import { openWorld, transferTo, type World } from '../../../../services/treasury/world.ts';
import { silentLog } from '../../../../support/kafka.ts';
import { answering, opsHere, type Ended } from '../../../../services/ops/operator.ts';
import { addressOf, alice, bob, mallory, signed } from '../../../../support/operators.ts';
import { startOwnKafka } from '../../../../support/own-kafka.ts';
import type { ServiceHandle, Stack } from '../../../../support/stack.ts';
import { until } from '../../../../support/until.ts';

const USD = 1_000_000n;
const BECAUSE = ['--actor', 'a person', '--reason', 'known to us'];
const OPERATORS = [alice, bob].map((wallet) => toHex(addressOf(wallet))).join(',');
const TWO_ABOVE = { APP_OPERATORS: OPERATORS, APP_TWO_OPERATORS_ABOVE: String(2_000n * USD) };
const TREASURY = { ...TWO_ABOVE, APP_RECONCILE_EVERY_MS: '1000' };

let stack: Stack;
let world: World;
let treasury: ServiceHandle;

/** Waits until a figure of the treasury has this value. */
function reaches(metric: string, value: number): Promise<void> {
  return until(
    () => figureOf(treasury, metric),
    `${metric} ${value}`,
    (seen) => seen === value,
  );
}

/** Runs a command with these settings; `key` signs. */
function ops(
  words: readonly string[],
  key?: Wallet,
  settings: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return opsHere([...words, '--stack', '/nowhere/stack.json'], {
    ...opsSettings(stack.addresses),
    ...(key === undefined ? {} : { APP_OPERATOR_KEY: key.privateKey }),
    ...settings,
  });
}

/** Alice decides, which has no effect, and Bob decides the same; his answer. */
async function both(words: readonly string[]): Promise<Ended> {
  const first = await ops([...words, '--json'], alice);
  expect([first.code, JSON.parse(first.stdout)]).toMatchObject([0, { proposed: true }]);
  const second = await ops([...words, '--json'], bob);
  expect([second.code, JSON.parse(second.stdout)]).toMatchObject([0, { proposed: false }]);
  return second;
}

async function folded(): Promise<Ledger> {
  const log = new LedgerLog({ kafka: world.kafka, codec: world.codec, log: silentLog() });
  await log.catchUp();
  return log.ledger;
}

/** A deposit of this many micro-USDT that is held for a person; its id. */
async function heldDeposit(account: number, value: bigint): Promise<string> {
  const transfer = transferTo(account, value);
  await world.observe(transfer);
  const id = depositIdOf(transfer.tx_id, transfer.log_index);
  await until(async () => (await folded()).deposit(id).status === 'needs_manual', 'the hold');
  return id;
}

async function statusOf(service: ServiceHandle): Promise<string> {
  const response = await fetch(`${service.url}/status`);
  const { message }: { readonly message: string | null } = JSON.parse(await response.text());
  return message ?? '';
}

/** Stops the treasury, and starts it with these settings as well. */
async function restart(settings: Readonly<Record<string, string>>): Promise<void> {
  await treasury.kill('SIGTERM');
  await treasury.waitExit();
  treasury = await stack.spawnService('treasury', { ...TREASURY, ...settings });
}

beforeAll(async () => {
  stack = await startOwnKafka();
  world = await openWorld(stack.addresses, true);
  await world.openAddresses(8);
  // a Mint is final soon
  const chain = { APP_TRAFFIC_PER_SECOND: '0', APP_FINALITY_DEPTH: '2' };
  await (await stack.spawnService('devnet', chain)).ready();
  await stack.spawnService('chain-ingester');
  treasury = await stack.spawnService('treasury', TREASURY);
  await treasury.ready();
});
afterAll(async () => {
  await world?.close();
  await stack?.stop();
});

test('the treasury puts its settings in force, and they are shown', async () => {
  await expect
    .poll(async () => (await world.ledger()).map(({ type }) => type))
    .toEqual(['PolicySet', 'OperatorsSet', 'CustodyPinned', 'LedgerPinned']);
  const shown = await ops(['operators', 'show', '--json']);
  expect([shown.code, JSON.parse(shown.stdout)]).toMatchObject([
    0,
    {
      operators: OPERATORS.split(','),
      two_above: '2000000000',
      custody_addresses: [defaultSettings.APP_CUSTODY_ADDRESSES],
      authority: expect.stringMatching(/^0x[0-9a-f]{40}$/),
      baseline: null,
      refused: { unsigned: 0, foreign_signature: 0 },
    },
  ]);
  const text = await ops(['policy', 'show']);
  expect(text.stdout).toContain('rolling-cap 5,000.00');
});

test("without an operator's key nothing is written", async () => {
  const id = await heldDeposit(0, 2_500_000n);
  const before = (await world.wholeLedger()).length;
  for (const [key, refused] of [
    [undefined, 'no_key'],
    [mallory, 'not_an_operator'],
  ] as const) {
    const given = await ops(['deposit', 'approve', id, ...BECAUSE, '--json'], key);
    expect([given.code, JSON.parse(given.stderr)]).toMatchObject([1, { error: refused }]);
  }
  const text = await ops(['deposit', 'approve', id, ...BECAUSE]);
  expect(text).toMatchObject({ code: 1, stdout: '' });
  expect(text.stderr).toContain('--key-file');
  expect(await world.wholeLedger()).toHaveLength(before);
});

test('records that are unsigned or signed by a stranger have no effect, and are counted', async () => {
  const id = await heldDeposit(1, 2_500_000n);
  const forge = async (sign: (event: TreasuryEvent) => TreasuryEvent): Promise<void> => {
    const ledger = await folded();
    const by = { actor: 'alice', reason: 'forged', now: Date.now() };
    const made = approve(ledger, { deposit_id: id, ...by });
    if ('refused' in made) throw new Error(made.refused);
    await world.write(...made.events.map(sign));
  };
  await forge((event) => event);
  await forge((event) => (event.type === 'DepositApproved' ? signed(event, mallory) : event));
  await reaches('treasury_decisions_refused', 2);
  expect((await folded()).deposit(id)).toMatchObject({ status: 'needs_manual', rejected: false });
  const { stdout } = await ops(['operators', 'show']);
  expect(stdout).toMatch(/1 unsigned decisions, 1 of strangers/);
});

test('an operator approves alone up to the amount, and two above it', async () => {
  const [small, large] = [await heldDeposit(2, 1_100n * USD), await heldDeposit(3, 2_100n * USD)];
  const alone = await ops(['deposit', 'approve', small, ...BECAUSE, '--json'], alice);
  expect(JSON.parse(alone.stdout)).toMatchObject({
    status: 'confirmed',
    appended: { partition: 0 },
  });

  const first = await ops(['deposit', 'approve', large, ...BECAUSE], alice);
  expect(first.code).toBe(0);
  expect(first.stdout).toMatch(
    /is approved: treasury\.ledger\/0@\d+; it is needs_manual, .*another/,
  );
  const again = await ops(['deposit', 'approve', large, ...BECAUSE, '--json'], alice);
  expect(JSON.parse(again.stdout)).toMatchObject({ status: 'needs_manual', appended: null });
  const second = await ops(['deposit', 'approve', large, ...BECAUSE, '--json'], bob);
  expect(JSON.parse(second.stdout)).toMatchObject({ status: 'confirmed' });
});

test('a person on a terminal sees the effect of an approval, and is asked', async () => {
  const id = await heldDeposit(5, 1_234_000_001n);
  const answered = (answer: string): Promise<Ended> =>
    answering(answer, () => ops(['deposit', 'approve', id, ...BECAUSE], alice));
  const no = await answered('no');
  expect(no).toMatchObject({ code: 1, stdout: '' });
  expect(no.stderr).toContain('arrived 1,234.000001 USDT, fee 2.00 USDT, credit 1,232.000001 CLT');
  expect(no.stderr).toMatch(/mint 1,232\.000001 CLT to 0x[0-9a-f]{40}$/m);
  expect((await folded()).deposit(id)).toMatchObject({ status: 'needs_manual' });
  expect(await answered('yes')).toMatchObject({ code: 0 });
  expect((await folded()).deposit(id).status).not.toBe('needs_manual');
});

test('a rejected deposit is refunded once', async () => {
  const id = await heldDeposit(4, 2_500_000n);
  const refund = ['deposit', 'refund', id, '--tron-tx', 'ab'.repeat(32), '--amount', '2.5'];
  // TRON is asked, too, and does not show the transaction yet
  const tron = {
    APP_TRON_URL: stack.addresses.tron_url,
    APP_USDT_CONTRACT: defaultSettings.APP_USDT_CONTRACT,
  };
  const early = await ops([...refund, ...BECAUSE, '--json'], alice, tron);
  expect(JSON.parse(early.stderr)).toMatchObject({ error: 'not_rejected' });
  await ops(['deposit', 'reject', id, ...BECAUSE], bob);
  const done = await ops([...refund, ...BECAUSE, '--json'], alice, tron);
  expect(JSON.parse(done.stdout)).toMatchObject({ deposit_id: id, appended: { partition: 0 } });
  expect((await folded()).sums.refunded).toBe(2_500_000n);
});

test('a key file signs with its password alone', async () => {
  const file = join(stack.folder.root, 'carol.json');
  const password = { APP_OPERATOR_PASSWORD: 'a long password' };
  const made = await ops(['operator', 'new-key', file, '--json'], undefined, password);
  const { address }: { readonly address: string } = JSON.parse(made.stdout);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'utf8')).not.toContain('mnemonic');
  expect((await ops(['operators', 'new-key', file], undefined, password)).code).toBe(1);

  await both(['operators', 'set', ...OPERATORS.split(','), address, ...BECAUSE]);
  const signing = ['surplus', 'book', '1.5', '--key-file', file, ...BECAUSE];
  const wrong = await ops(signing, undefined, { APP_OPERATOR_PASSWORD: 'another password' });
  expect([wrong.code, wrong.stdout]).toEqual([1, '']);
  expect((await ops(signing)).stderr).toContain('APP_OPERATOR_PASSWORD is not set');
  const proposed = await ops(signing, undefined, password);
  expect(proposed.stdout).toMatch(/not booked yet: .* another operator .* the same command/);
  expect((await ops(['operators', 'show'])).stdout).toContain(`a decision of each of ${address}`);
  expect((await folded()).governance.booked_surplus).toBe(0n);
  expect((await ops(['surplus', 'book', '1.5', ...BECAUSE], alice)).code).toBe(0);
  expect((await folded()).governance.booked_surplus).toBe(1_500_000n);
});

test('a treasury with other operators than those in force mints nothing and does not start', async () => {
  // it runs with the list from before: one operator alone cannot change who decides
  await expect.poll(() => treasury.log()).toContain('in force are the operators');
  expect(await statusOf(treasury)).toContain('ops operators set');
  await restart({});
  await until(
    () => statusOf(treasury),
    'the refusal',
    (seen) => seen.includes('ops operators set'),
  );
  const three = JSON.parse((await ops(['operators', 'show', '--json'])).stdout).operators.join(',');
  await restart({ APP_OPERATORS: three });
  await treasury.ready();
});

test('limits are set by operators; those of the settings only warn', async () => {
  const set = ['policy', 'set', '--rolling-cap', '6000', '--later-fee', '0.75', ...BECAUSE];
  expect((await ops(set)).code).toBe(1);
  expect(JSON.parse((await both(set)).stdout)).toMatchObject({
    version: 2,
    first_fee: '2000000',
    later_fee: '750000',
    rolling_cap: '6000000000',
  });
  await reaches('treasury_policy_is_own', 0);
});

test('a reserve run with another custody than the pinned is refused', async () => {
  const reserve = {
    APP_TRON_URL: stack.addresses.tron_url,
    APP_USDT_CONTRACT: defaultSettings.APP_USDT_CONTRACT,
    APP_CUSTODY_ADDRESSES: 'none',
    APP_RECONCILE_REQUESTS_PER_SECOND: '200',
    APP_RECONCILE_REQUESTS_PER_DAY: '0',
  };
  const run = await ops(['reserve', 'run'], undefined, reserve);
  expect([run.code, run.stdout]).toEqual([2, '']);
  expect(run.stderr).toContain(defaultSettings.APP_CUSTODY_ADDRESSES);
  expect(run.stderr).toContain('ops custody set');
});

test('custody and authority are replaced, and the treasury follows', async () => {
  const other = 'TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6';
  const own = defaultSettings.APP_CUSTODY_ADDRESSES;
  const custody = await both(['custody', 'set', own, other, ...BECAUSE]);
  expect(JSON.parse(custody.stdout)).toMatchObject({
    custody_addresses: [own, other],
    usdt_contract: defaultSettings.APP_USDT_CONTRACT,
  });
  const next = toHex(addressOf(mallory));
  // a mint may be in flight
  for (const key of [alice, bob])
    await until(
      async () => (await ops(['authority', 'rotate', next, ...BECAUSE], key)).code,
      'the rotation',
      (seen) => seen === 0,
    );
  const three = JSON.parse((await ops(['operators', 'show', '--json'])).stdout).operators.join(',');
  await restart({ APP_OPERATORS: three });
  await until(
    () => statusOf(treasury),
    'the refusal',
    (seen) => seen.includes('ops custody set'),
  );
  await restart({ APP_OPERATORS: three, APP_CUSTODY_ADDRESSES: `${own},${other}` });
  await until(
    () => statusOf(treasury),
    'the refusal',
    (seen) => seen.includes('ops authority rotate'),
  );
  expect((await folded()).governance.authority).toMatchObject({ version: 2 });
});

function acknowledge(hash: string, key = alice): Promise<Ended> {
  return ops(['mint', 'acknowledge', hash, ...BECAUSE, '--json'], key);
}

test('a Mint is acknowledged once, with the facts of the final chain', async () => {
  const unknown = await acknowledge('ab'.repeat(32));
  expect([unknown.code, unknown.stdout]).toEqual([1, '']);

  const to = toHex(addressOf(bob));
  const response = await fetch(`http://127.0.0.1:${stack.ports.devnet}/admin/clt/mint`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ to, amount: '5' }),
  });
  const { transaction_hash: transactionHash }: { readonly transaction_hash: string } = JSON.parse(
    await response.text(),
  );
  await until(
    async () => (await acknowledge(transactionHash)).code,
    'the Mint to be final',
    (seen) => seen === 0,
  );
  expect((await acknowledge(transactionHash, bob)).code).toBe(0);
  const [mint] = (await folded()).governance.acknowledged.values();
  expect(mint).toMatchObject({ to: addressOf(bob), amount: 5n });
  expect(JSON.parse((await acknowledge(transactionHash)).stdout)).toMatchObject({ appended: null });
});

test('two operators pin the same block as the baseline by its height, once', async () => {
  const pin = ['baseline', 'pin', '--liability', '0.000005', ...BECAUSE];
  const first = await ops(pin, alice);
  const [, command = '', height = ''] =
    /`ops (baseline pin --height (\d+) --liability 0\.000005)`/.exec(first.stdout) ?? [];
  expect([first.code, command]).toEqual([0, expect.stringContaining('--height')]);
  // meanwhile other blocks become final; a height that none of them has is refused
  await until(
    async () => {
      const { code, stderr } = await ops([...pin, '--height', '999999999'], bob);
      expect(code).toBe(1);
      const [, newest = ''] = /now it is (\d+)\. What to do: give a height/.exec(stderr) ?? [];
      return Number(newest);
    },
    'a later final block',
    (newest) => newest > Number(height),
  );
  const second = await ops([...command.split(' '), ...BECAUSE, '--json'], bob);
  expect(JSON.parse(second.stdout)).toMatchObject({
    baseline: { block_height: Number(height), liability: '5' },
    appended: { partition: 0 },
    proposed: false,
  });
  const again = await ops([...pin, '--json'], bob);
  expect(JSON.parse(again.stderr)).toMatchObject({ error: 'baseline_is_pinned' });
});
