/** Lists of the explorer and of the hub against the same lists of PostGraphile, in turns. */
import { isDeepStrictEqual } from 'node:util';
import { toHex } from '../../schemas/address.ts';
import { Random } from '../support/random.ts';
import { say } from './bench.ts';
import type { ChainCounts } from './generator.ts';
import type { HubMarket } from './hub-market.ts';
import { coldBody, LIST_BODY } from './hub-operations.ts';
import { load, type Load } from './load.ts';
import {
  hubRequest,
  REQUEST_FIELDS,
  explorerTransaction,
  TRANSACTION_FIELDS,
  type Node,
} from './postgraphile-fields.ts';
import { processorSeconds } from './process-figures.ts';
import { median, type Measured, type Part, type Ratio } from './report.ts';
import type { SideServer } from './side-server.ts';

type Server = Pick<SideServer, 'pid' | 'url'>;

interface Servers {
  readonly explorer: Server;
  readonly hub: Server;
  readonly postgraphile: Server;
}

interface Given {
  readonly connections: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly seed: number;
}

/** A list at one of our servers and at PostGraphile, with a page for each number below `pages`. */
interface List {
  readonly what: string;
  readonly name: string;
  readonly server: Server;
  /** whether the market changes meanwhile */
  readonly isMoving: boolean;
  readonly pages: number;
  readonly ours: (page: number) => Asked;
  /** the body of a request to PostGraphile */
  readonly theirs: (page: number) => string;
  readonly toItem: (node: Node) => object;
}

interface Asked {
  readonly path: string;
  readonly body?: string;
}

const CURSORS = 200;
const COMPARED_PAGES = 20;
/** Until then a server is still being compiled. */
const WARM_UP_SECONDS = 10;
const MOVES_EVERY_MS = 100;
const ANY_DOCUMENT = 2 ** 31;

const PAGE = '/api/v1/transactions?limit=20';
const BY_OFFSET = `query($offset:Int!){page:allTransactions(orderBy:PRIMARY_KEY_DESC,first:20,offset:$offset){nodes{${TRANSACTION_FIELDS}}}}`;
const BY_CURSOR = `query($after:Cursor!){page:allTransactions(orderBy:PRIMARY_KEY_DESC,first:20,after:$after){nodes{${TRANSACTION_FIELDS}}}}`;
const CURSOR_AT = `query($offset:Int!){page:allTransactions(orderBy:PRIMARY_KEY_DESC,first:1,offset:$offset){pageInfo{endCursor}}}`;
// PostGraphile takes no bytea as a condition of a list
const OF_ADDRESS = `query($address:Base64EncodedBinary!,$offset:Int!){page:accountByAddress(address:$address){list:accountTransactionsByAddress(orderBy:PRIMARY_KEY_DESC,first:20,offset:$offset){nodes{transactionBySeq{${TRANSACTION_FIELDS}}}}}}`;
const REQUESTS = `allRideMarketOpenRequests(orderBy:[HEIGHT_DESC,TX_INDEX_DESC]){nodes{${REQUEST_FIELDS}}}`;

function bodyOf(query: string, variables: object = {}): string {
  return JSON.stringify({ query, variables });
}

export async function measureLists(
  servers: Servers,
  market: HubMarket,
  counts: ChainCounts,
  given: Given,
): Promise<Part> {
  const { postgraphile } = servers;
  const measured: Measured[] = [];
  const ratios: Ratio[] = [];
  for (const list of await listsOf(servers, counts, given.seed)) {
    const random = new Random(given.seed);
    for (let compared = 0; compared < COMPARED_PAGES; compared++)
      await comparePage(list, postgraphile, random.below(list.pages));
    const stand = list.isMoving ? market.moving(MOVES_EVERY_MS) : undefined;
    const ours = { name: list.name, per_second: [] as number[], us: [] as number[] };
    const theirs = { name: 'PostGraphile', per_second: [] as number[], us: [] as number[] };
    for (let round = 0; round <= given.rounds; round++)
      for (const figures of [ours, theirs]) {
        const { pid, url } = figures === ours ? list.server : postgraphile;
        const before = processorSeconds(pid);
        const { requests, seconds } = await load({
          ...(figures === ours ? ourLoad(list, random) : theirLoad(list, random)),
          url,
          connections: given.connections,
          seconds: round === 0 ? WARM_UP_SECONDS : given.seconds,
        });
        if (round === 0) continue;
        figures.per_second.push(requests / seconds);
        figures.us.push(((processorSeconds(pid) - before) / requests) * 1e6);
      }
    await stand?.();
    for (const { name, per_second: rounds, us } of [ours, theirs])
      measured.push(
        { what: `${list.what}: ${name}`, unit: 'requests/s', rounds },
        { what: `${list.what}: ${name}, processor time`, unit: 'us a request', rounds: us },
      );
    ratios.push(
      {
        what: `${list.what}: requests/s, ${ours.name} / ${theirs.name}`,
        ratio: median(ours.per_second) / median(theirs.per_second),
        goal: '>= 1',
      },
      {
        what: `${list.what}: processor time, ${theirs.name} / ${ours.name}`,
        ratio: median(theirs.us) / median(ours.us),
      },
    );
    say(`${list.what}: done`);
  }
  return { measured, ratios };
}

