/**
 * What can be asked of the explorer's tables: each page of each list is one index range over dense ordinals, newest first, and each question one statement,
 * so that counts and rows are of one moment. Only combined filters look at rows that they then leave out.
 */

/** A SELECT with its bound values. `name` is unique to `text`. */
export interface Query {
  readonly name: string;
  readonly text: string;
  readonly values: readonly (bigint | number | string | Buffer)[];
}

/** A part of a list, newest first: of the whole list, or of what lies below a place in it, which stays the same part however many rows come on top. */
export type Page = OffsetPage | CursorPage;

export interface OffsetPage {
  /** rows at most */
  readonly limit: number;
  /** rows to leave out, newest first; any size */
  readonly offset: bigint;
}

export interface CursorPage {
  /** rows at most */
  readonly limit: number;
  /** a place as the last column of each row of the same list tells it; any size */
  readonly below: bigint;
}

/** Which transactions; undefined leaves them all in. */
export interface TransactionFilter {
  /** height; any size */
  readonly block: bigint | undefined;
  /** from or to */
  readonly address: Buffer | undefined;
  readonly type: string | undefined;
}

/** The largest height, offset or ordinal that a column can hold: nothing lies beyond. */
const INT8_MAX = (1n << 63n) - 1n;

function int8(value: bigint): bigint {
  return value < INT8_MAX ? value : INT8_MAX;
}

/** The ordinals of a page are those below this SQL, in which $2 is the offset or the place; `count` is SQL of how many there are. */
function topOf(page: Page, count: string): string {
  return 'below' in page ? '$2::bigint' : `(${count}) - $2::bigint`;
}

/** For lists that are looked through: what limits `ordinal` to the page, and what follows LIMIT. */
function lookedThrough(page: Page, ordinal: string): { readonly within: string; readonly skip: string } {
  return 'below' in page ? { within: `AND ${ordinal} < $2::bigint`, skip: '' } : { within: '', skip: 'OFFSET $2::bigint' };
}

function named(name: string, page: Page): string {
  return 'below' in page ? `${name}_below` : name;
}

/** $1 and $2 */
function valuesOf(page: Page): PageValues {
  return [page.limit, int8('below' in page ? page.below : page.offset)];
}

type PageValues = readonly [limit: number, at: bigint];

const BLOCK_COLUMNS = 'height, hash, tx_count, producer, reward_recipient, block_reward, timestamp';

/** Columns: height, hash, tx_count, producer, reward_recipient, block_reward, timestamp, place. */
export function blocksPage(page: Page): Query {
  return {
    name: named('explorer_blocks', page),
    text: `SELECT ${BLOCK_COLUMNS}, height FROM explorer.blocks
            WHERE height < ${topOf(page, 'SELECT height + 1 FROM explorer.head WHERE one')} ORDER BY height DESC LIMIT $1::bigint`,
    values: valuesOf(page),
  };
}

/** Columns: height, hash, tx_count, producer, reward_recipient, block_reward, timestamp, parent_hash, total_fees. */
export function blockByHeight(height: bigint): Query {
  return {
    name: 'explorer_block_by_height',
    text: `SELECT ${BLOCK_COLUMNS}, parent_hash, total_fees FROM explorer.blocks WHERE height = $1::bigint`,
    values: [int8(height)],
  };
}

/** Columns of `blockByHeight`. */
export function blockByHash(hash: Buffer): Query {
  return {
    name: 'explorer_block_by_hash',
    text: `SELECT ${BLOCK_COLUMNS}, parent_hash, total_fees FROM explorer.blocks WHERE hash = $1::bytea`,
    values: [hash],
  };
}

const LISTED = [
  'hash',
  'block_height',
  'from_address',
  'to_address',
  'amount',
  'fee',
  'function_call_type',
  'is_ride_related',
  'timestamp',
  'referrer',
  'request_referrer_fee',
  'offer_referrer_fee',
] as const;
const TRANSACTION_COLUMNS = LISTED.map((column) => `t.${column}`).join(', ');

/** Columns of `transactionsPage` without its place, then nonce, tx_index, request_referrer, offer_referrer. */
export function transactionByHash(hash: Buffer): Query {
  return {
    name: 'explorer_transaction',
    text: `SELECT ${TRANSACTION_COLUMNS}, t.nonce, t.tx_index, t.request_referrer, t.offer_referrer
             FROM explorer.transactions t WHERE t.hash = $1::bytea`,
    values: [hash],
  };
}

