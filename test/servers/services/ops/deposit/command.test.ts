import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from 'vitest';
import { deposits } from '../../../../../projections/deposits/deposits.ts';
import { approve, reject } from '../../../../../projections/deposits/domain/approval.ts';
import { SCHEMA_IDS, TREASURY_LEDGER } from '../../../../../schemas/topics.ts';
import type { Ledger } from '../../../../../projections/deposits/domain/ledger.ts';
import type { TreasuryEvent } from '../../../../../schemas/treasury.ledger/events.ts';
import { LedgerLog } from '../../../../../services/ops/deposit/ledger-log.ts';
import { ensureTopics } from '../../../../../services/runtime/kafka/topics.ts';
import { KafkaWriter } from '../../../../../services/runtime/kafka/writer.ts';
import { toEntries } from '../../../../../services/treasury/ledger/ledger-writer.ts';
import { applyStretch, openTables } from '../../../../projections/deposits/applied.ts';
import { freshDatabase } from '../../../../support/database.ts';
import { depositEvents } from '../../../../support/deposit-events.ts';
import { addressOf, alice, bob, BY, operatorsSet, signed } from '../../../../support/operators.ts';
import { appendAll, freshTopic, silentLog, testKafka } from '../../../../support/kafka.ts';
import { answering, opsHere, type Ended } from '../../../../services/ops/operator.ts';
import { BEGIN, MintLedger, NOBODY, USD } from '../../../../support/mint-ledger.ts';
import { openCodec } from '../../../../support/codec.ts';

const folder = mkdtempSync(join(tmpdir(), 'clt-ops-deposit-'));
const stackFile = join(folder, 'stack.json');
const stack = inject('stack');
const PERSON = { actor: 'alice', reason: 'known to us', now: 1_790_000_000_000 };

const made = new MintLedger();
made.setPolicy();
const small = made.deposit(USD / 2n);
const waiting = made.deposit(8n * USD);
const rejected = made.deposit(USD / 4n);
made.write(depositEvents(rejected).rejected('alice'));

function ops(...args: string[]): Promise<Ended> {
  return opsHere(['deposit', ...args, '--stack', stackFile]);
}

/** Writes a stack file whose read model has folded this ledger. */
async function writeStack(file: string, { log: events }: MintLedger): Promise<void> {
  const database = await freshDatabase(stack);
  const pool = await openTables(database.writer_url, deposits);
  await applyStretch(pool, deposits, { partition: 0, from: 0, events, topic: 'treasury.ledger' });
  await pool.end();
  writeFileSync(file, JSON.stringify({ ...stack, postgres_reader_url: database.reader_url }));
}

beforeAll(async () => {
  await writeStack(stackFile, made);
  await ensureTopics(testKafka(stack), [TREASURY_LEDGER]);
});

afterAll(() => rmSync(folder, { recursive: true }));

test('deposits are listed by status, and one is shown with every event and its offset', async () => {
  const list = await ops('list');
  expect(list).toMatchObject({ code: 0, stderr: '' });
  expect(list.stdout).toMatch(
    /^ID +CREATED \(UTC\) +ACCOUNT +ARRIVED USDT +CREDIT CLT +REASON +APPROVALS$/m,
  );
  expect(list.stdout).toMatch(
    new RegExp(`^${small.slice(0, 8)}  .* 2\\.50 +0\\.50  below_minimum$`, 'm'),
  );
  expect(JSON.parse((await ops('list', '--status', 'confirmed', '--json')).stdout)).toMatchObject([
    { id: waiting, status: 'confirmed', credit_usdt: '8000000', reason: null },
  ]);
  const shown = await ops('show', small);
  expect(shown.stdout).toMatch(/^status +needs_manual, below_minimum$/m);
  expect(shown.stdout).toMatch(/ DepositHeld +treasury\.ledger\/0@2 +reason below_minimum$/m);
  expect((await ops('show', small.slice(0, 8))).stdout).toBe(shown.stdout);
  expect(Math.max(...shown.stdout.split('\n').map((line) => line.length))).toBeLessThan(101);
  const json: unknown = JSON.parse((await ops('show', small.toUpperCase(), '--json')).stdout);
  expect(json).toMatchObject({
    id: small,
    events: [
      { event: 'TransferObserved', topic: 'tron.transfers' },
      { event: 'DepositConfirmed', offset: '1' },
      { event: 'DepositHeld', topic: 'treasury.ledger', partition: 0, offset: '2' },
    ],
  });
});

