/** On 5,000 rows in every table: which conditions on the views for analysts reach an index. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { beforeAll, expect, inject, test } from 'vitest';
import { checkout } from '../../../../../infra/local/stack/folder.ts';
import { PROJECTIONS } from '../../../../../services/projector/registry.ts';
import { prepareDatabase } from '../../../../../services/projector/tables/migrations.ts';
import { freshDatabase, rowsOf } from '../../../../support/database.ts';

const ROWS = 5_000;
/** The value of row i, by the type of its column. */
const VALUES: Readonly<Record<string, string>> = {
  bigint: 'i',
  integer: 'i % 100',
  numeric: 'i',
  boolean: 'i % 2 = 0',
  bytea: 'substr(sha256(int8send(i)), 1, 20)',
  text: `'1.' || i`,
  'timestamp with time zone': `timestamptz '2026-01-01' + i * interval '1 second'`,
};
/** A value to ask for. */
const WANTED: Readonly<Record<string, string>> = {
  bigint: '77',
  integer: '77',
  numeric: '77.5',
  text: `'0x77'`,
  date: `'2026-01-01'`,
  'timestamp with time zone': `'2026-01-01 00:01:17+00'`,
};
/** Four events for each deposit, so that its mint has a beginning and an end. */
const TIMELINES = `
  TRUNCATE deposits.deposit_events;
  INSERT INTO deposits.deposit_events (deposit_id, ordinal, event, gross, fee, credit, nonce, tx_hash,
                                       block_height, topic, partition, log_offset, at)
  SELECT '1.' || i, at,
         (ARRAY['TransferObserved', 'DepositConfirmed', 'MintIntended', 'MintCredited'])[at + 1],
         5, 0, 5, i, ${VALUES['bytea']}, i, 'treasury.ledger', 0, i * 4 + at,
         ${VALUES['timestamp with time zone']} + at * interval '1 second'
    FROM generate_series(1, ${ROWS}) i, generate_series(0, 3) at`;

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Sequential scans and joins that read both sides are off: shows all that an index can do. */
let client: Client;
/** With the settings of the role. */
let usual: Client;

beforeAll(async () => {
  const urls = await freshDatabase(inject('stack'));
  for (const projection of PROJECTIONS) {
    await prepareDatabase(urls.writer_url, projection, { indexed: true });
    for (const { name } of projection.tables) await fill(urls.writer_url, projection.name, name);
  }
  await rowsOf(urls.writer_url, TIMELINES);
  await rowsOf(urls.writer_url, `ANALYZE ${PROJECTIONS.map(tablesOf).join(', ')}`);
  client = new Client({ connectionString: urls.analyst_url });
  await client.connect();
  const { rows } = await client.query<Record<'name' | 'first', string>>(
    `SELECT c.relname AS name,
            CASE WHEN i.indnkeyatts > 1 THEN pg_get_indexdef(i.indexrelid, 1, true) ELSE '' END AS first
       FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid`,
  );
  firstColumns = new Map(rows.map(({ name, first }) => [name, first]));
  usual = new Client({ connectionString: urls.analyst_url });
  await usual.connect();
  for (const way of ['seqscan', 'hashjoin', 'mergejoin'])
    await client.query(`SET enable_${way} = off`);
  return () => Promise.all([client.end(), usual.end()]);
});

function tablesOf({ name, tables }: (typeof PROJECTIONS)[number]): string {
  return tables.map((table) => `${name}.${table.name}`).join(', ');
}