function ourLoad({ ours, pages }: List, random: Random): Pick<Load, 'path' | 'body'> {
  const { path, body } = ours(0);
  return body === undefined
    ? { path: () => ours(random.below(pages)).path }
    : { path: () => path, body: () => ours(random.below(pages)).body ?? '' };
}

function theirLoad({ theirs, pages }: List, random: Random): Pick<Load, 'path' | 'body'> {
  return { path: () => '/graphql', body: () => theirs(random.below(pages)) };
}

async function listsOf(
  { explorer, hub, postgraphile }: Servers,
  { transactions, hot }: ChainCounts,
  seed: number,
): Promise<readonly List[]> {
  const cursors = await cursorsOf(explorer, postgraphile, transactions - 20, seed);
  const address = hot.address.toString('base64');
  const ofTransactions = {
    name: 'explorer',
    server: explorer,
    isMoving: false,
    toItem: explorerTransaction,
  };
  const ofRequests = { name: 'hub', server: hub, isMoving: true, toItem: hubRequest };
  return [
    {
      ...ofTransactions,
      what: 'newest page of transactions',
      pages: 1,
      ours: () => ({ path: PAGE }),
      theirs: () => bodyOf(BY_OFFSET, { offset: 0 }),
    },
    {
      ...ofTransactions,
      what: 'any page of transactions by cursor',
      pages: cursors.length,
      ours: (page) => ({ path: `${PAGE}&cursor=${cursors[page]?.ours}` }),
      theirs: (page) => bodyOf(BY_CURSOR, { after: cursors[page]?.theirs }),
    },
    {
      ...ofTransactions,
      what: 'any page of transactions by offset',
      pages: transactions,
      ours: (offset) => ({ path: `${PAGE}&offset=${offset}` }),
      theirs: (offset) => bodyOf(BY_OFFSET, { offset }),
    },
    {
      ...ofTransactions,
      what: "any page of the hot address' transactions by offset",
      pages: hot.transactions,
      ours: (offset) => ({ path: `${PAGE}&address=${toHex(hot.address)}&offset=${offset}` }),
      theirs: (offset) => bodyOf(OF_ADDRESS, { address, offset }),
    },
    {
      ...ofRequests,
      what: 'open requests, the same document',
      pages: 1,
      ours: () => ({ path: '/graphql', body: LIST_BODY }),
      theirs: () => bodyOf(`{page:${REQUESTS}}`),
    },
    {
      ...ofRequests,
      what: 'open requests, a new document each time',
      pages: ANY_DOCUMENT,
      ours: (number) => ({ path: '/graphql', body: coldBody(number) }),
      theirs: (number) => bodyOf(`{list${number}:${REQUESTS}}`),
    },
  ];
}

/** Cursors of both servers for the same places in the list. */
async function cursorsOf(
  explorer: Server,
  postgraphile: Server,
  rows: number,
  seed: number,
): Promise<readonly { readonly ours: string; readonly theirs: string }[]> {
  const random = new Random(seed);
  const cursors: { ours: string; theirs: string }[] = [];
  while (cursors.length < CURSORS) {
    const offset = random.below(rows);
    const answer = await fetch(`${explorer.url}/api/v1/transactions?limit=1&offset=${offset}`);
    await answer.arrayBuffer();
    const ours = /[?&]cursor=([^&>]+)/.exec(answer.headers.get('link') ?? '')?.[1];
    const theirs = (await pageOf(postgraphile, bodyOf(CURSOR_AT, { offset }))).pageInfo?.endCursor;
    if (ours === undefined || theirs === undefined)
      throw new Error(`there is no cursor at offset ${offset} of ${rows} transactions`);
    cursors.push({ ours, theirs });
  }
  return cursors;
}

interface Connection {
  readonly nodes: readonly (Node & { readonly transactionBySeq?: Node })[];
  readonly pageInfo?: { readonly endCursor: string };
}

interface Answer {
  readonly data?: Readonly<Record<string, Connection | { readonly list: Connection } | null>>;
}

async function pageOf(postgraphile: Server, body: string): Promise<Connection> {
  const answer: Answer = await (await ask(postgraphile, { path: '/graphql', body })).json();
  const [page] = Object.values(answer.data ?? {});
  if (page === undefined || page === null)
    throw new Error(`PostGraphile answered ${JSON.stringify(answer)} to ${body}`);
  return 'list' in page ? page.list : page;
}

function ask({ url }: Server, { path, body }: Asked): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url + path, body === undefined ? {} : { method: 'POST', headers, body });
}

/** Throws unless both send the same items in the same order. */
async function comparePage(list: List, postgraphile: Server, page: number): Promise<void> {
  const asked = list.ours(page);
  const answer: {
    readonly items?: readonly object[];
    readonly data?: Readonly<Record<string, readonly object[]>>;
  } = await (await ask(list.server, asked)).json();
  const items = answer.items ?? Object.values(answer.data ?? {})[0] ?? [];
  const { nodes } = await pageOf(postgraphile, list.theirs(page));
  const expected = nodes.map((node) => list.toItem(node.transactionBySeq ?? node));
  if (items.length === 0 || !isDeepStrictEqual(items, expected))
    throw new Error(
      `${list.what}: the answers differ, so their speed means nothing: ${asked.path} begins with ${JSON.stringify(items[0])}, PostGraphile's with ${JSON.stringify(expected[0])}`,
    );
}
