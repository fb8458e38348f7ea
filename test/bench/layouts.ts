/**
 * The bytes of the three large tables and of their indexes on addresses, as they are and in other
 * layouts.
 */
import type { Pool } from 'pg';
import { withPool, type BenchDatabase } from './databases.ts';
import type { Measured } from './report.ts';

/** Transactions whose rows are laid out. */
const TRANSACTIONS = 1_000_000;

interface Layout {
  readonly transactions: string;
  readonly activity: string;
  readonly account_transactions: string;
  /** what the indexes call the address */
  readonly account: string;
}

const NUMBER = (address: string): string =>
  `(SELECT number FROM numbered WHERE numbered.address = t.${address})`;
const AMOUNTS =
  'amount, fee, function_call_type, referrer, request_referrer, offer_referrer, request_referrer_fee, offer_referrer_fee';
const FIXED = 'seq, block_height, nonce, type_ordinal, timestamp, tx_index, is_ride_related';

/** The columns of each table, in order. */
const LAYOUTS: Readonly<Record<string, Layout>> = {
  'as they are': {
    transactions: '*',
    activity: '*',
    account_transactions: '*',
    account: 'address',
  },
  'columns of fixed size first': {
    transactions: `${FIXED}, hash, from_address, to_address, ${AMOUNTS}`,
    activity: 'ordinal, block_height, seq, address, counterparty, kind, delta, balance',
    account_transactions: 'ordinal, seq, address',
    account: 'address',
  },
  'that, and a number for each address': {
    transactions: `${FIXED}, ${NUMBER('from_address')} AS from_number, ${NUMBER('to_address')} AS to_number, hash, ${AMOUNTS}`,
    activity: `ordinal, block_height, seq, ${NUMBER('address')} AS number, ${NUMBER('counterparty')} AS counterparty, kind, delta, balance`,
    account_transactions: `ordinal, seq, ${NUMBER('address')} AS number`,
    account: 'number',
  },
};

/** Bytes a transaction of each layout. */
export async function measureLayouts(database: BenchDatabase): Promise<readonly Measured[]> {
  return await withPool(database, async (pool) => {
    await pool.query(
      `CREATE TABLE numbered AS SELECT address, row_number() OVER (ORDER BY address)::int AS number FROM accounts;
       CREATE UNIQUE INDEX ON numbered (address) INCLUDE (number);
       ANALYZE numbered`,
    );
    const { rows } = await pool.query<{ transactions: string }>(
      'SELECT least(max(seq) + 1, $1) AS transactions FROM transactions',
      [TRANSACTIONS],
    );
    const transactions = Number(rows[0]?.transactions ?? 0);
    const measured: Measured[] = [];
    for (const [what, layout] of Object.entries(LAYOUTS)) {
      const bytes = await bytesOf(pool, layout, transactions);
      measured.push({
        what: `  three tables, and indexes on addresses: ${what}`,
        unit: 'bytes a transaction',
        rounds: [bytes / transactions],
      });
    }
    await pool.query('DROP TABLE numbered');
    return measured;
  });
}

async function bytesOf(pool: Pool, layout: Layout, transactions: number): Promise<number> {
  const { account } = layout;
  for (const table of ['transactions', 'activity', 'account_transactions'] as const)
    await pool.query(
      `CREATE TABLE laid_${table} AS SELECT ${layout[table]} FROM ${table} t WHERE seq < ${transactions}`,
    );
  await pool.query(
    `CREATE INDEX laid_activity_ordinal ON laid_activity (${account}, ordinal);
     CREATE INDEX laid_account_ordinal ON laid_account_transactions (${account}, ordinal) INCLUDE (seq)`,
  );
  const { rows } = await pool.query<{ bytes: string }>(
    `SELECT sum(pg_relation_size(oid)) AS bytes FROM pg_class WHERE relname LIKE 'laid\\_%' AND relkind IN ('r', 'i')`,
  );
  await pool.query('DROP TABLE laid_transactions, laid_activity, laid_account_transactions');
  return Number(rows[0]?.bytes ?? 0);
}
