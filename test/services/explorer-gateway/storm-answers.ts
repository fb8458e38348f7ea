/**
 * Requests to the explorer, each with its valid responses in any state of the chain.
 * `storm-chain.ts` has the states.
 */
import {
  exactJson,
  plainAccount,
  plainBalance,
  plainBlock,
  plainStats,
  plainTransaction,
} from '../../projections/explorer/plain-answers.ts';
import type { PlainBlock } from '../../projections/explorer/plain-block.ts';
import {
  entriesOf,
  plainOf,
  stands,
  touchedOf,
  type ChainState,
  type StormBlock,
  type StormList,
  type StormTransaction,
} from './storm-chain.ts';

/** A place in a list as a cursor names it: an ordinal, and which of an item's. */
export interface Place {
  readonly along: number;
  readonly below: number;
}

export interface HttpResponse {
  /** null: 404 */
  readonly body: string | null;
  /** the valid cursors of the next page; none: there is no such link */
  readonly next?: readonly Place[];
}

export interface Question {
  readonly path: string;
  /** the valid responses in this state: one, or several for an ambiguous request */
  readonly answers: (state: ChainState) => readonly HttpResponse[];
  /** makes of a body what `answers` says, where that is not all of it */
  readonly reading?: (body: string) => string;
  /** only lists have further pages */
  readonly list?: { readonly of: StormList; readonly limit: number };
}

export type Part = { readonly offset: bigint } | { readonly places: readonly Place[] };

export function listQuestion(path: string, of: StormList, limit: number, part: Part): Question {
  const answers = (state: ChainState): readonly HttpResponse[] => {
    const newest = entriesOf(state, of).toReversed();
    if ('offset' in part) {
      const at = part.offset > BigInt(newest.length) ? newest.length : Number(part.offset);
      return [pageAnswer(newest.slice(at, at + limit), limit, part.offset)];
    }
    return part.places.map(({ along, below }) => {
      const page = newest.filter(({ places }) => (places[along] ?? 0) < below).slice(0, limit);
      const { body, next } = pageAnswer(page, limit, 0n);
      return next === undefined
        ? { body }
        : { body, next: next.filter((place) => place.along === along) };
    });
  };
  return { path, answers, list: { of, limit } };
}

function pageAnswer(
  page: ReturnType<typeof entriesOf>,
  limit: number,
  offset: bigint,
): HttpResponse {
  const [isFull, total] = [page.length === limit, offset + BigInt(page.length)];
  const items = page.map(({ item }) => item).join(',');
  const body = `{"items":[${items}],"paging":{"limit":${limit},"offset":${offset},"total":${total},"has_more":${isFull}}}`;
  return isFull
    ? { body, next: (page.at(-1)?.places ?? []).map((below, along) => ({ along, below })) }
    : { body };
}

export function blockQuestion(
  id: string,
  find: (state: ChainState) => StormBlock | undefined,
): Question {
  const bodyIn = (state: ChainState): string | null => {
    const block = find(state);
    return block === undefined ? null : plainBlock(block.plain);
  };
  return single(`/api/v1/blocks/${id}`, bodyIn);
}

/** `find`: in that state, if it is there. */
export function transactionQuestion(
  written: string,
  find: (state: ChainState) => StormTransaction | undefined,
): Question {
  return single(`/api/v1/transactions/${written}`, (state) => {
    const found = find(state);
    return found === undefined ? null : plainTransaction(found.plain);
  });
}

export function accountQuestion(written: string, address: string): Question {
  return single(`/api/v1/accounts/${written}`, (state) => {
    const blocks = touchedOf(state, address);
    return blocks.length === 0 ? null : plainAccount(blocks, Buffer.from(address, 'hex'));
  });
}

export function balanceQuestion(written: string, address: string, height: number): Question {
  return single(`/api/v1/accounts/${written}/balance-at?height=${height}`, (state) => {
    const blocks = touchedOf(state, address);
    const hash = state.blocks[height]?.plain.hash.toString('hex');
    if (hash === undefined || blocks.length === 0) return null;
    const balance = plainBalance(blocks, Buffer.from(address, 'hex'), height);
    return exactJson({ address: `0x${address}`, height, block_hash: `0x${hash}`, balance });
  });
}

