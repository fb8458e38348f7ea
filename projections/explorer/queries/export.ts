/**
 * What exports ask: the lists in chain order, oldest first, piece by piece. A piece is one statement over one index range. Each tells by its last column, `same`, of
 * the same moment whether the block that the export ends at still stands: while it does, nothing at or below it has moved, however much comes on top.
 */
import { int8, type Query } from '../../contract/page.ts';
import { TRANSACTION_DETAIL_COLUMNS } from './transactions.ts';

/** The last block of an export. */
export interface ExportEnd {
  readonly height: bigint;
  readonly hash: Buffer;
}

/** Heights, both included. */
export interface Heights {
  readonly low: bigint;
  readonly high: bigint;
}

/** Ordinals from `low` up to, not including, `high`. */
export interface Ordinals {
  readonly low: bigint;
  readonly high: bigint;
}

/** One row, or none before the first event. Columns: the newest height, the lowest height, the hash of the block at `to` or else, when that is above, of the newest one (null: it is below the lowest). */
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
/** $1 and $2 are the end's height and hash. */
const SAME =
  'coalesce((SELECT hash = $2::bytea FROM explorer.blocks WHERE height = $1::bigint), false) AS same';

/** Rows of `piece`, which has a column `place`, in its order; one row of nulls when it has none. */
function piece(sql: string): string {
  return `SELECT p.*, e.same FROM (SELECT ${SAME} OFFSET 0) e LEFT JOIN LATERAL (${sql}) p ON true ORDER BY p.place`;
}

/** One row: the seqs of the transactions of these blocks as low and high (null: there are no such blocks), same. */
export function seqsOf({ low, high }: Heights, end: ExportEnd): Query {
  return {
    name: 'explorer_export_seqs',
    text: `SELECT (SELECT first_seq FROM explorer.blocks WHERE height >= $3::bigint ORDER BY height LIMIT 1),
                  (SELECT first_seq + tx_count FROM explorer.blocks WHERE height = $4::bigint), ${SAME}`,
    values: [end.height, end.hash, int8(low), int8(high)],
  };
}

/**
 * One row: low and high of the ordinals whose rows have a `key` within the bounds $3 and $4, same. Keys only grow along the ordinals, so each bound is found by halving:
 * as many look-ups as the number of ordinals has binary digits. $5 tells the group, `count` is SQL of how many rows it has.
 */
function halved(
  name: string,
  { count, row }: { readonly count: string; readonly row: string },
  values: Query['values'],
): Query {
  return {
    name,
    text: `WITH RECURSIVE halving (bound, low, high) AS (
             SELECT b.bound, 0::bigint, (${count}) FROM (VALUES ($3::bigint), ($4::bigint)) b (bound)
             UNION ALL
             SELECT h.bound, CASE WHEN m.key < h.bound THEN m.ordinal + 1 ELSE h.low END, CASE WHEN m.key < h.bound THEN h.high ELSE m.ordinal END
               FROM halving h CROSS JOIN LATERAL (${row} = (h.low + h.high) / 2 AND h.low < h.high OFFSET 0) m)
           SELECT max(low) FILTER (WHERE bound = $3::bigint), max(low) FILTER (WHERE bound = $4::bigint), ${SAME} FROM halving`,
    values,
  };
}

/** One row: low and high of the ordinals of an address' transactions with these seqs, same. */
export function addressOrdinals(address: Buffer, seqs: Ordinals, end: ExportEnd): Query {
  const count = 'SELECT transactions FROM explorer.accounts WHERE address = $5::bytea';
  const row =
    'SELECT ordinal, seq AS key FROM explorer.account_transactions WHERE address = $5::bytea AND ordinal';
  return halved('explorer_export_address_ordinals', { count, row }, [
    end.height,
    end.hash,
    seqs.low,
    seqs.high,
    address,
  ]);
}

/** One row: low and high of the ordinals of a type's transactions with these seqs, same. */
export function typeOrdinals(type: string, seqs: Ordinals, end: ExportEnd): Query {
  const count =
    'SELECT transactions FROM explorer.transaction_types WHERE function_call_type = $5::text';
  const row =
    'SELECT type_ordinal AS ordinal, seq AS key FROM explorer.transactions WHERE function_call_type = $5::text AND type_ordinal';
  return halved('explorer_export_type_ordinals', { count, row }, [
    end.height,
    end.hash,
    seqs.low,
    seqs.high,
    type,
  ]);
}

/** One row: low and high of the ordinals of an address' activity in these blocks, same. */
export function activityOrdinals(address: Buffer, { low, high }: Heights, end: ExportEnd): Query {
  const count = 'SELECT activities FROM explorer.accounts WHERE address = $5::bytea';
  const row =
    'SELECT ordinal, block_height AS key FROM explorer.activity WHERE address = $5::bytea AND ordinal';
  return halved('explorer_export_activity_ordinals', { count, row }, [
    end.height,
    end.hash,
    int8(low),
    int8(high + 1n),
    address,
  ]);
}

