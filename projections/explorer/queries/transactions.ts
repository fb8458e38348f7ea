import {
  int8,
  lookedThrough,
  named,
  topOf,
  valuesOf,
  type Page,
  type Query,
} from '../../contract/page.ts';
import { FINAL_HEIGHT } from './chain.ts';

/** An undefined field matches every transaction. */
export interface TransactionFilter {
  /** height; any size */
  readonly block: bigint | undefined;
  /** from or to */
  readonly address: Buffer | undefined;
  readonly type: string | undefined;
}

const TRANSACTION_COLUMNS =
  't.hash, t.block_height, t.from_address, t.to_address, t.amount, t.fee, t.function_call_type, ' +
  't.is_ride_related, t.timestamp, t.referrer, t.request_referrer_fee, t.offer_referrer_fee';

/** Every column of a transaction `t` that is served. */
export const TRANSACTION_DETAIL_COLUMNS = `${TRANSACTION_COLUMNS}, t.nonce, t.tx_index, t.request_referrer, t.offer_referrer`;

/**
 * Columns of `transactionsPage` except its cursor, then nonce, tx_index, both referrers, and
 * whether its block is final.
 */
export function transactionByHash(hash: Buffer): Query {
  return {
    name: 'explorer_transaction',
    text: `SELECT ${TRANSACTION_DETAIL_COLUMNS}, t.block_height <= (${FINAL_HEIGHT}) FROM explorer.transactions t WHERE t.hash = $1::bytea`,
    values: [hash],
  };
}

/**
 * One row, or none before the first event. Columns: height of the newest block; of the block that
 * holds the transaction (null: none of them does); next nonce of its sender (null: no account).
 */
export function inclusionOf(hash: Buffer, sender: Buffer): Query {
  return {
    name: 'explorer_inclusion',
    text: `SELECT h.height, (SELECT t.block_height FROM explorer.transactions t WHERE t.hash = $1::bytea),
                  (SELECT a.nonce FROM explorer.accounts a WHERE a.address = $2::bytea)
             FROM explorer.head h WHERE h.one`,
    values: [hash, sender],
  };
}

/** At most `limit` transactions with a hash in this range, inclusive. Columns as above. */
export function transactionsByHash(from: Buffer, to: Buffer, limit: number): Query {
  return {
    name: 'explorer_transactions_by_hash',
    text: `SELECT ${TRANSACTION_DETAIL_COLUMNS}, t.block_height <= (${FINAL_HEIGHT}) FROM explorer.transactions t
            WHERE t.hash >= $1::bytea AND t.hash <= $2::bytea ORDER BY t.hash LIMIT $3::bigint`,
    values: [from, to, limit],
  };
}

/** The ordinal that a list of an address and a type is scanned by; the shorter one is faster. */
export type ScanBy = 'address' | 'type';

/** One row: the numbers of transactions of the address and of the type (null: none). */
export function transactionCounts(address: Buffer, type: string): Query {
  return {
    name: 'explorer_transaction_counts',
    text: `SELECT (SELECT transactions FROM explorer.accounts WHERE address = $1::bytea),
                  (SELECT transactions FROM explorer.transaction_types WHERE function_call_type = $2::text)`,
    values: [address, type],
  };
}

/**
 * Columns: hash, block_height, from_address, to_address, amount, fee, function_call_type,
 * is_ride_related, timestamp, referrer, request_referrer_fee, offer_referrer_fee, cursor. `scanBy`
 * matters only for an address and a type without a block; a cursor belongs to one of the two.
 */
export function transactionsPage(
  { block, address, type }: TransactionFilter,
  page: Page,
  scanBy: ScanBy = 'address',
): Query {
  if (block !== undefined) return ofBlock(block, address, type, page);
  if (address === undefined) return type === undefined ? allTransactions(page) : ofType(type, page);
  if (type === undefined) return ofAddress(address, page);
  return scanBy === 'address'
    ? ofAddressThenType(address, type, page)
    : ofTypeThenAddress(address, type, page);
}

function allTransactions(page: Page): Query {
  return {
    name: named('explorer_transactions', page),
    text: `SELECT ${TRANSACTION_COLUMNS}, t.seq FROM explorer.transactions t
            WHERE t.seq < ${topOf(page, 'SELECT transactions FROM explorer.head WHERE one')} ORDER BY t.seq DESC LIMIT $1::bigint`,
    values: valuesOf(page),
  };
}

