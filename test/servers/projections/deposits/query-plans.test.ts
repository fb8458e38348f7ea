/** At 40,000 deposits: how Postgres goes about each question. */
import { beforeAll, expect, inject, test } from 'vitest';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import {
  addressOf,
  byStatus,
  depositById,
  depositOf,
  depositsOf,
  eventsById,
  eventsOf,
  HELD_BY_REASON,
  heldBelow,
  LISTED_MAX,
  waitsForCap,
} from '../../../../projections/deposits/queries.ts';
import type { Query } from '../../../../projections/contract/page.ts';
import { accountAt } from '../../../support/deposit-log.ts';
import { freshDatabase } from '../../../support/database.ts';
import { explained, PLAN_CACHES } from '../../../projections/explorer/explained.ts';
import { openTables } from '../../../projections/deposits/applied.ts';

const OWNERS = 400;
const OWNER = accountAt(7);
const ID = 'id-407';

/** Deposit n has the owner n % 400 and the id `id-n`; accounts are those of `accountAt`. */
const FILL = [
  `CREATE TEMPORARY TABLE n AS SELECT n, (overlay(decode(repeat('ac', 20), 'hex') placing int4send((n % ${OWNERS})::int4) FROM 17)) AS owner FROM generate_series(0, 39999) n`,
  'INSERT INTO addresses SELECT substring(sha256(int8send(n)) FOR 20), n, substring(sha256(int8send(-1 - n)) FOR 20), now() FROM n',
  `INSERT INTO deposits SELECT 'id-' || n, n, owner, n / ${OWNERS}, owner, sha256(int8send(n)), 0, 10, 2, 8, 1, n / ${OWNERS}, n, now() FROM n`,
  `INSERT INTO standings (id, status, approved, rejected, refunded, events)
   SELECT 'id-' || n, CASE WHEN n % 100 = 0 THEN 'needs_manual' ELSE 'credited' END, false, false, 0, 4 FROM n`,
  `INSERT INTO by_status SELECT CASE WHEN n % 100 = 0 THEN 'needs_manual' ELSE 'credited' END, n, 'id-' || n FROM n`,
  `INSERT INTO deposit_events SELECT 'id-' || n, e, 'DepositConfirmed', NULL, NULL, 10, 2, 8, NULL, NULL, NULL, 'treasury.ledger', 0, 4 * n + e, now() FROM n, generate_series(0, 3) e`,
  // 10,000 of them wait, the oldest for long; 1,000 mints are in the window, 1,000 before it
  `UPDATE standings s SET status = 'confirmed', queue_offset = 4 * n, queued_at = 1780000000000 + n, goes_first_at = 1780086400000 + n FROM n WHERE s.id = 'id-' || n AND n % 4 = 1`,
  `DELETE FROM by_status WHERE seq % 4 = 1`,
  `INSERT INTO by_status SELECT 'confirmed', n, 'id-' || n FROM n WHERE n % 4 = 1`,
  `INSERT INTO policies VALUES (1, 'testnet', 2, 2, 1, 1000, 1000, 0)`,
  `INSERT INTO mints SELECT m, 'm' || m, 1, 1790000000000 + m, 1790086400000 + m FROM generate_series(0, 1999) m`,
  `INSERT INTO ledger (one, sequence, head, deposits, policy_version, last_nonce, free_nonces, mint_time,
                       window_sequence, operators_version, operators, two_above, authority_version,
                       authority, ledger_id, minting_stopped, proposals)
   VALUES (true, 0, '', 40000, 1, 1999, '', 1790000001999, 1000, 0, '', 0, 0, '', '', false, '')`,
  'ANALYZE',
];

let readerUrl: string;

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  readerUrl = urls.reader_url;
  const pool = await openTables(urls.writer_url, deposits);
  const client = await pool.connect();
  for (const statement of FILL) await client.query(statement);
  client.release();
  await pool.end();
});

