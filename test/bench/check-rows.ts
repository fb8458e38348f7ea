/** Whether the explorer's tables hold what was generated: the speed of wrong rows means nothing. */
import type { Pool } from 'pg';
import { differences, plainFold, readTables } from '../support/plain-fold.ts';
import { GeneratedChain, type ChainCounts, type GeneratedChainSettings } from './generator.ts';

/** Up to so many transactions every row is compared with a plain fold of the log. */
const PLAIN_FOLD_MAX = 100_000;
/** Up to so many the rows of every account are held to the invariants, above of one in `ONE_IN`. */
const ALL_ACCOUNTS_MAX = 10_000_000;
const ONE_IN = 16;

/** How `checkRows` checks so many, for a report. */
export function checkedBy({ transactions }: GeneratedChainSettings): string {
  if (transactions <= PLAIN_FOLD_MAX) return 'every row is compared with a plain fold of the log';
  const accounts = transactions <= ALL_ACCOUNTS_MAX ? 'all accounts' : `one in ${ONE_IN} accounts`;
  return `the counts that the generator knows and ${Object.keys(invariants('')).length} invariants over the rows of ${accounts} are checked; every row is compared only up to ${PLAIN_FOLD_MAX} transactions`;
}

/** Throws with all that is wrong. */
export async function checkRows(
  pool: Pool,
  settings: GeneratedChainSettings,
  counts: ChainCounts,
): Promise<void> {
  const { transactions } = settings;
  const accounts =
    transactions <= ALL_ACCOUNTS_MAX ? 'true' : `get_byte(address, 19) % ${ONE_IN} = 0`;
  const wrong = [...(await miscounted(pool, counts)), ...(await inconsistent(pool, accounts))];
  if (transactions <= PLAIN_FOLD_MAX) {
    const events = [...new GeneratedChain(settings).events()];
    wrong.push(...differences(await readTables(pool, 'explorer'), plainFold(events)));
  }
  if (wrong.length > 0)
    throw new Error(`the rows are wrong, so their speed means nothing:\n  ${wrong.join('\n  ')}`);
}

/** Each figure that the generator counted, as the tables have it; all as text. */
async function miscounted(pool: Pool, counts: ChainCounts): Promise<string[]> {
  const expected: Readonly<Record<string, bigint | number>> = {
    head_transactions: counts.transactions,
    head_validators: counts.validators,
    head_sequence: counts.events - 1,
    transactions: counts.transactions,
    blocks: counts.blocks,
    validators: counts.validators,
    activity: counts.activity,
    account_transactions: counts.account_transactions,
    accounts: counts.accounts,
    supply: counts.supply,
    balances: counts.supply,
    ...Object.fromEntries(
      Object.entries(counts.transactions_of_type).map(([type, count]) => [`type_${type}`, count]),
    ),
  };
  const types = Object.keys(counts.transactions_of_type).map(
    (type) =>
      `(SELECT transactions FROM transaction_types WHERE function_call_type = '${type}') AS "type_${type}"`,
  );
  const wrong = await compare(
    pool,
    `SELECT (SELECT transactions FROM head) AS head_transactions, (SELECT validators FROM head) AS head_validators,
            (SELECT sequence FROM head) AS head_sequence,
            (SELECT count(*) FROM transactions) AS transactions, (SELECT count(*) FROM blocks) AS blocks,
            (SELECT count(*) FROM validators) AS validators, (SELECT count(*) FROM activity) AS activity,
            (SELECT count(*) FROM account_transactions) AS account_transactions, (SELECT count(*) FROM accounts) AS accounts,
            (SELECT sum(delta) FROM activity) AS supply, (SELECT sum(balance) FROM accounts) AS balances, ${types.join(', ')}`,
    [],
    expected,
  );
  for (const { address, ...account } of [counts.hot, counts.rare]) {
    const text = 'SELECT transactions, activities, balance FROM accounts WHERE address = $1';
    wrong.push(...(await compare(pool, text, [address], account)));
  }
  return wrong;
}

