/**
 * Lists read by their Link headers from the newest item to the last, while the chain rests, grows
 * and is reorganised.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import {
  plainActivity,
  plainBlocks,
  plainTransactions,
  plainValidators,
  type PlainFilter,
} from '../../../projections/explorer/plain-answers.ts';
import { POOL } from '../../../projections/explorer/seeded-effects.ts';
import { fillExplorer, seededBlocks, TYPES } from '../../../projections/explorer/seeded-rows.ts';
import type { PlainBlock, PlainEffect } from '../../../projections/explorer/plain-block.ts';
import { rowsOf } from '../../../support/database.ts';
import {
  openIndexed,
  type IndexedExplorer,
} from '../../../services/explorer-gateway/explorer-server.ts';

const FORK = 40;
const longer = seededBlocks({ seed: 21, blocks: 90, transactions_max: 9, addresses: 5 });
const chain = longer.slice(0, 60);
const forked = [...chain.slice(0, FORK), ...chain.slice(FORK, 55).map(replaced)];

/** The replacement of a block in a reorganisation: other hashes, half of the transactions. */
function replaced(block: PlainBlock): PlainBlock {
  const kept = block.transactions.filter((_, at) => at % 2 === 0);
  const transactions = kept.map((transaction, at) =>
    Object.assign({ ...transaction }, { tx_index: at, hash: other(transaction.hash) }),
  );
  const effects = block.effects
    .filter(({ tx_index: txIndex }) => txIndex === null || txIndex % 2 === 0)
    .map(moved);
  return { ...block, hash: other(block.hash), transactions, effects };
}

/** A block's own effects name no hash: they differ only in their movements. */
function moved(effect: PlainEffect): PlainEffect {
  const { tx_index: txIndex, delta } = effect;
  return txIndex === null
    ? { ...effect, delta: delta < 0n ? delta - 1n : delta + 1n }
    : { ...effect, tx_index: txIndex / 2 };
}

function other(hash: Buffer): Buffer {
  return Buffer.from(hash.map((byte) => byte ^ 0xff));
}

let explorer: IndexedExplorer;
beforeAll(async () => {
  explorer = await openIndexed([]);
});
afterAll(() => explorer.close());
beforeEach(() => becomes(chain));

async function becomes(blocks: readonly PlainBlock[]): Promise<void> {
  const { writer_url: writerUrl } = explorer.urls;
  await rowsOf(writerUrl, 'DROP SCHEMA explorer CASCADE');
  await fillExplorer(writerUrl, blocks);
}

const hot = chain[1]?.transactions[0]?.from ?? Buffer.alloc(20);
const rare =
  chain.flatMap(({ transactions }) => transactions).findLast(({ from }) => !from.equals(hot))
    ?.from ?? Buffer.alloc(20);
const deep = chain.findIndex(({ transactions }) => transactions.length > 7);
const high = FORK + chain.slice(FORK, 55).findIndex(({ transactions }) => transactions.length > 7);
const filters: readonly PlainFilter[] = [
  {},
  { address: hot },
  { type: TYPES[1] },
  { type: TYPES[4] },
  { address: hot, type: TYPES[1] },
  { address: rare, type: TYPES[0] },
  { block: deep },
  { block: high },
  { block: deep, address: hot },
  {
    block: deep,
    type: chain[deep]?.transactions[3]?.type ?? '',
    address: chain[deep]?.transactions[3]?.from ?? hot,
  },
];

interface Walk {
  readonly what: string;
  readonly first: string;
  /** the names of the whole list of a chain */
  readonly all: (blocks: readonly PlainBlock[]) => readonly string[];
}

const walks: readonly Walk[] = [
  {
    what: 'blocks',
    first: '/api/v1/blocks?limit=4',
    all: (blocks) => namesIn(plainBlocks(blocks, 10_000)),
  },
  {
    what: 'validators',
    first: '/api/v1/validators?limit=1',
    all: (blocks) => namesIn(plainValidators(blocks, 10_000)),
  },
  ...[hot, POOL].map((address) => ({
    what: `activity of ${toHex(address)}`,
    first: `/api/v1/accounts/${toHex(address)}/activity?limit=3`,
    all: (blocks: readonly PlainBlock[]) =>
      namesIn(plainActivity(blocks, address, activityLabel, 10_000)),
  })),
  ...filters.map((filter) => ({
    what: `transactions ${queryOf(filter)}`,
    first: `/api/v1/transactions?limit=3&${queryOf(filter)}`,
    all: (blocks: readonly PlainBlock[]) => namesIn(plainTransactions(blocks, filter, 10_000)),
  })),
];

function queryOf({ address, type, block }: PlainFilter): string {
  return new URLSearchParams({
    ...(address && { address: address.toString('hex').toUpperCase() }),
    ...(type !== undefined && { type }),
    ...(block !== undefined && { block: String(block) }),
  }).toString();
}

