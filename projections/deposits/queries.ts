/**
 * What can be asked of the deposits' tables. Each list is one index range, newest first. Whose a deposit is is asked in the same statement: what is not yours is not
 * there. Amounts are micro-USDT, addresses and hashes bytes.
 */
import { int8, type Query } from '../contract/page.ts';
import { WINDOW_MS } from './domain/mint-book.ts';
import { PATIENCE_MS } from './domain/minting.ts';

/** How many of an account's deposits are listed. */
export const LISTED_MAX = 20;

/** One row when the account has a deposit address. Columns: deposit_address, derivation_index, requested_at. */
export function addressOf(owner: Buffer): Query {
  return {
    name: 'deposits_address',
    text: 'SELECT deposit_address, derivation_index, requested_at FROM deposits.addresses WHERE clt_address = $1::bytea',
    values: [owner],
  };
}

/** One row when the deposit address is handed out. Columns: clt_address, derivation_index, requested_at. */
export function ownerOf(depositAddress: Buffer): Query {
  return {
    name: 'deposits_owner',
    text: 'SELECT clt_address, derivation_index, requested_at FROM deposits.addresses WHERE deposit_address = $1::bytea',
    values: [depositAddress],
  };
}

/** One row when a scheme is pinned. Columns: extended_public_key, fingerprint, addresses. */
export function pinnedScheme(): Query {
  return {
    name: 'deposits_scheme',
    text: 'SELECT extended_public_key, fingerprint, addresses FROM deposits.book WHERE extended_public_key IS NOT NULL',
    values: [],
  };
}

/** One row when anything of `deposit.addresses` is folded: up to which offset, and the key pinned before it. Columns: log_end, extended_public_key (null: none). */
export function addressBook(): Query {
  return {
    name: 'deposits_book',
    text: 'SELECT log_end, extended_public_key FROM deposits.book',
    values: [],
  };
}

/** Columns: id, status, gross, tx_id, created_at. The account's newest by the time of their blocks, at most 20; OFFSET 0 keeps each look-up a look-up. */
export function depositsOf(owner: Buffer): Query {
  return {
    name: 'deposits_list',
    text: `SELECT d.id, s.status, d.gross, d.tx_id, d.created_at FROM
             (SELECT id, gross, tx_id, created_at, ordinal FROM deposits.deposits
               WHERE clt_address = $1::bytea ORDER BY created_at DESC, ordinal DESC LIMIT ${LISTED_MAX}) d
             CROSS JOIN LATERAL (SELECT status FROM deposits.standings s WHERE s.id = d.id OFFSET 0) s
            ORDER BY d.created_at DESC, d.ordinal DESC`,
    values: [owner],
  };
}

const DETAIL_COLUMNS = `d.id, d.clt_address, d.deposit_address, d.gross, d.fee, d.credit, s.status, s.reason, s.approved, s.rejected, d.created_at,
                  d.tx_id, d.log_index, s.nonce, s.tx_hash`;

/** One row when there is such a deposit and it is the owner's. Columns: id, clt_address, deposit_address, gross, fee, credit, status, reason, approved, rejected, created_at, tx_id, log_index, nonce, tx_hash. */
export function depositOf(id: string, owner: Buffer): Query {
  return {
    name: 'deposits_deposit_of',
    text: `SELECT ${DETAIL_COLUMNS} FROM deposits.deposits d JOIN deposits.standings s ON s.id = d.id
            WHERE d.id = $1::text AND d.clt_address = $2::bytea`,
    values: [id, owner],
  };
}

/** The same whoever it belongs to: for the operator. */
export function depositById(id: string): Query {
  return {
    name: 'deposits_deposit',
    text: `SELECT ${DETAIL_COLUMNS} FROM deposits.deposits d JOIN deposits.standings s ON s.id = d.id WHERE d.id = $1::text`,
    values: [id],
  };
}

/** So many of those that wait longest are looked at: whoever keeps others waiting is among them. */
const OLDEST_LOOKED_AT = 100;

/**
 * One row when the deposit is confirmed and is not minted at this moment (Unix milliseconds) only because the rolling cap has no room: for it, or for one before it that has waited a day and
 * goes first. No columns. The same as `dueMints` says, without what is decided within the next moment.
 */