/** A table of a single row gets one. */
async function fill(writerUrl: string, schema: string, table: string): Promise<void> {
  const columns = await rowsOf(
    writerUrl,
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
      WHERE table_schema = '${schema}' AND table_name = '${table}' ORDER BY ordinal_position`,
  );
  const isSingle = columns.some(({ name }) => name === 'one');
  const values = columns.map(({ name, type }) => (name === 'one' ? 'true' : VALUES[String(type)]));
  await rowsOf(
    writerUrl,
    `INSERT INTO ${schema}.${table} SELECT ${values.join(', ')}
       FROM generate_series(1, ${isSingle ? 1 : ROWS}) i ON CONFLICT DO NOTHING`,
  );
}

async function planOf(sql: string, asked = client): Promise<PlanNode> {
  const { rows } = await asked.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
    `EXPLAIN (FORMAT JSON) ${sql}`,
  );
  const plan = rows[0]?.['QUERY PLAN'][0].Plan;
  if (plan === undefined) throw new Error('no plan');
  return plan;
}

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** The first column of each index that has several, as a condition shows it. */
let firstColumns: ReadonlyMap<string, string>;

/** No table but that of the chain's head is read from end to end, and neither is an index. */
function isRange(plan: PlanNode): boolean {
  return nodesOf(plan).every((node) => {
    if (node['Relation Name'] === 'head' || !node['Node Type'].includes('Scan')) return true;
    // has hardly any rows
    if (node['Index Name'] === 'deposit_events_voided') return true;
    if (['Bitmap Heap Scan', 'Subquery Scan'].includes(node['Node Type'])) return true;
    const first = firstColumns.get(node['Index Name'] ?? '');
    return first !== undefined && node['Index Cond']?.includes(first) === true;
  });
}

/** Rows come in the order of an index: the first ten need no others, and are not sorted. */
function isOrdered(plan: PlanNode): boolean {
  return nodesOf(plan).every(
    (node) =>
      node['Relation Name'] === 'head' ||
      (node['Node Type'] !== 'Seq Scan' && node['Node Type'] !== 'Sort'),
  );
}

/** `view.column` of each column in the second or third place of the table in docs/analysts.md. */
function inDocument(place: 2 | 3): readonly string[] {
  const text = readFileSync(`${checkout}/docs/analysts.md`, 'utf8');
  const rows = text.matchAll(/^\| `(\w+)` \|([^|]*)\|([^|]*)\|$/gm);
  return Array.from(rows, (row) =>
    Array.from((row[place] ?? '').matchAll(/`(?:NOT )?(\w+)`/g), ([, name]) => `${row[1]}.${name}`),
  ).flat();
}

async function columnsOfViews(): Promise<readonly Record<'view' | 'name' | 'type', string>[]> {
  const { rows } = await client.query<Record<'view' | 'name' | 'type', string>>(
    `SELECT table_name AS view, column_name AS name, data_type AS type
       FROM information_schema.columns WHERE table_schema = 'analytics'`,
  );
  return rows;
}

test('the conditions that reach an index are those that the page for analysts names', async () => {
  const fast: string[] = [];
  for (const { view, name, type } of await columnsOfViews()) {
    const condition = type === 'boolean' ? `NOT ${name}` : `${name} = ${WANTED[type]}`;
    const plan = await planOf(`SELECT * FROM analytics.${view} WHERE ${condition}`);
    if (isRange(plan)) fast.push(`${view}.${name}`);
  }
  expect(fast.toSorted()).toEqual(inDocument(2).toSorted());
});

test('the first ten come from an index in the orders that the page for analysts names', async () => {
  const fast: string[] = [];
  for (const { view, name, type } of await columnsOfViews()) {
    // an order of addresses, ids or words is of no use
    if (type === 'text') continue;
    const plan = await planOf(`SELECT * FROM analytics.${view} ORDER BY ${name} DESC LIMIT 10`);
    if (isOrdered(plan)) fast.push(`${view}.${name}`);
  }
  expect(fast.toSorted()).toEqual(inDocument(3).toSorted());
});

test('with the settings of the role those ten are read from an index too', async () => {
  for (const column of inDocument(3)) {
    const [view, name] = column.split('.');
    const sql = `SELECT * FROM analytics.${view} ORDER BY ${name} DESC LIMIT 10`;
    expect([column, isOrdered(await planOf(sql, usual))]).toEqual([column, true]);
  }
});

/** Bytes of every table's row 77. */
const HASH = `0x${createHash('sha256').update(Buffer.from('000000000000004d', 'hex')).digest('hex').slice(0, 40)}`;
const PAID = `p.paid_at BETWEEN '2026-01-01 01:00:00+00' AND '2026-01-01 01:00:05+00'`;

test.for([
  `balance_effects e JOIN analytics.ride_payments p ON p.tx_hash = e.tx_hash
     JOIN analytics.ride_trips t ON t.tx_hash = p.trip_hash WHERE t.request_hash = '${HASH}'`,
  `ride_trips t JOIN analytics.ride_payments p ON t.tx_hash = p.trip_hash
     JOIN analytics.balance_effects e ON p.tx_hash = e.tx_hash WHERE t.request_hash = '${HASH}'`,
  `transactions x JOIN analytics.ride_payments p ON p.tx_hash = x.tx_hash
     JOIN analytics.ride_trips t ON t.tx_hash = p.trip_hash
     JOIN analytics.ride_requests r ON r.tx_hash = t.request_hash WHERE r.tx_hash = '${HASH}'`,
  `ride_payments p JOIN analytics.ride_trips t ON t.tx_hash = p.trip_hash
     JOIN analytics.ride_requests r ON r.tx_hash = t.request_hash
     JOIN analytics.ride_offers o ON o.tx_hash = t.offer_hash WHERE r.tx_hash = '${HASH}'`,
  `ride_requests r JOIN analytics.ride_trips t ON t.request_hash = r.tx_hash
     JOIN analytics.ride_payments p ON p.trip_hash = t.tx_hash WHERE ${PAID}`,
  `ride_requests r JOIN analytics.ride_offers o ON o.request_hash = r.tx_hash
     JOIN analytics.ride_trips t ON t.offer_hash = o.tx_hash
     JOIN analytics.ride_payments p ON p.trip_hash = t.tx_hash WHERE ${PAID}`,
  `accounts a JOIN analytics.balance_effects e ON e.address = a.address
     JOIN analytics.transactions t ON t.tx_hash = e.tx_hash
     JOIN analytics.mints m ON m.tx_hash = t.tx_hash
     JOIN analytics.deposits d ON d.deposit_id = m.deposit_id WHERE d.deposit_id = '1.77'`,
  `balance_effects e JOIN analytics.mints m ON m.tx_hash = e.tx_hash
     JOIN analytics.deposits d ON d.deposit_id = m.deposit_id WHERE d.deposit_id = '1.77'`,
  `balance_effects e JOIN analytics.mints m ON m.tx_hash = e.tx_hash WHERE m.deposit_id = '1.77'`,
  `balance_effects e JOIN analytics.balance_effects f ON f.tx_hash = e.tx_hash
     JOIN analytics.transactions t ON t.tx_hash = f.tx_hash WHERE t.block_height = 77`,
])('with the settings of the role a join reads ranges: %s', async (sql) => {
  const plan = await planOf(`SELECT count(*) FROM analytics.${sql}`, usual);
  expect(nodesOf(plan).filter((node) => !isRange({ ...node, Plans: [] }))).toEqual([]);
});

test('the newest rows of an address are read from its end', async () => {
  for (const rows of ['effects_of', 'transactions_of']) {
    const plan = await planOf(`SELECT * FROM analytics.${rows}('${HASH}') LIMIT 10`);
    expect([rows, isOrdered(plan)]).toEqual([rows, true]);
  }
});

test('rides that ended in a stretch of time are found by their status and it', async () => {
  for (const condition of [
    `ride_trips WHERE status <> 'active' AND ended_at > '2026-01-01 01:23'`,
    `ride_requests WHERE status <> 'open' AND closed_at > '2026-01-01 01:23'`,
  ]) {
    const plan = await planOf(`SELECT * FROM analytics.${condition}`);
    expect([condition, isRange(plan)]).toEqual([condition, true]);
  }
});