function ofType(type: string, page: Page): Query {
  return {
    name: named('explorer_transactions_type', page),
    text: `SELECT ${TRANSACTION_COLUMNS}, t.type_ordinal FROM explorer.transactions t
            WHERE t.function_call_type = $3::text
              AND t.type_ordinal < ${topOf(page, 'SELECT transactions FROM explorer.transaction_types WHERE function_call_type = $3::text')}
            ORDER BY t.type_ordinal DESC LIMIT $1::bigint`,
    values: [...valuesOf(page), type],
  };
}

/** OFFSET 0 keeps the planner from joining with the whole table instead of looking up each row. */
function ofAddress(address: Buffer, page: Page): Query {
  return {
    name: named('explorer_transactions_address', page),
    text: `SELECT t.*, a.ordinal FROM
             (SELECT ordinal, seq FROM explorer.account_transactions
               WHERE address = $3::bytea
                 AND ordinal < ${topOf(page, 'SELECT transactions FROM explorer.accounts WHERE address = $3::bytea')}
               ORDER BY ordinal DESC LIMIT $1::bigint) a
             CROSS JOIN LATERAL (SELECT ${TRANSACTION_COLUMNS} FROM explorer.transactions t WHERE t.seq = a.seq OFFSET 0) t
            ORDER BY a.ordinal DESC`,
    values: [...valuesOf(page), address],
  };
}

const FIRST_IN_BLOCK = 'SELECT first_seq FROM explorer.blocks WHERE height = $3::bigint';
const FIRST_AFTER_BLOCK =
  'SELECT first_seq + tx_count FROM explorer.blocks WHERE height = $3::bigint';

/** With an address or a type, the block's transactions are scanned. */
function ofBlock(
  block: bigint,
  address: Buffer | undefined,
  type: string | undefined,
  page: Page,
): Query {
  const values = [...valuesOf(page), int8(block)];
  const { within, skip } = lookedThrough(page, 't.seq');
  if (address === undefined && type === undefined) {
    return {
      name: named('explorer_transactions_block', page),
      text: `SELECT ${TRANSACTION_COLUMNS}, t.seq FROM explorer.transactions t
              WHERE t.seq >= (${FIRST_IN_BLOCK}) AND t.seq < (${FIRST_AFTER_BLOCK}) ${'below' in page ? within : '- $2::bigint'}
              ORDER BY t.seq DESC LIMIT $1::bigint`,
      values,
    };
  }
  const byAddress =
    address === undefined ? [] : ['(t.from_address = $4::bytea OR t.to_address = $4::bytea)'];
  const byType =
    type === undefined ? [] : [`t.function_call_type = $${4 + byAddress.length}::text`];
  const name = `explorer_transactions_block${address === undefined ? '' : '_address'}${type === undefined ? '' : '_type'}`;
  return {
    name: named(name, page),
    text: `SELECT ${TRANSACTION_COLUMNS}, t.seq FROM
             (SELECT * FROM explorer.transactions t
               WHERE t.seq >= (${FIRST_IN_BLOCK}) AND t.seq < (${FIRST_AFTER_BLOCK}) ${within} ORDER BY t.seq DESC OFFSET 0) t
            WHERE ${[...byAddress, ...byType].join(' AND ')} ORDER BY t.seq DESC LIMIT $1::bigint ${skip}`,
    values: [...values, ...[address, type].filter((value) => value !== undefined)],
  };
}

function ofAddressThenType(address: Buffer, type: string, page: Page): Query {
  const { within, skip } = lookedThrough(page, 'ordinal');
  return {
    name: named('explorer_transactions_address_type', page),
    text: `SELECT ${TRANSACTION_COLUMNS}, a.ordinal FROM
             (SELECT ordinal, seq FROM explorer.account_transactions WHERE address = $3::bytea ${within} ORDER BY ordinal DESC OFFSET 0) a
             CROSS JOIN LATERAL (SELECT * FROM explorer.transactions t WHERE t.seq = a.seq OFFSET 0) t
            WHERE t.function_call_type = $4::text ORDER BY a.ordinal DESC LIMIT $1::bigint ${skip}`,
    values: [...valuesOf(page), address, type],
  };
}

function ofTypeThenAddress(address: Buffer, type: string, page: Page): Query {
  const { within, skip } = lookedThrough(page, 't.type_ordinal');
  return {
    name: named('explorer_transactions_type_address', page),
    text: `SELECT ${TRANSACTION_COLUMNS}, t.type_ordinal FROM
             (SELECT * FROM explorer.transactions t WHERE t.function_call_type = $4::text ${within} ORDER BY t.type_ordinal DESC OFFSET 0) t
            WHERE t.from_address = $3::bytea OR t.to_address = $3::bytea ORDER BY t.type_ordinal DESC LIMIT $1::bigint ${skip}`,
    values: [...valuesOf(page), address, type],
  };
}