test('a deposit that needs two operators is listed with the number of its approvals', async () => {
  const ledger = new MintLedger();
  ledger.setPolicy();
  ledger.write({ ...operatorsSet(alice, bob), two_above: 2_000n * USD });
  const [one, two, none] = [1_500n, 3_000n, 4_000n].map((credit) => ledger.deposit(credit * USD));
  const sequence = ledger.log.length;
  ledger.write(signed({ ...depositEvents(two ?? '').approved(), sequence }, alice));
  const file = join(folder, 'two.json');
  await writeStack(file, ledger);
  const list = await opsHere(['deposit', 'list', '--stack', file]);
  const shown = list.stdout
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => [line.split(' ')[0], line.split(/ {2,}/).slice(5)]);
  expect(shown).toEqual([
    [none?.slice(0, 8), ['over_single_cap', '0 of 2']],
    [two?.slice(0, 8), ['over_single_cap', '1 of 2']],
    [one?.slice(0, 8), ['over_single_cap']],
  ]);
  const json = await opsHere(['deposit', 'list', '--json', '--stack', file]);
  expect(JSON.parse(json.stdout)).toMatchObject([
    { id: none, approvals: 0 },
    { id: two, approvals: 1 },
    { id: one, approvals: null },
  ]);
});

test('a rejected deposit is listed on request only, and its status stays', async () => {
  const ids = async (...args: readonly string[]): Promise<readonly unknown[]> => {
    const rows: unknown = JSON.parse((await ops('list', '--json', ...args)).stdout);
    if (!Array.isArray(rows)) throw new Error('no list');
    return rows.map((row: { readonly id: string }) => row.id);
  };
  expect(await ids()).toEqual([small]);
  expect(await ids('--rejected')).toEqual([rejected]);
  expect((await ops('list', '--rejected')).stdout).toContain(rejected.slice(0, 8));
  expect((await ops('show', rejected)).stdout).toMatch(
    /^status +needs_manual, below_minimum, rejected$/m,
  );
  expect(await ops('list', '--rejected', '--status', 'credited')).toMatchObject({ code: 1 });
});

test('deposits are filtered, and listed in pages beyond 100', async () => {
  const ledger = new MintLedger();
  ledger.setPolicy();
  const ids = Array.from({ length: 130 }, (_, at) => ledger.deposit(USD / 2n + BigInt(at)));
  const file = join(folder, 'many.json');
  await writeStack(file, ledger);
  const list = async (...args: readonly string[]): Promise<readonly Row[]> => {
    const ended = await opsHere(['deposit', 'list', '--json', '--stack', file, ...args]);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    const rows: readonly Row[] = JSON.parse(ended.stdout);
    return rows;
  };
  const newest = ids.toReversed();
  const all = await list('--limit', '10000');
  expect(all.map(({ id }) => id)).toEqual(newest);
  const first = await list('--limit', '110');
  const second = await list('--limit', '110', '--cursor', first.at(-1)?.cursor ?? '');
  expect([...first, ...second].map(({ id }) => id)).toEqual(newest);
  const { clt_address: cltAddress = '' } = all[0] ?? {};
  const own = all.filter((each) => each.clt_address === cltAddress);
  expect(await list('--account', cltAddress, '--limit', '200')).toEqual(own);
  // the first one costs more
  expect(await list('--above', '1.000127')).toEqual([...all.slice(0, 2), all.at(-1)]);
  const text = await opsHere(['deposit', 'list', '--limit', '5', '--stack', file]);
  expect(text.stdout.trim().split('\n')).toHaveLength(6);
  expect(text.stderr).toMatch(/^there are more: --cursor \d+$/m);
});

interface Row {
  readonly id: string;
  readonly clt_address: string;
  readonly cursor: string;
}