export function waitsForCap(id: string, now: number): Query {
  return {
    name: 'deposits_waits_for_cap',
    text: `SELECT FROM deposits.ledger l
             JOIN deposits.policies p ON p.version = l.policy_version
             CROSS JOIN LATERAL (
               SELECT p.rolling_cap - coalesce(sum(m.amount), 0) AS room FROM deposits.mints m
                WHERE m.nonce >= l.window_nonce AND m.counted_at > greatest(l.mint_time, $2::bigint) - ${WINDOW_MS}) cap
             JOIN deposits.standings s ON s.id = $1::text AND s.status = 'confirmed'
             JOIN deposits.deposits d ON d.id = s.id
             JOIN deposits.policies own ON own.version = d.policy_version
            WHERE (s.approved OR d.credit BETWEEN own.minimum AND own.single_cap)
              AND (d.credit > cap.room OR EXISTS (
                SELECT FROM (SELECT id FROM deposits.by_status WHERE status = 'confirmed' ORDER BY seq LIMIT ${OLDEST_LOOKED_AT}) w
                  JOIN deposits.deposits o ON o.id = w.id AND o.credit > cap.room AND o.credit <= p.rolling_cap
                  CROSS JOIN LATERAL (${placeOf('o.id')}) theirs
                  CROSS JOIN LATERAL (${placeOf('d.id')}) ours
                 WHERE theirs.log_offset < ours.log_offset AND theirs.at <= to_timestamp(($2::bigint - ${PATIENCE_MS}) / 1000.0)))`,
    values: [id, now],
  };
}

/** Where and when a deposit began to wait: with its confirmation, or with a person's approval. */
function placeOf(id: string): string {
  return `SELECT e.log_offset, e.at FROM deposits.deposit_events e
           WHERE e.deposit_id = ${id} AND e.event IN ('DepositConfirmed', 'DepositApproved') ORDER BY e.ordinal DESC LIMIT 1`;
}

const EVENT_COLUMNS = `e.event, e.reason, e.actor, e.gross, e.fee, e.credit, e.nonce, e.tx_hash, e.block_height, e.topic, e.partition, e.log_offset, e.at`;

/** Columns: event, reason, actor, gross, fee, credit, nonce, tx_hash, block_height, topic, partition, log_offset, at. The story in order; none when the deposit is not the owner's. */
export function eventsOf(id: string, owner: Buffer): Query {
  return {
    name: 'deposits_events_of',
    text: `SELECT ${EVENT_COLUMNS} FROM
             (SELECT id FROM deposits.deposits WHERE id = $1::text AND clt_address = $2::bytea) d
             JOIN deposits.deposit_events e ON e.deposit_id = d.id ORDER BY e.ordinal`,
    values: [id, owner],
  };
}

/** The same whoever it belongs to: for the operator. */
export function eventsById(id: string): Query {
  return {
    name: 'deposits_events',
    text: `SELECT ${EVENT_COLUMNS} FROM deposits.deposit_events e WHERE e.deposit_id = $1::text ORDER BY e.ordinal`,
    values: [id],
  };
}

/** A part of a list, newest first: what comes below a place. */
export interface StatusPage {
  /** rows at most */
  readonly limit: number;
  /** a place as the last column of each row tells it; undefined: from the newest on */
  readonly below: bigint | undefined;
}

/** Columns: id, clt_address, gross, fee, credit, status, reason, approved, rejected, created_at, place. */
export function byStatus(status: string, { limit, below }: StatusPage): Query {
  return {
    name: 'deposits_by_status',
    text: `SELECT d.id, d.clt_address, d.gross, d.fee, d.credit, b.status, s.reason, s.approved, s.rejected, d.created_at, b.seq FROM
             (SELECT status, seq, id FROM deposits.by_status
               WHERE status = $1::text AND seq < $3::bigint ORDER BY seq DESC LIMIT $2::bigint) b
             CROSS JOIN LATERAL (SELECT * FROM deposits.deposits d WHERE d.id = b.id OFFSET 0) d
             CROSS JOIN LATERAL (SELECT * FROM deposits.standings s WHERE s.id = b.id OFFSET 0) s
            ORDER BY b.seq DESC`,
    values: [status, limit, int8(below ?? 1n << 63n)],
  };
}
