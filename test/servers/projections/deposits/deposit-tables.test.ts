/** The deposits' tables in Postgres: what the fold writes there, and what the queries find. */
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { deposits } from '../../../../projections/deposits/deposits.ts';
import {
  addressOf,
  byStatus,
  depositById,
  depositOf,
  depositsOf,
  eventsById,
  eventsOf,
  LISTED_MAX,
} from '../../../../projections/deposits/queries.ts';
import type { DepositAddressEvent } from '../../../../schemas/deposit.addresses/events.ts';
import type { TreasuryEvent } from '../../../../schemas/treasury.ledger/events.ts';
import { openReader, type ReaderPool } from '../../../../services/runtime/postgres/pool.ts';
import { accountAt, addressLog, depositKey, ledgerLog } from '../../../support/deposit-log.ts';
import { freshDatabase } from '../../../support/database.ts';
import { silentLog } from '../../../support/kafka.ts';
import { plainDeposits } from '../../../support/plain-deposits.ts';
import { differences, readTables } from '../../../support/plain-fold.ts';
import { applyStretch, openTables } from '../../../projections/deposits/applied.ts';
import { interleaved } from '../../../projections/deposits/interleaved.ts';
import { HANG_MS } from '../../../support/limits.ts';

type Event = DepositAddressEvent | TreasuryEvent;
type TextRow = Readonly<Record<string, string | null>>;

const addresses = addressLog({ seed: 4, accounts: 60, events: 300 });
const ledger = ledgerLog({ seed: 5, accounts: 8, events: 4_000 });
const plain = plainDeposits(addresses, ledger);
const rowsOf = (table: string): readonly TextRow[] =>
  (plain[table] ?? []).map((text): TextRow => JSON.parse(text));

let urls: Awaited<ReturnType<typeof freshDatabase>>;
let pool: Pool;
let reader: ReaderPool;

beforeAll(async () => {
  urls = await freshDatabase(inject('stack'));
  pool = await openTables(urls.writer_url, deposits);
  const logs: { partition: number; events: readonly Event[] }[] = [
    { partition: 0, events: addresses },
    { partition: 0, events: ledger },
  ];
  for (const stretch of interleaved(logs, { seed: 3, size_max: 400 })) {
    const [first] = stretch.events;
    const topic =
      first !== undefined && addresses.some((event) => event === first)
        ? 'deposit.addresses'
        : 'treasury.ledger';
    await applyStretch(pool, deposits, { ...stretch, topic });
  }
  await pool.query('ANALYZE');
  reader = openReader(
    { postgres_reader_url: urls.reader_url, statement_timeout_ms: HANG_MS, connections_max: 2 },
    'test',
    silentLog(),
  );
});
afterAll(async () => {
  await reader.close();
  await pool.end();
});

function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

const OWNER = accountAt(3);
const theirs = rowsOf('deposits')
  .filter((row) => row['clt_address'] === OWNER.toString('hex'))
  .toSorted(
    (one, other) =>
      (other['created_at'] ?? '').localeCompare(one['created_at'] ?? '') ||
      Number(other['ordinal']) - Number(one['ordinal']),
  );
const standing = (id: string | null | undefined): TextRow =>
  rowsOf('standings').find((row) => row['id'] === id) ?? {};
const [newest] = theirs;
const ID = newest?.['id'] ?? '';

test('after random batches of both topics the tables equal a plain reading', async () => {
  expect(rowsOf('deposits').length).toBeGreaterThan(800);
  expect(differences(await readTables(pool, 'deposits'), plain)).toEqual([]);
});

test('the list is the newest 20 of the account alone, newest first', async () => {
  expect(theirs.length).toBeGreaterThan(LISTED_MAX);
  const rows = await reader.rows(depositsOf(OWNER));
  expect(rows.map(([id, status, gross, txId]) => [id, status, gross, txId])).toEqual(
    theirs
      .slice(0, 20)
      .map((row) => [row['id'], standing(row['id'])['status'], row['gross'], `\\x${row['tx_id']}`]),
  );
  expect(await reader.rows(depositsOf(accountAt(1_000)))).toEqual([]);
});

test('a deposit exists for its owner only', async () => {
  const [row] = await reader.rows(depositOf(ID, OWNER));
  expect(row?.slice(0, 8)).toEqual([
    ID,
    hex(OWNER),
    `\\x${newest?.['deposit_address']}`,
    newest?.['gross'],
    newest?.['fee'],
    newest?.['credit'],
    standing(ID)['status'],
    standing(ID)['reason'],
  ]);
  expect(await reader.rows(depositById(ID))).toEqual([row]);
  for (const query of [
    depositOf(ID, accountAt(4)),
    depositOf('6db65fd5-9fd3-86f6-b291-40571b5bcd6b', OWNER),
    eventsOf(ID, accountAt(4)),
  ]) {
    expect(await reader.rows(query)).toEqual([]);
  }
});

test('the timeline of a deposit is in order, with the log offset of each event', async () => {
  const expected = rowsOf('deposit_events')
    .filter((row) => row['deposit_id'] === ID)
    .toSorted((one, other) => Number(one['ordinal']) - Number(other['ordinal']));
  const rows = await reader.rows(eventsOf(ID, OWNER));
  expect(
    rows.map(([event, , reason, , , , , , , topic, partition, offset]) => [
      event,
      reason,
      topic,
      partition,
      offset,
    ]),
  ).toEqual(
    expected.map((row) => [
      row['event'],
      row['reason'],
      row['topic'],
      row['partition'],
      row['log_offset'],
    ]),
  );
  expect(rows.slice(0, 2).map(([event]) => event)).toEqual([
    'TransferObserved',
    'DepositConfirmed',
  ]);
  expect(await reader.rows(eventsById(ID))).toEqual(rows);
});

test('the address of an account is found, and none of a stranger', async () => {
  const row = rowsOf('addresses').find(
    ({ derivation_index: derivationIndex }) => derivationIndex === '5',
  );
  const account = Buffer.from(row?.['clt_address'] ?? '', 'hex');
  const address = depositKey().addressAt(5);
  expect((await reader.rows(addressOf(account))).map((cells) => cells.slice(3))).toEqual([
    [hex(address), '5'],
  ]);
  expect((await reader.rows(addressOf(accountAt(1_000)))).map((cells) => cells.slice(3))).toEqual([
    [null, null],
  ]);
});

test.each(['confirmed', 'needs_manual', 'rejected', 'mint_requested', 'credited'])(
  'deposits that are %s are listed page by page, newest first, none twice',
  async (status) => {
    const expected = rowsOf('by_status')
      .filter((row) => row['status'] === status)
      .toSorted((one, other) => Number(other['seq']) - Number(one['seq']))
      .map((row) => row['id']);
    expect(expected.length).toBeGreaterThan(10);
    const found: (string | null | undefined)[] = [];
    for (let below: bigint | undefined; ;) {
      const rows = await reader.rows(byStatus(status, { limit: 7, below }));
      found.push(...rows.map(([id]) => id));
      if (rows.length < 7) break;
      below = BigInt(rows.at(-1)?.at(-1) ?? '0');
    }
    expect(found).toEqual(expected);
  },
);