/** The two ordinals by which transactions of an address and a type can be found; the shorter one is the faster. */
export type Way = 'address' | 'type';

/** One row of how many transactions the address and the type have (null: none), to choose the way. It says nothing about the answer. */
export function transactionCounts(address: Buffer, type: string): Query {
  return {
    name: 'explorer_transaction_counts',
    text: `SELECT (SELECT transactions FROM explorer.accounts WHERE address = $1::bytea),
                  (SELECT transactions FROM explorer.transaction_types WHERE function_call_type = $2::text)`,
    values: [address, type],
  };
}

/**
 * Columns: hash, block_height, from_address, to_address, amount, fee, function_call_type, is_ride_related, timestamp, referrer, request_referrer_fee,
 * offer_referrer_fee, place. `way` matters only when address and type are given without a block; a place is of one way.
 */
export function transactionsPage({ block, address, type }: TransactionFilter, page: Page, way: Way = 'address'): Query {
  if (block !== undefined) return ofBlock(block, address, type, page);
  if (address === undefined) return type === undefined ? allTransactions(page) : ofType(type, page);
  if (type === undefined) return ofAddress(address, page);
  return way === 'address' ? ofAddressThenType(address, type, page) : ofTypeThenAddress(address, type, page);
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

/** OFFSET 0 keeps the planner from turning the look-up of each row into a join with the whole table. */
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
const FIRST_AFTER_BLOCK = 'SELECT first_seq + tx_count FROM explorer.blocks WHERE height = $3::bigint';

/** Without another filter the offset shortens the range; with one, the block's transactions are looked through. */
function ofBlock(block: bigint, address: Buffer | undefined, type: string | undefined, page: Page): Query {
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
  const byAddress = address === undefined ? [] : ['(t.from_address = $4::bytea OR t.to_address = $4::bytea)'];
  const byType = type === undefined ? [] : [`t.function_call_type = $${4 + byAddress.length}::text`];
  const name = `explorer_transactions_block${address === undefined ? '' : '_address'}${type === undefined ? '' : '_type'}`;
  return {
    name: named(name, page),
    text: `SELECT ${TRANSACTION_COLUMNS}, t.seq FROM
             (SELECT * FROM explorer.transactions t
               WHERE t.seq >= (${FIRST_IN_BLOCK}) AND t.seq < (${FIRST_AFTER_BLOCK}) ${within} ORDER BY t.seq DESC OFFSET 0) t
            WHERE ${[...byAddress, ...byType].join(' AND ')} ORDER BY t.seq DESC LIMIT $1::bigint ${skip}`,
    values: [...values, ...(address === undefined ? [] : [address]), ...(type === undefined ? [] : [type])],
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

/** One row when the address takes part in any transaction, otherwise none. Column: in how many. */
export function accountByAddress(address: Buffer): Query {
  return {
    name: 'explorer_account',
    text: 'SELECT transactions FROM explorer.accounts WHERE address = $1::bytea',
    values: [address],
  };
}

/** Over how many of the newest blocks stats are computed. */
export const STATS_BLOCKS = 100;

/**
 * One row, or none before the first event. Columns: height of the newest block, number of all transactions, and of the newest 100 blocks: how many there are,
 * their transactions, their distinct producers, the milliseconds between the first and the last.
 */
export function stats(): Query {
  return {
    name: 'explorer_stats',
    text: `SELECT h.height, h.transactions, n.blocks, n.transactions, n.producers, n.span_ms FROM explorer.head h
             CROSS JOIN LATERAL
               (SELECT count(*) AS blocks, coalesce(sum(b.tx_count), 0) AS transactions, count(DISTINCT b.producer) AS producers,
                       coalesce(extract(epoch FROM (array_agg(b.timestamp ORDER BY b.height DESC))[1]
                                                 - (array_agg(b.timestamp ORDER BY b.height))[1]) * 1000, 0)::bigint AS span_ms
                  FROM (SELECT * FROM explorer.blocks WHERE height <= h.height ORDER BY height DESC LIMIT ${STATS_BLOCKS}) b) n
            WHERE h.one`,
    values: [],
  };
}

/** One row, or none before the first event. Columns: height of the newest block, height of the newest final block (-1: nothing is final). */
export function indexedHead(): Query {
  return { name: 'explorer_indexed_head', text: 'SELECT height, finalized_height FROM explorer.head WHERE one', values: [] };
}