/**
 * The identity of an item: the hash of a block or transaction, the address of a validator, all
 * fields of an activity.
 */
function namesIn(body: string): readonly string[] {
  const {
    items,
  }: {
    readonly items: readonly {
      readonly hash?: string;
      readonly peer_id?: string;
      readonly address?: string;
    }[];
  } = JSON.parse(body);
  return items.map(
    ({ hash, peer_id: peerId, address, ...rest }) =>
      hash ?? (peerId === undefined ? JSON.stringify(rest) : (address ?? '')),
  );
}

interface Step {
  readonly names: readonly string[];
  readonly next: string | undefined;
}

async function step(path: string): Promise<Step> {
  const { status, text, headers } = await explorer.get(path);
  expect({ path, status }).toEqual({ path, status: 200 });
  const { paging }: { readonly paging: { readonly offset: number; readonly total: number } } =
    JSON.parse(text);
  const names = namesIn(text);
  expect(paging).toMatchObject({ offset: 0, total: names.length });
  return { names, next: /^<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] };
}

/** Every name from there on. */
async function walk(from: string | undefined): Promise<readonly string[]> {
  const names: string[] = [];
  for (let next = from; next !== undefined;) {
    const page = await step(next);
    names.push(...page.names);
    next = page.next;
  }
  return names;
}

/** Two pages of each list, then the chain becomes another, then the rest of each list. */
async function walkWhile(
  change: readonly PlainBlock[],
): Promise<
  readonly (Walk & { readonly before: readonly string[]; readonly after: readonly string[] })[]
> {
  const begun = [];
  for (const each of walks) {
    const first = await step(each.first);
    const second: Step =
      first.next === undefined ? { names: [], next: undefined } : await step(first.next);
    begun.push({ ...each, before: [...first.names, ...second.names], next: second.next });
  }
  await becomes(change);
  const ended = [];
  for (const { next, ...each } of begun) ended.push({ ...each, after: await walk(next) });
  return ended;
}

test('the chain of these tests has the cases that they need', () => {
  for (const { what, all } of walks)
    expect({ what, count: all(chain).length }).not.toEqual({ what, count: 0 });
  expect(walks.filter(({ all }) => all(chain).length > 20).length).toBeGreaterThan(5);
  expect([deep < FORK, high >= FORK]).toEqual([true, true]);
});

test('a walk sees every item of every list once, in order', async () => {
  for (const { what, first, all } of walks)
    expect({ what, walked: await walk(first) }).toEqual({ what, walked: all(chain) });
});

test('blocks that arrive during a walk do not change it', async () => {
  for (const { what, before, after, all } of await walkWhile(longer)) {
    expect({ what, walked: [...before, ...after] }).toEqual({ what, walked: all(chain) });
  }
});

test('a reorganisation during a walk neither repeats nor loses items that it leaves in place', async () => {
  for (const { what, before, after, all } of await walkWhile(forked)) {
    const [old, now] = [all(chain), all(forked)];
    const stayed = old.filter((name) => now.includes(name));
    const walked = [...before, ...after];
    expect({ what, walked: walked.filter((name) => stayed.includes(name)) }).toEqual({
      what,
      walked: stayed,
    });
    expect({ what, gone: after.filter((name) => !now.includes(name)) }).toEqual({ what, gone: [] });
    expect({ what, twice: walked.length - new Set(walked).size }).toEqual({ what, twice: 0 });
  }
});

test('a walk above a chain that became shorter continues at its head', async () => {
  const short = chain.slice(0, 20);
  for (const { what, before, after, all } of await walkWhile(short)) {
    const stayed = all(short);
    expect({ what, walked: [...before, ...after].filter((name) => stayed.includes(name)) }).toEqual(
      { what, walked: stayed },
    );
    expect(after.filter((name) => !stayed.includes(name))).toEqual([]);
  }
});

test('a Link keeps the filters, leaves out the offset, and is there only when the page is full', async () => {
  const type = TYPES[4];
  const { headers } = await explorer.get(
    `/api/v1/transactions?offset=2&limit=3&type=${encodeURIComponent(type)}&status=confirmed&utm=1`,
  );
  const link = new URL(
    /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '',
    explorer.url,
  );
  expect(link.pathname).toBe('/api/v1/transactions');
  expect([...link.searchParams.keys()].toSorted()).toEqual(['cursor', 'limit', 'status', 'type']);
  expect([link.searchParams.get('type'), link.searchParams.get('limit')]).toEqual([type, '3']);
  expect((await explorer.get('/api/v1/blocks?limit=61')).headers.get('link')).toBeNull();
  expect((await explorer.get('/api/v1/blocks?limit=60')).headers.get('link')).toContain('cursor=');
});