async function compare(
  pool: Pool,
  text: string,
  values: readonly unknown[],
  expected: Readonly<Record<string, bigint | number>>,
): Promise<string[]> {
  const { rows } = await pool.query<Record<string, string | number | null>>(text, [...values]);
  return Object.entries(expected).flatMap(([figure, value]) => {
    const found = String(rows[0]?.[figure] ?? 0);
    return found === String(value) ? [] : [`${figure} is ${found} instead of ${value}`];
  });
}

/** For accounts that meet a condition: each query counts the rows that violate the invariant. */
function invariants(accounts: string): Readonly<Record<string, string>> {
  return {
    'transactions are not numbered 0, 1, 2, ...': `SELECT count(*) FROM
       (SELECT min(seq) AS first, max(seq) AS last, count(*) AS n FROM transactions) t WHERE first <> 0 OR last <> n - 1`,
    'blocks are not a chain': `SELECT count(*) FROM
       (SELECT height, parent_hash, first_seq, lag(height) OVER w AS height_before, lag(hash) OVER w AS hash_before, lag(first_seq + tx_count) OVER w AS next_seq
          FROM blocks WINDOW w AS (ORDER BY height)) b
       WHERE height <> coalesce(height_before + 1, 0) OR first_seq <> coalesce(next_seq, 0) OR parent_hash <> coalesce(hash_before, parent_hash)`,
    'types are not numbered 0, 1, 2, ...': `SELECT count(*) FROM transaction_types a FULL JOIN
       (SELECT function_call_type, count(*) AS n, max(type_ordinal) + 1 AS top FROM transactions GROUP BY 1) t USING (function_call_type)
       WHERE (a.transactions, t.n, t.top) IS DISTINCT FROM (t.n, t.n, t.n)`,
    'transactions of an account are not numbered 0, 1, 2, ...': `SELECT count(*) FROM (SELECT * FROM accounts WHERE ${accounts}) a FULL JOIN
       (SELECT address, count(*) AS n, max(ordinal) + 1 AS top FROM account_transactions WHERE ${accounts} GROUP BY 1) t USING (address)
       WHERE a.address IS NULL OR a.transactions <> coalesce(t.n, 0) OR a.transactions <> coalesce(t.top, 0)`,
    'activity of an account is not numbered 0, 1, 2, ..., or does not sum up to its balance': `SELECT count(*) FROM (SELECT * FROM accounts WHERE ${accounts}) a FULL JOIN
       (SELECT address, count(*) AS n, max(ordinal) + 1 AS top, sum(delta) AS total FROM activity WHERE ${accounts} GROUP BY 1) t USING (address)
       WHERE a.address IS NULL OR a.activities <> coalesce(t.n, 0) OR a.activities <> coalesce(t.top, 0) OR a.balance <> coalesce(t.total, 0)`,
    'a balance is not the one before and what moved it, or falls below zero': `SELECT count(*) FROM
       (SELECT balance, delta, lag(balance) OVER (PARTITION BY address ORDER BY ordinal) AS before FROM activity WHERE ${accounts}) v
       WHERE balance <> coalesce(before, 0) + delta OR balance < 0 OR delta = 0`,
    'a transaction of an account is not from or to it, or not after the one before': `SELECT count(*) FROM
       (SELECT address, seq, lag(seq) OVER (PARTITION BY address ORDER BY ordinal) AS before FROM account_transactions WHERE ${accounts}) a
       LEFT JOIN transactions t USING (seq) WHERE a.before >= a.seq OR (a.address IN (t.from_address, t.to_address)) IS NOT TRUE`,
    "an account's balance is not that after its newest activity": `SELECT count(*) FROM accounts a
       LEFT JOIN LATERAL (SELECT balance FROM activity v WHERE v.address = a.address ORDER BY ordinal DESC LIMIT 1) v ON true
       WHERE ${accounts} AND (a.balance <> coalesce(v.balance, 0) OR a.balance < 0)`,
  };
}

async function inconsistent(pool: Pool, accounts: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const [what, text] of Object.entries(invariants(accounts))) {
    const { rows } = await pool.query<{ count: string }>(text);
    const count = rows[0]?.count ?? 'an unknown number';
    if (count !== '0') wrong.push(`${what} (${count} times)`);
  }
  return wrong;
}