/** With how many rows each reads at most, those of its answer and what they are looked up by. */
const QUERIES: Readonly<Record<string, readonly [query: Query, rows: number]>> = {
  'the list': [depositsOf(OWNER), 2 * LISTED_MAX],
  'the list of a stranger': [depositsOf(accountAt(100_000)), 0],
  'a deposit': [depositOf(ID, OWNER), 2],
  'a deposit for the operator': [depositById(ID), 2],
  'a story': [eventsOf(ID, OWNER), 5],
  'a story for the operator': [eventsById(ID), 4],
  'an address': [addressOf(OWNER), 0],
  'a page by status': [byStatus('needs_manual', { limit: 10, below: undefined }), 30],
  'a page by status further down': [byStatus('credited', { limit: 10, below: 20_000n }), 30],
};

test('each query is an index range no longer than its answer, without filtered rows', async () => {
  for (const [what, [query, most]] of Object.entries(QUERIES)) {
    for (const planCache of PLAN_CACHES) {
      const { scans, removed, nodes } = await explained(readerUrl, query, planCache);
      // a table of one row is read whole
      const others = scans.filter(({ how, table }) => !how.startsWith('Index') && table !== 'book');
      expect({ what, planCache, others, removed, sorted: nodes.includes('Sort') }).toEqual({
        what,
        planCache,
        others: [],
        removed: 0,
        sorted: false,
      });
      expect(scans.length, what).toBeGreaterThan(0);
      const read = scans.reduce((sum, { rows }) => sum + rows, 0);
      expect(read, what).toBeLessThanOrEqual(most);
      if (most > 0) expect(read, what).toBeGreaterThan(0);
    }
  }
});

test('dust that waits is counted without reading deposits that do not wait', async () => {
  for (const planCache of PLAN_CACHES) {
    const { scans } = await explained(readerUrl, heldBelow(20n), planCache);
    expect({ planCache, whole: scans.filter(({ how }) => how === 'Seq Scan') }).toEqual({
      planCache,
      whole: [],
    });
    // 400 wait: their places, found by the index, and their amounts
    const read = scans.reduce((sum, { rows }) => sum + rows, 0);
    expect(read).toBeLessThanOrEqual(1_200);
  }
});

test('reasons of those that wait are summed without reading deposits that do not wait', async () => {
  for (const planCache of PLAN_CACHES) {
    const { scans } = await explained(readerUrl, HELD_BY_REASON, planCache);
    expect({ planCache, whole: scans.filter(({ how }) => how === 'Seq Scan') }).toEqual({
      planCache,
      whole: [],
    });
    // 400 wait: their places, their reasons and their amounts
    const read = scans.reduce((sum, { rows }) => sum + rows, 0);
    expect(read).toBeLessThanOrEqual(1_600);
  }
});

test("the owner is checked by the index, so that another owner's deposit costs no more than none", async () => {
  const { scans, removed } = await explained(
    readerUrl,
    depositOf(ID, accountAt(8)),
    'force_generic_plan',
  );
  expect(scans.reduce((sum, { rows }) => sum + rows, 0)).toBe(0);
  expect(removed).toBeLessThanOrEqual(1);
});

test('waiting for the cap is decided without reading the whole queue or mints outside the window', async () => {
  // as long as the small tables fit into a page they are read whole
  const whole = new Set(['ledger', 'policies']);
  for (const planCache of PLAN_CACHES) {
    for (const now of [1_790_000_002_000, Date.now() + 172_800_000]) {
      const { scans } = await explained(readerUrl, waitsForCap('id-40001', now), planCache);
      const others = scans.filter(
        ({ how, table }) => !how.startsWith('Index') && !whole.has(table),
      );
      expect({ planCache, now, others }).toEqual({ planCache, now, others: [] });
      const { scans: found } = await explained(readerUrl, waitsForCap('id-401', now), planCache);
      expect(
        found.filter(({ how, table }) => !how.startsWith('Index') && !whole.has(table)),
      ).toEqual([]);
      expect(found.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(1_700);
    }
  }
});

test("a query's name is unique to its text", () => {
  const texts = new Map<string, string>();
  for (const { name, text } of [
    ...Object.values(QUERIES).map(([query]) => query),
    waitsForCap(ID, 0),
  ]) {
    expect(texts.get(name) ?? text).toBe(text);
    texts.set(name, text);
  }
  expect(new Set(texts.values()).size).toBe(texts.size);
});
