/** Answers made of several requests, so ordered that blocks between them do no harm. */
import type { Account, Balance } from '../../../../schemas/explorer-api/accounts.ts';
import type { Block, BlockDetail } from '../../../../schemas/explorer-api/blocks.ts';
import type { Stats } from '../../../../schemas/explorer-api/network.ts';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { one, page, type Page } from './explorer.ts';

/** In a page: more than a fast chain makes between two looks, so that each meets the one before. */
const BLOCKS = 60;
const ROWS = 12;

/** No transaction is of a later block than the newest one here. */
export interface Chain {
  readonly stats: Stats;
  /** newest first */
  readonly blocks: readonly Block[];
  /** newest first */
  readonly transactions: readonly Transaction[];
}

/** Blocks are asked for last: they are as new as the transactions, or newer. */
export async function readChain(signal: AbortSignal): Promise<Chain> {
  const [stats, { items: transactions }] = await Promise.all([
    one<Stats>('stats', signal),
    page<Transaction>('transactions', signal, { limit: ROWS }),
  ]);
  const { items: blocks } = await page<Block>('blocks', signal, { limit: BLOCKS });
  // after a reorganisation the chain may be lower
  const newest = blocks[0]?.height ?? -1;
  return {
    stats,
    blocks,
    transactions: transactions.filter(({ block_height: height }) => height <= newest),
  };
}

export interface KnownAccount {
  readonly is: Account;
  /** the balance after its newest change, both of one moment; undefined: it never changed */
  readonly newest: Balance | undefined;
}

/** `path` of the account. The account itself has no height, so its balance is not used. */
export async function readAccount(path: string, signal: AbortSignal): Promise<KnownAccount> {
  const [is, { items }] = await Promise.all([
    one<Account>(path, signal),
    page<Balance>(`${path}/balance-history`, signal, { points: 2 }),
  ]);
  return { is, newest: items.at(-1) };
}

/** Transactions of the block with this hash. Throws a `ServiceError` of 404 once it is replaced. */
export async function blockTransactions(
  { height, hash }: BlockDetail,
  limit: number,
  signal: AbortSignal,
): Promise<Page<Transaction>> {
  const read = await page<Transaction>('transactions', signal, { block: height, limit });
  // asked for by height: they are of this block if it is still there
  await one<BlockDetail>(`blocks/${hash}`, signal);
  return read;
}
