/** `waiting_for` in the story of a deposit agrees with the treasury's decisions. */
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import { approve } from '../../../../projections/deposits/domain/approval.ts';
import { dueMints, intend } from '../../../../projections/deposits/domain/minting.ts';
import { waitingBefore, waitsForCap } from '../../../../projections/deposits/queries.ts';
import { openReader, type ReaderPool } from '../../../../services/runtime/postgres/pool.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { freshDatabase } from '../../../support/database.ts';
import { depositEvents } from '../../../support/deposit-events.ts';
import { silentLog } from '../../../support/kafka.ts';
import { BEGIN, DAY_MS, hashOf, HOUR_MS, MintLedger, USD } from '../../../support/mint-ledger.ts';
import { Random } from '../../../support/random.ts';
import {
  bearerOf,
  NOW,
  openDeposits,
  type DepositServer,
} from '../../../services/deposit-gateway/deposit-server.ts';
import { HANG_MS } from '../../../support/limits.ts';

const OWNER = Buffer.alloc(20, 0xc1);
const CAPS = { single_cap: 15n * USD, rolling_cap: 20n * USD };

let pool: Pool;
let server: DepositServer;
let reader: ReaderPool;
let now = NOW * 1_000;

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  pool = await openTables(urls.writer_url, deposits);
  server = await openDeposits({ postgres_reader_url: urls.reader_url, now: () => now });
  const limits = { statement_timeout_ms: HANG_MS, connections_max: 2 };
  reader = openReader({ postgres_reader_url: urls.reader_url, ...limits }, 'test', silentLog());
});
afterAll(async () => {
  await server?.close();
  await reader?.close();
  await pool?.end();
});

/** The tables hold just what this ledger says. */
async function show(made: MintLedger): Promise<void> {
  const tables = deposits.tables.map(({ name }) => name).join(', ');
  await pool.query(`TRUNCATE ${tables}; DELETE FROM projector.checkpoints`);
  await applyStretch(pool, deposits, {
    topic: 'treasury.ledger',
    partition: 0,
    from: 0,
    events: made.log,
  });
}

function mint(made: MintLedger, at: number, most = 1): void {
  made.writeAll(intend(made.ledger, { now: at, final_nonce: 0, hashOf: hashOf, most }).events);
}

async function waitingFor(id: string, at: number): Promise<unknown> {
  now = at;
  // of the clock's own second: its token is not of the future
  const { status, text } = await server.ask(
    'GET',
    `/api/v1/deposits/${id}/events`,
    bearerOf(OWNER, at),
  );
  expect(status).toBe(200);
  const { waiting_for }: { readonly waiting_for: unknown } = JSON.parse(text);
  return waiting_for;
}

async function queueAt(at: number): Promise<unknown> {
  now = at;
  const { text } = await server.ask('GET', '/public/mint-queue');
  return JSON.parse(text);
}

async function beforeOf(ids: readonly string[]): Promise<readonly unknown[]> {
  const rows = await Promise.all(ids.map((id) => reader.rows(waitingBefore(id))));
  return rows.map(([row]) => (row === undefined ? null : Number(row[0])));
}

test('a deposit that does not fit waits for the rolling cap, and those behind it wait once it has waited a day', async () => {
  const made = new MintLedger();
  made.setPolicy(CAPS);
  made.deposit(9n * USD);
  mint(made, BEGIN);
  const large = made.deposit(12n * USD, BEGIN + HOUR_MS);
  const small = made.deposit(5n * USD, BEGIN + 2 * HOUR_MS);
  const held = made.deposit(16n * USD, BEGIN + 2 * HOUR_MS);
  const other = made.deposit(9n * USD, BEGIN + 3 * HOUR_MS);
  await show(made);
  const at = async (ms: number): Promise<readonly unknown[]> =>
    Promise.all([large, small, held].map((id) => waitingFor(id, BEGIN + ms)));
  expect(await at(3 * HOUR_MS)).toEqual(['rolling_cap', null, 'awaiting_approval']);
  expect(await queueAt(BEGIN + 3 * HOUR_MS)).toEqual({
    cap_left: Number(11n * USD),
    waiting: Number(26n * USD),
    waiting_count: 3,
    is_stopped: false,
    leaving: [{ at: new Date(BEGIN + DAY_MS).toISOString(), amount: Number(9n * USD) }],
  });
  expect(await beforeOf([large, small, held, other])).toEqual([
    0,
    Number(12n * USD),
    null,
    Number(17n * USD),
  ]);
  // the first leaves the window on the millisecond
  expect(await waitingFor(large, BEGIN + DAY_MS - 1)).toBe('rolling_cap');
  expect(await waitingFor(large, BEGIN + DAY_MS)).toBe(null);

  const intended = depositEvents(other).intended({
    to: OWNER,
    amount: 9n * USD,
    nonce: 1,
    tx_hash: Buffer.alloc(32, 1),
  });
  expect(made.write({ ...intended, decided_at: BEGIN + 20 * HOUR_MS })).toBe('applied');
  await show(made);
  expect(await at(25 * HOUR_MS - 1)).toEqual(['rolling_cap', null, 'awaiting_approval']);
  expect(await at(25 * HOUR_MS)).toEqual(['rolling_cap', 'rolling_cap', 'awaiting_approval']);
  expect(await at(44 * HOUR_MS)).toEqual([null, null, 'awaiting_approval']);
});

