/**
 * The explorer's fold: blocks, transactions, balance effects and validators of `chain.blocks` as
 * rows with dense ordinals. Every list is a stack: a block adds rows at the top, a revert removes
 * exactly those.
 */
import { isChainEvent } from '../../schemas/chain.blocks/events.ts';
import { AddressMap } from '../bytes-index.ts';
import { chainFromHead, evolve, revertedBelow, settled } from '../chain/chain.ts';
import { countIn } from '../contract/loaded-row.ts';
import type {
  Folded,
  Load,
  Loaded,
  Projection,
  Recorded,
  RowLists,
} from '../contract/projection.ts';
import { ACCOUNT_COLUMNS } from './accounts.ts';
import { UNREAD, type ExplorerEvent } from './events.ts';
import { ACCOUNTS, HEAD, TABLES, TRANSACTION_TYPES } from './rows.ts';
import { Stacks } from './stacks.ts';

export const explorer: Projection<ExplorerEvent> = {
  name: 'explorer',
  version: 4,
  topics: ['chain.blocks'],
  isEvent: isChainEvent,
  unread: { Transaction: UNREAD },
  tables: TABLES,
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  settled,
  loads,
  fold,
};

function loads(batch: readonly Recorded<ExplorerEvent>[]): readonly Load[] {
  const addresses = new AddressMap<true>();
  const add = (address: Buffer): void => {
    if (addresses.get(address) === undefined) addresses.add(address, true);
  };
  const types = new Set<string>();
  for (const { event } of batch) {
    if (event.type !== 'BlockAppended') continue;
    add(event.producer);
    for (const { from, to, function_call_type: functionCallType } of event.transactions) {
      add(from);
      add(to);
      types.add(functionCallType);
    }
    for (const { address, tx_index: txIndex } of event.balance_effects) {
      const { from, to } = event.transactions[txIndex ?? -1] ?? {};
      // mostly the same object as one of these
      if (address !== from && address !== to && address !== event.producer) add(address);
    }
  }
  const always: Load[] = [
    { name: 'head', table: HEAD, keys: [true] },
    { name: 'types', table: TRANSACTION_TYPES, keys: [...types] },
    { name: 'accounts', table: ACCOUNTS, keys: addresses.addresses },
  ];
  const reverted = revertedBelow(batch);
  return reverted.length === 0 ? always : [...always, ...revertedLoads(reverted)];
}

/** The transactions of the blocks at the heights $1. */
const REVERTED = `blocks b JOIN transactions t ON t.seq >= b.first_seq AND t.seq < b.first_seq + b.tx_count WHERE b.height = ANY($1::bigint[])`;

/** The stored rows of reverted blocks, and the accounts that they touched. */
function revertedLoads(heights: readonly number[]): readonly Load[] {
  const values = [heights];
  return [
    {
      name: 'reverted_types',
      text: 'SELECT function_call_type, transactions FROM transaction_types',
      values: [],
    },
    {
      name: 'reverted_blocks',
      text: 'SELECT height, first_seq, producer FROM blocks WHERE height = ANY($1::bigint[])',
      values,
    },
    {
      name: 'reverted_transactions',
      text: `SELECT b.height, t.from_address, t.to_address, t.nonce, t.function_call_type FROM ${REVERTED} ORDER BY t.seq`,
      values,
    },
    {
      name: 'reverted_activity',
      text: `SELECT a.block_height AS height, a.address, count(*) AS activities, sum(a.delta) AS delta,
                    count(*) FILTER (WHERE a.delta < 0 AND t.from_address IS DISTINCT FROM a.address) AS unsigned_debits
               FROM activity a LEFT JOIN transactions t ON t.seq = a.seq
              WHERE a.block_height = ANY($1::bigint[]) GROUP BY a.block_height, a.address`,
      values,
    },
    {
      name: 'reverted_accounts',
      // LATERAL with OFFSET 0: the planner would join many look-ups with the whole table
      text: `SELECT a.* FROM
               (SELECT producer AS address FROM blocks WHERE height = ANY($1::bigint[])
                 UNION SELECT unnest(ARRAY[t.from_address, t.to_address]) FROM ${REVERTED}
                 UNION SELECT address FROM activity WHERE block_height = ANY($1::bigint[])) touched
               CROSS JOIN LATERAL (SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE address = touched.address OFFSET 0) a`,
      values,
    },
  ];
}

function fold(
  loaded: Loaded,
  batch: readonly Recorded<ExplorerEvent>[],
  newRows: RowLists,
): Folded {
  const head = loaded['head']?.[0];
  let chain = chainFromHead(head);
  const [transactions, validators] =
    head === undefined ? [0, 0] : [countIn(head, 'transactions'), countIn(head, 'validators')];
  const stacks = new Stacks({ transactions, validators }, loaded, newRows);
  const announced = new Set<string>();
  const outcomes = { applied: 0, replayed: 0, ignored: 0 };
  for (const [at, { event, offset }] of batch.entries()) {
    const judged = evolve(chain, event, offset);
    if (judged.verdict === 'broken') return { broken: { at, reason: judged.reason } };
    outcomes[judged.verdict]++;
    if (judged.verdict !== 'applied') continue;
    chain = judged.chain;
    if (event.type === 'BlocksFinalized') continue;
    if (event.type === 'BlockAppended') stacks.push(event);
    else stacks.pop(event.height);
    announced.add(String(event.height));
  }
  return { changes: stacks.changes(chain), outcomes, announced: [...announced] };
}
