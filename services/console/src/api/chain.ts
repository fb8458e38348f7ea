/** Answers made of several requests, so ordered that blocks between them do no harm. */
import type { Account, Activity } from '../../../../schemas/explorer-api/accounts.ts';
import type { Block } from '../../../../schemas/explorer-api/blocks.ts';
import type { Stats } from '../../../../schemas/explorer-api/network.ts';
import type { Transaction } from '../../../../schemas/explorer-api/transactions.ts';
import { one, page } from './explorer.ts';

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
  /** height of the newest change of the balance */
  readonly changed_at: number;
}

/** `path` of the account. A reorganisation may come in before and after the balance. */
export async function readAccount(path: string, signal: AbortSignal): Promise<KnownAccount> {
  const newestChange = async (): Promise<number> => {
    const { items } = await page<Activity>(`${path}/activity`, signal, { limit: 1 });
    return items[0]?.block_height ?? 0;
  };
  const before = await newestChange();
  const is = await one<Account>(path, signal);
  return { is, changed_at: Math.max(before, await newestChange()) };
}
