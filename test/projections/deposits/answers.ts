/** Loads of `deposits` and `watch` from tables in memory: exactly the columns that they select. */
import type { Value } from '../../../projections/contract/projection.ts';
import { keyOf } from '../table-maps.ts';
import { within, type Answers, type Named } from './memory-tables.ts';

function only(...columns: readonly string[]): (row: Named) => Named {
  return (row) =>
    Object.fromEntries(columns.map((column): [string, Value] => [column, row[column] ?? null]));
}

const ADDRESS_ANSWERS: Answers = {
  book: (rows) =>
    rows('book').map(
      only('log_end', 'head', 'extended_public_key', 'key_fingerprint', 'addresses'),
    ),
  known_addresses: (rows, wanted) =>
    within(rows('addresses'), 'clt_address', wanted).map(only('clt_address', 'deposit_address')),
};

const STANDING = only(
  'id',
  'status',
  'reason',
  'approved',
  'rejected',
  'approved_by',
  'refunded',
  'sequence',
  'nonce',
  'tx_hash',
  'events',
  'queue_offset',
  'queued_at',
  'goes_first_at',
);
const TERMS = only('seq', 'clt_address', 'gross', 'fee', 'credit', 'policy_version');

const storedDeposits: Answers[string] = (rows, wanted) => {
  const standings = new Map(rows('standings').map((row) => [keyOf(row['id']), row]));
  return within(rows('deposits'), 'id', wanted).map((row) =>
    Object.assign(TERMS(row), STANDING(standings.get(keyOf(row['id'])) ?? {})),
  );
};

function mintsFrom(rows: (table: string) => readonly Named[], sequence: number): readonly Named[] {
  return rows('mints')
    .filter((row) => Number(row['sequence']) >= sequence)
    .toSorted((one, other) => Number(one['sequence']) - Number(other['sequence']))
    .map(only('sequence', 'amount', 'counted_at'));
}

export const DEPOSITS_ANSWERS: Answers = {
  ...ADDRESS_ANSWERS,
  ledger: (rows) =>
    rows('ledger').map(
      only(
        'sequence',
        'head',
        'deposits',
        'policy_version',
        'last_nonce',
        'mint_time',
        'window_sequence',
        'free_nonces',
        'operators_version',
        'operators',
        'two_above',
        'authority_version',
        'authority',
        'ledger_id',
        'minting_stopped',
        'proposals',
      ),
    ),
  policies: (rows) => rows('policies'),
  counted_mints: (rows) => {
    const [head] = rows('ledger');
    return head === undefined ? [] : mintsFrom(rows, Number(head['window_sequence']));
  },
  all_mints: (rows) => mintsFrom(rows, 0),
  mints_in_flight: (rows) =>
    rows('standings')
      .filter(({ status }) => status === 'mint_requested')
      .map(only('id', 'nonce')),
  refunds: (rows, wanted) => within(rows('refunds'), 'tron_tx_id', wanted).map(only('tron_tx_id')),
  owners: (rows, wanted) =>
    within(rows('owners'), 'clt_address', wanted).map(only('clt_address', 'deposits')),
  stored_deposits: storedDeposits,
  queued_deposits: (rows) => {
    const queued = rows('by_status').filter(
      ({ status }) => status === 'confirmed' || status === 'mint_requested',
    );
    return storedDeposits(rows, new Set(queued.map(({ id }) => keyOf(id))));
  },
};

const ENTRY = only(
  'deposit_address',
  'partition',
  'requested',
  'paid',
  'openings',
  'hot_until',
  'checked_at',
  'checked_until',
);

export const WATCH_ANSWERS: Answers = {
  ...ADDRESS_ANSWERS,
  queue_of_accounts: (rows, wanted) => {
    const addresses = within(rows('addresses'), 'clt_address', wanted).map((row) =>
      keyOf(row['deposit_address']),
    );
    return within(rows('queue'), 'deposit_address', new Set(addresses)).map(ENTRY);
  },
  queue_unrequested: (rows) =>
    rows('queue')
      .filter((row) => row['requested'] === false)
      .map(ENTRY),
  queue_of_addresses: (rows, wanted) => within(rows('queue'), 'deposit_address', wanted).map(ENTRY),
  known_transfers: (rows, wanted) =>
    within(rows('transfers'), 'tx_id', wanted).map(only('tx_id', 'log_index')),
};