/** Along which ordinal transactions are read, and what is left out of them. */
export type TransactionWay =
  | { readonly along: 'seq' }
  | { readonly along: 'address'; readonly address: Buffer; readonly type: string | undefined }
  | { readonly along: 'type'; readonly type: string; readonly address: Buffer | undefined };

/** Columns of `transactionByHash`, place, same; at most `limit` rows, of these ordinals. */
export function transactionsPiece(
  way: TransactionWay,
  { low, high }: Ordinals,
  limit: number,
  end: ExportEnd,
): Query {
  const values = [end.height, end.hash, low, high, limit] as const;
  if (way.along === 'seq') {
    const sql = `SELECT ${TRANSACTION_DETAIL_COLUMNS}, t.seq AS place FROM explorer.transactions t
                  WHERE t.seq >= $3::bigint AND t.seq < $4::bigint ORDER BY t.seq LIMIT $5::bigint`;
    return { name: 'explorer_export_transactions', text: piece(sql), values };
  }
  const { address, type } = way;
  return way.along === 'address'
    ? {
        name:
          type === undefined
            ? 'explorer_export_transactions_address'
            : 'explorer_export_transactions_address_type',
        text: piece(
          `SELECT ${TRANSACTION_DETAIL_COLUMNS}, a.ordinal AS place FROM
             (SELECT ordinal, seq FROM explorer.account_transactions
               WHERE address = $6::bytea AND ordinal >= $3::bigint AND ordinal < $4::bigint ORDER BY ordinal OFFSET 0) a
             CROSS JOIN LATERAL (SELECT * FROM explorer.transactions t WHERE t.seq = a.seq OFFSET 0) t
            ${type === undefined ? '' : 'WHERE t.function_call_type = $7::text'} ORDER BY a.ordinal LIMIT $5::bigint`,
        ),
        values: [...values, way.address, ...(type === undefined ? [] : [type])],
      }
    : {
        name:
          address === undefined
            ? 'explorer_export_transactions_type'
            : 'explorer_export_transactions_type_address',
        text: piece(
          `SELECT ${TRANSACTION_DETAIL_COLUMNS}, t.type_ordinal AS place FROM
             (SELECT * FROM explorer.transactions t
               WHERE t.function_call_type = $6::text AND t.type_ordinal >= $3::bigint AND t.type_ordinal < $4::bigint
               ORDER BY t.type_ordinal OFFSET 0) t
            ${address === undefined ? '' : 'WHERE (t.from_address = $7::bytea OR t.to_address = $7::bytea)'}
            ORDER BY t.type_ordinal LIMIT $5::bigint`,
        ),
        values: [...values, way.type, ...(address === undefined ? [] : [address])],
      };
}

/** Those of `activityPage`, but its place. `a` is the row of activity. */
const ACTIVITY_COLUMNS = `a.kind, a.delta, a.block_height, t.hash, t.tx_index, t.function_call_type, a.counterparty,
                  coalesce(t.timestamp, (SELECT timestamp FROM explorer.blocks b WHERE b.height = a.block_height)) AS timestamp`;
const ITS_TRANSACTION = `LEFT JOIN LATERAL
               (SELECT hash, tx_index, function_call_type, timestamp FROM explorer.transactions t WHERE t.seq = a.seq OFFSET 0) t ON true`;

/** Columns of `activityPage`, same; at most `limit` rows, of these ordinals. */
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

/** A place in the activity of all addresses: by block, then by transaction with the block's own effects last, then by address and ordinal. */
export interface ActivityPlace {
  readonly height: bigint;
  /** 2^63 - 1 for the block's own effects */
  readonly seq: bigint;
  readonly address: Buffer;
  readonly ordinal: bigint;
}

/** Before everything in the block at this height. */
export function beforeBlock(height: bigint): ActivityPlace {
  return { height, seq: -1n, address: Buffer.alloc(0), ordinal: -1n };
}

/**
 * Columns: those of `activityPage` but its place, then address, seq and ordinal of the row's place (the height is the third column), the height up to which this piece reads, same. At most
 * `limit` rows after the place and up to the height `high`; when there are fewer, the next piece begins after the height that this one reads up to. Looked at are the effects of
 * so many blocks as hold `limit` of them, the whole of the last one: what lies within a block has no index of its own.
 */
export function activityPiece(
  after: ActivityPlace,
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
    values: [
      end.height,
      end.hash,
      after.height,
      int8(high),
      limit,
      after.seq,
      after.address,
      after.ordinal,
    ],
  };
}