test('a deposit that does not exist is refused', async () => {
  expect(await ops('show', '6db65fd5-9fd3-86f6-b291-40571b5bcd6b')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining('there is no deposit with this id'),
  });
});

test('a decision on a deposit that the ledger does not know is refused', async () => {
  const given = ['6db65fd5-9fd3-86f6-b291-40571b5bcd6b', '--actor', 'alice', '--reason', 'why not'];
  for (const verb of ['approve', 'reject', 'release']) {
    const json = await ops(verb, ...given, '--json');
    expect([json.code, JSON.parse(json.stderr)]).toMatchObject([1, { error: 'no_such_deposit' }]);
  }
});

test('a registry that does not answer is named, with its remedy', async () => {
  const away = join(folder, 'away.json');
  writeFileSync(away, JSON.stringify({ ...stack, registry_url: 'http://127.0.0.1:9/registry' }));
  for (const words of [
    ['operators', 'show'],
    ['policy', 'show'],
  ]) {
    const { code, stderr } = await opsHere([...words, '--stack', away]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        /^the schema registry at http:\/\/127\.0\.0\.1:9\/registry does not answer: .*; start the schema registry or correct APP_REGISTRY_URL\n$/,
      ) as unknown,
    });
  }
});

interface OwnLog {
  readonly log: LedgerLog;
  readonly topic: string;
  readonly write: (events: readonly TreasuryEvent[]) => Promise<void>;
}

async function ownLog(): Promise<OwnLog> {
  const kafka = testKafka(stack);
  const topic = await freshTopic(kafka);
  const codec = await openCodec(stack.registry_url, [TREASURY_LEDGER]);
  const write = (events: readonly TreasuryEvent[]): Promise<void> =>
    appendAll(kafka, topic, toEntries(codec, events));
  await write(made.log);
  return { log: new LedgerLog({ kafka, codec, log: silentLog(), topic }), topic, write };
}

test('a decision is appended once, and a contrary one is refused afterwards', async () => {
  const { log } = await ownLog();
  const deciding = { deposit_id: small, ...PERSON };
  expect(await log.decide((ledger) => approve(ledger, deciding))).toMatchObject({
    appended: { partition: 0, offset: BigInt(made.log.length) },
  });
  expect(log.ledger.deposit(small)).toMatchObject({ status: 'confirmed', approved: true });
  expect(await log.decide((ledger) => approve(ledger, deciding))).toEqual({ appended: undefined });
  expect(await log.decide((ledger) => reject(ledger, deciding))).toEqual({
    refused: 'not_waiting_for_a_person',
  });
});

test('a decision that loses the race for its offset is made again on the new state', async () => {
  const { log, topic, write } = await ownLog();
  const append: unknown = Reflect.get(KafkaWriter.prototype, 'append');
  if (typeof append !== 'function') throw new Error('a writer without append');
  let written = false;
  const spy = vi.spyOn(KafkaWriter.prototype, 'append').mockImplementation(async function (
    this: KafkaWriter,
    ...batch
  ) {
    if (batch[0] === topic && !written) {
      written = true;
      await write([{ ...depositEvents(small).rejected('bob'), sequence: made.log.length }]);
    }
    return Reflect.apply(append, this, batch);
  });
  onTestFinished(() => spy.mockRestore());
  const deciding = { deposit_id: small, ...PERSON };
  expect(await log.decide((ledger) => approve(ledger, deciding))).toEqual({
    refused: 'rejected_for_good',
  });
  expect(log.ledger.deposit(small)).toMatchObject({ status: 'needs_manual', rejected: true });
  expect(log.ledger.end).toBe(BigInt(made.log.length) + 2n);
});

interface OwnStack {
  readonly run: (...words: string[]) => Promise<Ended>;
  readonly append: (...events: TreasuryEvent[]) => Promise<void>;
  /** as it is in the log */
  readonly folded: () => Promise<Ledger>;
}