test('a deposit above a lowered rolling cap delays nobody, and goes first again under a raised one', async () => {
  const made = new MintLedger();
  made.setPolicy({ ...CAPS, rolling_cap: 20n * USD });
  made.deposit(12n * USD);
  mint(made, BEGIN);
  const large = made.deposit(15n * USD, BEGIN + HOUR_MS);
  const small = made.deposit(2n * USD, BEGIN + 2 * HOUR_MS);
  const recent = made.deposit(6n * USD, BEGIN + 22 * HOUR_MS);
  mint(made, BEGIN + 22 * HOUR_MS, 2);
  expect([large, small, recent].map((id) => made.state(id).status)).toEqual([
    'confirmed',
    'mint_requested',
    'mint_requested',
  ]);
  const late = made.deposit(2n * USD, BEGIN + 23 * HOUR_MS);
  const at = BEGIN + 26 * HOUR_MS;
  made.setPolicy({ single_cap: 10n * USD, rolling_cap: 14n * USD });
  await show(made);
  expect([await waitingFor(large, at), await waitingFor(late, at)]).toEqual(['rolling_cap', null]);
  made.setPolicy({ single_cap: 10n * USD, rolling_cap: 15n * USD });
  await show(made);
  expect([await waitingFor(large, at), await waitingFor(late, at)]).toEqual([
    'rolling_cap',
    'rolling_cap',
  ]);
});

test('while 1000 deposits or more wait nobody says how much is before one', async () => {
  const made = new MintLedger();
  made.setPolicy(CAPS);
  const ids = Array.from({ length: 999 }, () => made.deposit(2n * USD));
  await show(made);
  expect(await beforeOf([ids[1] ?? ''])).toEqual([Number(2n * USD)]);
  made.deposit(2n * USD);
  await show(made);
  expect((await reader.rows(waitingBefore(ids[1] ?? '')))[0]).toEqual([null]);
});

test('in random ledgers exactly the deposits that minting leaves out wait for the cap', async () => {
  const counts = { due: 0, waiting: 0 };
  for (let seed = 1; seed <= 6; seed++) {
    const random = new Random(seed);
    const made = new MintLedger();
    made.setPolicy(CAPS);
    let at = BEGIN;
    for (let deposit = 0; deposit < 30; deposit++) {
      at += random.below(3) * HOUR_MS;
      const id = made.deposit(BigInt(1 + random.below(18)) * USD, at);
      const person = { deposit_id: id, actor: 'alice', reason: 'known to us', now: at };
      const approved =
        made.state(id).status === 'needs_manual' && random.chance(0.7)
          ? approve(made.ledger, person)
          : { events: [] };
      if ('events' in approved) made.writeAll(approved.events);
      if (random.chance(0.7)) mint(made, at, 1 + random.below(3));
      if (random.chance(0.05))
        made.setPolicy({ ...CAPS, rolling_cap: BigInt(15 + random.below(10)) * USD });
    }
    at += random.below(30) * HOUR_MS;
    await show(made);
    const due = dueMints(made.ledger, { now: at, final_nonce: 0, most: 100 });
    counts.due += due.length;
    for (const { deposit_id: depositId } of due)
      expect({ seed, id: depositId, waits: await waits(depositId, at) }).toEqual({
        seed,
        id: depositId,
        waits: false,
      });
    mint(made, at, 100);
    await show(made);
    for (const { deposit_id: depositId } of made.ledger.waiting) {
      counts.waiting++;
      expect({ seed, id: depositId, waits: await waits(depositId, at) }).toEqual({
        seed,
        id: depositId,
        waits: true,
      });
    }
  }
  expect(Math.min(counts.due, counts.waiting)).toBeGreaterThan(0);
});

async function waits(id: string, at: number): Promise<boolean> {
  return (await reader.rows(waitsForCap(id, at))).length > 0;
}
