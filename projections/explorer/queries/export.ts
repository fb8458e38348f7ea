/**
 * The queries of exports: lists in chain order, oldest first, piece by piece. A piece is one
 * statement over one index range. Its last column, `same`, says whether the export's last block is
 * still on the chain: while it is, no row at or below it has changed.
 */
import { int8, type Query } from '../../contract/page.ts';
import { TRANSACTION_DETAIL_COLUMNS } from './transactions.ts';

/** The last block of an export. */
export interface ExportEnd {
  readonly height: bigint;
  readonly hash: Buffer;
}

/** Heights, both inclusive. */
export interface Heights {
  readonly low: bigint;
  readonly high: bigint;
}

/** Ordinals, or their keys, from `low` inclusive to `high` exclusive. */
export interface Ordinals {
  readonly low: bigint;
  readonly high: bigint;
}

/**
 * One row, or none before the first event. Columns: the newest height, the lowest height, the hash
 * of the block at `to`, or of the newest when `to` is above it (null: `to` is below the lowest).
 */
export function exportEnd(to: bigint | undefined): Query {
  return {
    name: 'explorer_export_end',
    text: `SELECT h.height, (SELECT height FROM explorer.blocks ORDER BY height LIMIT 1),
                  (SELECT hash FROM explorer.blocks WHERE height = least($1::bigint, h.height))
             FROM explorer.head h WHERE h.one`,
    values: [int8(to ?? INT8_MAX)],
  };
}

const INT8_MAX = (1n << 63n) - 1n;
/** $1 and $2: height and hash of the export's last block. */
const SAME =
  'coalesce((SELECT hash = $2::bytea FROM explorer.blocks WHERE height = $1::bigint), false) AS same';

/** The rows of `sql`, in the order of its column `place`; one row of nulls when it has none. */
function piece(sql: string): string {
  return `SELECT p.*, e.same FROM (SELECT ${SAME} OFFSET 0) e LEFT JOIN LATERAL (${sql}) p ON true ORDER BY p.place`;
}

/** One row: low and high of the seqs of these blocks' transactions (null: no such blocks), same. */
export function seqsOf({ low, high }: Heights, end: ExportEnd): Query {
  return {
    name: 'explorer_export_seqs',
    text: `SELECT (SELECT first_seq FROM explorer.blocks WHERE height >= $3::bigint ORDER BY height LIMIT 1),
                  (SELECT first_seq + tx_count FROM explorer.blocks WHERE height = $4::bigint), ${SAME}`,
    values: [end.height, end.hash, int8(low), int8(high)],
  };
}

/**
 * A query for one row: low and high of the ordinals whose rows have a `key` in a range, same. Keys
 * never fall along the ordinals, so a binary search finds both bounds. `count` is SQL for the
 * number of rows of the group $5, `row` selects ordinal and key of one of them.
 */
function ordinalsQuery(
  name: string,
  count: string,
  row: string,
): (group: Buffer | string, range: Ordinals, end: ExportEnd) => Query {
  return (group, { low, high }, end) => ({
    name,
    text: `WITH RECURSIVE search (bound, low, high) AS (
             SELECT b.bound, 0::bigint, (${count}) FROM (VALUES ($3::bigint), ($4::bigint)) b (bound)
             UNION ALL
             SELECT s.bound, CASE WHEN m.key < s.bound THEN m.ordinal + 1 ELSE s.low END,
                    CASE WHEN m.key < s.bound THEN s.high ELSE m.ordinal END
               FROM search s CROSS JOIN LATERAL
                 (${row} = (s.low + s.high) / 2 AND s.low < s.high OFFSET 0) m)
           SELECT max(low) FILTER (WHERE bound = $3::bigint),
                  max(low) FILTER (WHERE bound = $4::bigint), ${SAME} FROM search`,
    values: [end.height, end.hash, int8(low), int8(high), group],
  });
}

/** The ordinals of an address's transactions, by a range of seqs. */
export const addressOrdinals = ordinalsQuery(
  'explorer_export_address_ordinals',
  'SELECT transactions FROM explorer.accounts WHERE address = $5::bytea',
  'SELECT ordinal, seq AS key FROM explorer.account_transactions WHERE address = $5::bytea AND ordinal',
);

/** The ordinals of a type's transactions, by a range of seqs. */
export const typeOrdinals = ordinalsQuery(
  'explorer_export_type_ordinals',
  'SELECT transactions FROM explorer.transaction_types WHERE function_call_type = $5::text',
  'SELECT type_ordinal AS ordinal, seq AS key FROM explorer.transactions WHERE function_call_type = $5::text AND type_ordinal',
);

const activityByHeight = ordinalsQuery(
  'explorer_export_activity_ordinals',
  'SELECT activities FROM explorer.accounts WHERE address = $5::bytea',
  'SELECT ordinal, block_height AS key FROM explorer.activity WHERE address = $5::bytea AND ordinal',
);

/** The ordinals of an address's activity in these blocks. */
export function activityOrdinals(address: Buffer, { low, high }: Heights, end: ExportEnd): Query {
  return activityByHeight(address, { low, high: high + 1n }, end);
}

/** The ordinal that transactions are scanned by, and the filter on the rows. */
export type TransactionScan =
  | { readonly by: 'seq' }
  | { readonly by: 'address'; readonly address: Buffer; readonly type: string | undefined }
  | { readonly by: 'type'; readonly type: string; readonly address: Buffer | undefined };

/**
 * Columns of `transactionByHash` except its last, cursor, same; at most `limit` rows of these
 * ordinals.
 */