export function statsQuestion(): Question {
  const question = single('/api/v1/stats', (state) => JSON.stringify(plainStats(plainOf(state))));
  return { ...question, reading: (body) => JSON.stringify(JSON.parse(body)) };
}

export function statusQuestion(): Question {
  return {
    ...single('/api/v1/status', indexedIn),
    reading: (body) => JSON.stringify(JSON.parse(body).indexed),
  };
}

function indexedIn({ blocks, finalized_height: finalizedHeight }: ChainState): string {
  return JSON.stringify(
    blocks.length === 0
      ? null
      : {
          height: blocks.length - 1,
          finalized_height: finalizedHeight < 0 ? null : finalizedHeight,
        },
  );
}

export type Sought =
  | { readonly q: string; readonly height: number }
  | { readonly q: string; readonly block: StormBlock }
  | {
      readonly q: string;
      readonly transaction: (state: ChainState) => StormTransaction | undefined;
    }
  | { readonly q: string; readonly address: string }
  | { readonly q: string };

export function searchQuestion(sought: Sought): Question {
  const path = `/api/v1/search?q=${encodeURIComponent(sought.q)}`;
  return single(path, (state) =>
    JSON.stringify({ items: foundIn(state, sought).filter((found) => found !== undefined) }),
  );
}

function foundIn(state: ChainState, sought: Sought): readonly (object | undefined)[] {
  if ('height' in sought) return [blockFound(String(sought.height), state.blocks[sought.height])];
  if ('block' in sought)
    return [
      blockFound(
        `0x${sought.block.plain.hash.toString('hex')}`,
        stands(state, sought.block) ? sought.block : undefined,
      ),
    ];
  if ('transaction' in sought) return [transactionFound(sought.transaction(state))];
  if (!('address' in sought)) return [];
  const account = accountFound(touchedOf(state, sought.address), sought.address);
  // the address of nobody may be written as forty zeros, which is a height as well
  return /^[0-9]+$/.test(sought.q)
    ? [blockFound(String(BigInt(sought.q)), state.blocks[Number(sought.q)]), account]
    : [account];
}

function accountFound(blocks: readonly PlainBlock[], address: string): object {
  const identifier = `0x${address}`;
  if (blocks.length === 0)
    return { kind: 'account', identifier, summary: 'address with no indexed activity' };
  const counts: { readonly tx_count: number; readonly activity_count: number } = JSON.parse(
    plainAccount(blocks, Buffer.from(address, 'hex')),
  );
  const transactions = counted(counts.tx_count, 'transaction', 'transactions');
  return {
    kind: 'account',
    identifier,
    summary: `address with ${transactions} and ${counted(counts.activity_count, 'activity', 'activities')}`,
  };
}

function counted(count: number, one: string, more: string): string {
  return `${count} ${count === 1 ? one : more}`;
}

function blockFound(identifier: string, block: StormBlock | undefined): object | undefined {
  if (block === undefined) return undefined;
  const { height, hash, transactions, producer, timestamp } = block.plain;
  const count = counted(transactions.length, 'transaction', 'transactions');
  const summary = `block ${height}, 0x${hash.toString('hex')}: ${count}, produced by 0x${producer.toString('hex')} at ${iso(timestamp)}`;
  return { kind: 'block', identifier, summary };
}

function transactionFound(found: StormTransaction | undefined): object | undefined {
  if (found === undefined) return undefined;
  const { type, amount, from, to, block_height: blockHeight, timestamp, hash } = found.plain;
  const [sender, recipient, identifier] = [from, to, hash].map(
    (bytes) => `0x${bytes.toString('hex')}`,
  );
  return {
    kind: 'transaction',
    identifier,
    summary: `${type} of ${amount} from ${sender} to ${recipient} in block ${blockHeight} at ${iso(timestamp)}`,
  };
}

function iso(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function single(path: string, bodyIn: (state: ChainState) => string | null): Question {
  return { path, answers: (state) => [{ body: bodyIn(state) }] };
}