/** A ledger in a log of its own, and a read model of what `shown` has, with alice's key. */
async function ownStack(ledger: MintLedger, shown = ledger): Promise<OwnStack> {
  const kafka_prefix = `${randomUUID()}.`;
  const kafka = testKafka(stack, undefined, { kafka_prefix });
  await ensureTopics(kafka, [TREASURY_LEDGER, SCHEMA_IDS]);
  const codec = await openCodec(stack.registry_url, [TREASURY_LEDGER]);
  const append = async (...events: readonly TreasuryEvent[]): Promise<void> =>
    appendAll(kafka, TREASURY_LEDGER.name, toEntries(codec, events));
  await append(...ledger.log);
  const file = join(folder, `${randomUUID()}.json`);
  await writeStack(file, shown);
  return {
    append,
    run: (...words) =>
      opsHere([...words, '--stack', file], {
        APP_KAFKA_PREFIX: kafka_prefix,
        APP_OPERATOR_KEY: alice.privateKey,
      }),
    async folded() {
      const log = new LedgerLog({ kafka, codec, log: silentLog() });
      await log.catchUp();
      return log.ledger;
    },
  };
}

/** Deposits of strangers: 45 of 1 to 3 micro-USDT; the account's own of 0.60 USDT; one of 3,000. */
function dustLedger(): { readonly ledger: MintLedger; readonly ids: readonly string[] } {
  const ledger = new MintLedger();
  ledger.setPolicy({ first_fee: 0n, later_fee: 0n });
  const operators = [alice, bob].map(addressOf);
  ledger.write({ ...BY, type: 'OperatorsSet', version: 1, operators, two_above: 2_000n * USD });
  const amounts = [USD / 2n + 100_000n, 3_000n * USD];
  const dust = Array.from({ length: 45 }, (_, at) => BigInt(1 + (at % 3)));
  return { ledger, ids: [...amounts, ...dust].map((amount) => ledger.deposit(amount)) };
}

const BY_ALICE = ['--actor', 'alice', '--reason', 'dust of strangers'];

test('all deposits below an amount are rejected by one command, with one record', async () => {
  const { ledger, ids } = dustLedger();
  const [real = '', large = '', ...dust] = ids;
  const { run, folded } = await ownStack(ledger);
  const shown = await run('deposit', 'list');
  expect(
    shown.stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split(' ')[0]),
  ).toEqual([large.slice(0, 8), real.slice(0, 8)]);
  expect(shown.stderr).toBe('and 45 of less than 0.01 USDT, together 0.00009 USDT: --below 0.01\n');
  const all: unknown = JSON.parse(
    (await run('deposit', 'list', '--limit', '100', '--json')).stdout,
  );
  expect(all).toHaveLength(47);
  const below: unknown = JSON.parse(
    (await run('deposit', 'list', '--below', '0.01', '--limit', '100', '--json')).stdout,
  );
  expect(below).toHaveLength(45);

  const done = await run('deposit', 'reject', '--below', '0.01', ...BY_ALICE);
  expect(done).toEqual({
    code: 0,
    stdout: `the decision of 45 deposits is recorded: treasury.ledger/0@${ledger.log.length}; 45 deposits stay needs_manual for good\n`,
    stderr: '',
  });
  const after = await folded();
  expect(after.end).toBe(BigInt(ledger.log.length) + 1n);
  for (const id of dust) expect(after.deposit(id)).toMatchObject({ rejected: true });
  for (const id of [real, large])
    expect(after.deposit(id)).toMatchObject({ status: 'needs_manual', rejected: false });

  // the read model is of before, and shows them still
  const again = await run('deposit', 'reject', '--below', '0.01', ...BY_ALICE, '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({
    deposits: [],
    left_out: dust.map((deposit_id) => ({ deposit_id, reason: 'decided_before' })),
    appended: null,
  });
  const none = await run('deposit', 'reject', '--below', '0.000001', ...BY_ALICE);
  expect(none).toMatchObject({ code: 0, stdout: expect.stringContaining('nothing to do') });
});