export function transactionsPiece(
  scan: TransactionScan,
  { low, high }: Ordinals,
  limit: number,
  end: ExportEnd,
): Query {
  const values = [end.height, end.hash, low, high, limit];
  switch (scan.by) {
    case 'seq':
      return {
        name: 'explorer_export_transactions',
        text: piece(`SELECT ${TRANSACTION_DETAIL_COLUMNS}, t.seq AS place
                       FROM explorer.transactions t
                      WHERE t.seq >= $3::bigint AND t.seq < $4::bigint
                      ORDER BY t.seq LIMIT $5::bigint`),
        values,
      };
    case 'address': {
      const hasType = scan.type !== undefined;
      return {
        name: `explorer_export_transactions_address${hasType ? '_type' : ''}`,
        text: piece(`SELECT ${TRANSACTION_DETAIL_COLUMNS}, a.ordinal AS place FROM
             (SELECT ordinal, seq FROM explorer.account_transactions
               WHERE address = $6::bytea AND ordinal >= $3::bigint AND ordinal < $4::bigint
               ORDER BY ordinal OFFSET 0) a
             CROSS JOIN LATERAL (SELECT * FROM explorer.transactions t WHERE t.seq = a.seq OFFSET 0) t
            ${hasType ? 'WHERE t.function_call_type = $7::text' : ''}
            ORDER BY a.ordinal LIMIT $5::bigint`),
        values: [...values, scan.address, ...(hasType ? [scan.type] : [])],
      };
    }
    case 'type': {
      const hasAddress = scan.address !== undefined;
      return {
        name: `explorer_export_transactions_type${hasAddress ? '_address' : ''}`,
        text: piece(`SELECT ${TRANSACTION_DETAIL_COLUMNS}, t.type_ordinal AS place FROM
             (SELECT * FROM explorer.transactions t WHERE t.function_call_type = $6::text
                 AND t.type_ordinal >= $3::bigint AND t.type_ordinal < $4::bigint
               ORDER BY t.type_ordinal OFFSET 0) t
            ${hasAddress ? 'WHERE (t.from_address = $7::bytea OR t.to_address = $7::bytea)' : ''}
            ORDER BY t.type_ordinal LIMIT $5::bigint`),
        values: [...values, scan.type, ...(hasAddress ? [scan.address] : [])],
      };
    }
  }
}

/** The columns of `activityPage` except its cursor. `a` is the row of activity. */
const ACTIVITY_COLUMNS = `a.kind, a.delta, t.hash, a.block_height, t.tx_index, t.function_call_type, a.counterparty,
                  coalesce(t.timestamp, (SELECT timestamp FROM explorer.blocks b WHERE b.height = a.block_height)) AS timestamp`;
const ITS_TRANSACTION = `LEFT JOIN LATERAL
               (SELECT hash, tx_index, function_call_type, timestamp FROM explorer.transactions t WHERE t.seq = a.seq OFFSET 0) t ON true`;

/** Columns of `activityPage`, same; at most `limit` rows of these ordinals. */
export function addressActivityPiece(
  address: Buffer,
  { low, high }: Ordinals,
  limit: number,
  end: ExportEnd,
): Query {
  return {
    name: 'explorer_export_activity_address',
    text: piece(
      `SELECT ${ACTIVITY_COLUMNS}, a.ordinal AS place FROM
         (SELECT * FROM explorer.activity WHERE address = $6::bytea AND ordinal >= $3::bigint AND ordinal < $4::bigint
           ORDER BY ordinal LIMIT $5::bigint) a ${ITS_TRANSACTION} ORDER BY a.ordinal`,
    ),
    values: [end.height, end.hash, low, high, limit, address],
  };
}

/** A position in all activity, by block, transaction (the block's own last), address, ordinal. */
export interface ActivityCursor {
  readonly height: bigint;
  /** 2^63 - 1 for the block's own effects */
  readonly seq: bigint;
  readonly address: Buffer;
  readonly ordinal: bigint;
}

/** The position before the first effect of the block at this height. */
export function beforeBlock(height: bigint): ActivityCursor {
  return { height, seq: -1n, address: Buffer.alloc(0), ordinal: -1n };
}

/**
 * Columns: those of `activityPage` except its cursor; address, seq and ordinal of the row's cursor
 * (the height is the fourth column); the height that this piece reads up to; same. At most `limit`
 * rows after the cursor and up to the height `high`. A shorter piece is complete up to its height.
 * The scan covers whole blocks, as many as hold `limit` effects: the order within a block has no
 * index.
 */
export function activityPiece(
  { height, seq, address, ordinal }: ActivityCursor,
  high: bigint,
  limit: number,
  end: ExportEnd,
): Query {
  return {
    name: 'explorer_export_activity',
    text: `SELECT ${ACTIVITY_COLUMNS}, a.address, a.at, a.ordinal, e.upto, e.same FROM
             (SELECT ${SAME}, least($4::bigint, coalesce((SELECT block_height FROM explorer.activity
                WHERE block_height >= $3::bigint ORDER BY block_height OFFSET $5::bigint LIMIT 1), $4::bigint)) AS upto OFFSET 0) e
             LEFT JOIN LATERAL
               (SELECT *, coalesce(seq, ${INT8_MAX}) AS at FROM explorer.activity
                 WHERE block_height >= $3::bigint AND block_height <= e.upto
                   AND (block_height > $3::bigint OR (coalesce(seq, ${INT8_MAX}), address, ordinal) > ($6::bigint, $7::bytea, $8::bigint))
                 ORDER BY block_height, at, address, ordinal LIMIT $5::bigint) a ON true
             ${ITS_TRANSACTION} ORDER BY a.block_height, a.at, a.address, a.ordinal`,
    values: [end.height, end.hash, height, int8(high), limit, seq, address, ordinal],
  };
}
