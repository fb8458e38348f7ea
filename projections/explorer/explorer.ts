/**
 * The explorer's fold: blocks and transactions of `chain.blocks` as rows with dense ordinals. Everything is a stack: a block only ever adds at the top of
 * each ordinal, and a revert takes exactly that off again.
 */
import { isChainEvent, type BlockAppended, type BlockReverted, type ChainEvent } from '../../schemas/chain.blocks/events.ts';
import { EMPTY_CHAIN, evolve, type Chain } from '../chain/chain.ts';
import { bytesIn, countIn } from '../loaded-row.ts';
import type { Folded, Load, Loaded, LoadedRow, Projection, Recorded } from '../projection.ts';
import { ACCOUNTS, ACCOUNT_TRANSACTIONS, BLOCKS, HEAD, TRANSACTIONS, TRANSACTION_TYPES } from './rows.ts';
import { Stacks } from './stacks.ts';

export const explorer: Projection<ChainEvent> = {
  name: 'explorer',
  version: 1,
  topics: ['chain.blocks'],
  isEvent: isChainEvent,
  tables: [HEAD, BLOCKS, TRANSACTIONS, TRANSACTION_TYPES, ACCOUNTS, ACCOUNT_TRANSACTIONS],
  table_sql: new URL('./table.sql', import.meta.url),
  index_sql: new URL('./index.sql', import.meta.url),
  loads,
  fold,
};

function loads(batch: readonly Recorded<ChainEvent>[]): readonly Load[] {
  const addresses = new Map<string, Buffer>();
  const reverted: number[] = [];
  for (const { event } of batch) {
    if (event.type === 'BlockReverted') reverted.push(event.height);
    if (event.type !== 'BlockAppended') continue;
    for (const { from, to } of event.transactions) {
      addresses.set(from.toString('latin1'), from);
      addresses.set(to.toString('latin1'), to);
    }
  }
  const always: Load[] = [
    { name: 'head', text: 'SELECT sequence, height, hash, finalized_height, transactions FROM head', values: [] },
    { name: 'types', text: 'SELECT function_call_type, transactions FROM transaction_types', values: [] },
    {
      name: 'accounts',
      text: 'SELECT address, transactions FROM accounts WHERE address = ANY($1::bytea[])',
      values: [[...addresses.values()]],
    },
  ];
  if (reverted.length === 0) return always;
  return [
    ...always,
    {
      name: 'reverted_transactions',
      text: `SELECT b.height, b.first_seq, t.from_address, t.to_address, t.function_call_type
               FROM blocks b LEFT JOIN transactions t ON t.seq >= b.first_seq AND t.seq < b.first_seq + b.tx_count
              WHERE b.height = ANY($1::bigint[]) ORDER BY b.height, t.seq`,
      values: [reverted],
    },
    {
      name: 'reverted_accounts',
      text: `SELECT address, transactions FROM accounts WHERE address IN
               (SELECT unnest(ARRAY[t.from_address, t.to_address]) FROM blocks b
                  JOIN transactions t ON t.seq >= b.first_seq AND t.seq < b.first_seq + b.tx_count
                 WHERE b.height = ANY($1::bigint[]))`,
      values: [reverted],
    },
  ];
}

function fold(loaded: Loaded, batch: readonly Recorded<ChainEvent>[]): Folded {
  const head = loaded['head']?.[0];
  let chain = chainOf(head);
  const stacks = new Stacks(head === undefined ? 0 : countIn(head, 'transactions'), loaded);
  const announced = new Set<string>();
  let applied = 0;
  let replayed = 0;
  let ignored = 0;
  for (const [at, { event, offset }] of batch.entries()) {
    const judged = evolve(chain, event, offset);
    if (judged.verdict === 'broken') return { broken: { at, reason: judged.reason } };
    if (judged.verdict !== 'applied') {
      if (judged.verdict === 'replayed') replayed++;
      else ignored++;
      continue;
    }
    chain = judged.chain;
    applied++;
    if (event.type === 'BlocksFinalized') continue;
    move(stacks, event);
    announced.add(String(event.height));
  }
  return { changes: stacks.changes(chain), outcomes: { applied, replayed, ignored }, announced: [...announced] };
}

function move(stacks: Stacks, event: BlockAppended | BlockReverted): void {
  if (event.type === 'BlockAppended') stacks.push(event);
  else stacks.pop(event.height);
}

function chainOf(head: LoadedRow | undefined): Chain {
  if (head === undefined) return EMPTY_CHAIN;
  return {
    status: 'growing',
    sequence: countIn(head, 'sequence'),
    top: { height: countIn(head, 'height'), hash: bytesIn(head, 'hash') },
    finalized_height: countIn(head, 'finalized_height'),
  };
}