test('several ids are decided together; what changed meanwhile is left out and named', async () => {
  const { ledger, ids } = dustLedger();
  const [real = '', large = '', one = '', two = ''] = ids;
  const { run, append, folded } = await ownStack(ledger);
  const sequence = ledger.log.length;
  await append(signed({ ...depositEvents(one).rejected('bob'), sequence }, bob));
  const approved = await run('deposit', 'approve', real, large, one, two, ...BY_ALICE);
  expect(approved.stdout.split('\n')).toEqual([
    expect.stringMatching(
      new RegExp(
        `^the decision of 3 deposits is recorded: treasury.ledger/0@${sequence + 1}; 2 deposits are confirmed; 1 is needs_manual, since its credit needs another operator's approval too$`,
      ),
    ),
    `left out ${one}: it was rejected, which is for good`,
    '',
  ]);
  const after = await folded();
  expect(after.deposit(real)).toMatchObject({ status: 'confirmed', approved: true });
  expect(after.deposit(large)).toMatchObject({ status: 'needs_manual', rejected: false });
  const unknown = await run('deposit', 'reject', two, NOBODY, ...BY_ALICE, '--json');
  expect([unknown.code, JSON.parse(unknown.stderr)]).toMatchObject([
    1,
    { error: 'no_such_deposit' },
  ]);
  expect((await folded()).end).toBe(after.end);
});

test('a person on a terminal sees the deposits of most money and the sums, and is asked once', async () => {
  const { ledger } = dustLedger();
  const { run, folded } = await ownStack(ledger);
  const rejectAll = (): Promise<Ended> => run('deposit', 'reject', '--below', '1', ...BY_ALICE);
  const no = await answering('no', rejectAll);
  expect(no).toMatchObject({ code: 1, stdout: '' });
  expect(no.stderr).toMatch(
    /^[0-9a-f-]{36} +0\.60 +0\.60 +0xc1c1c1…c1c1c1 +below_minimum\n(?:[0-9a-f-]{36} .*\n){19}and 26 of no more/m,
  );
  expect(no.stderr).toContain(
    'amounts  46 deposits: arrived 0.60009 USDT, credit 0.60009 CLT\n' +
      'effect   mint nothing for good; 0.60009 USDT stay in the reserve\n',
  );
  expect((await folded()).end).toBe(BigInt(ledger.log.length));
  const yes = await answering('yes', rejectAll);
  expect(yes).toMatchObject({ code: 0 });
  expect(yes.stderr.match(/do it\?/g)).toHaveLength(1);
  expect((await folded()).end).toBe(BigInt(ledger.log.length) + 1n);
});

test('deposits are found by reason, age, account and both bounds', async () => {
  const { ledger, ids } = dustLedger();
  const [real = '', large = ''] = ids;
  const { run } = await ownStack(ledger);
  const found = async (...filters: string[]): Promise<readonly string[]> => {
    const { stdout } = await run('deposit', 'list', '--limit', '100', '--json', ...filters);
    const rows: readonly Row[] = JSON.parse(stdout);
    return rows.map(({ id }) => id);
  };
  expect(await found('--hold-reason', 'over_single_cap')).toEqual([large]);
  expect(await found('--above', '0.01', '--below', '1')).toEqual([real]);
  const minutes = Math.ceil((Date.now() - BEGIN) / 60_000);
  expect(await found('--older-than', `${Math.floor(minutes / 2)}m`)).toHaveLength(47);
  expect(await found('--older-than', `${minutes + 60 * 24 * 365}m`)).toEqual([]);
});

test('a read model that tells other amounts than the ledger has nothing decided', async () => {
  const { ledger } = dustLedger();
  const other = dustLedger();
  const shown = new MintLedger();
  for (const event of other.ledger.log) {
    const isLarge = event.type === 'DepositConfirmed' && event.gross === 3_000n * USD;
    const dust = isLarge ? { gross: 3n, credit: 3n } : {};
    const held = event.type === 'DepositHeld' ? { reason: 'below_minimum' } : {};
    shown.writeAll([{ ...event, ...dust, ...held }]);
  }
  const { run, folded } = await ownStack(ledger, shown);
  const refused = await run('deposit', 'approve', '--below', '0.01', ...BY_ALICE, '--json');
  expect([refused.code, JSON.parse(refused.stderr)]).toMatchObject([1, { error: 'contradicted' }]);
  expect((await folded()).end).toBe(BigInt(ledger.log.length));
});
