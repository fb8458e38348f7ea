/**
 * Title and description of the pages of single things, for previews of their links: readers of
 * links run no script. All of it may be text that a stranger chose.
 */
import { setTimeout as after } from 'node:timers/promises';
import { accountByAddress } from '../../projections/explorer/queries/accounts.ts';
import { blockByHash, blockByHeight } from '../../projections/explorer/queries/blocks.ts';
import { transactionByHash } from '../../projections/explorer/queries/transactions.ts';
import { runById } from '../../projections/reserve/queries.ts';
import { rideByHash } from '../../projections/ride-market/queries.ts';
import type { Query } from '../../projections/contract/page.ts';
import { parseAddress, parseHash, toHex } from '../../schemas/address.ts';
import { parseHeight } from '../../schemas/explorer-api/parameters.ts';
import {
  amountText,
  blockTitle,
  grouped,
  plainText,
  RUN_TONES,
  RUN_WORDS,
  sentenceOf,
  shortened,
  SITE,
  titleOf,
  transactionTitle,
  verdictOf,
} from '../../schemas/explorer-api/words.ts';
import { withEntities } from '../runtime/http/html-page.ts';
import { byteaHex, isoTime, type Cell } from '../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../runtime/postgres/pool.ts';
import { Fault } from '../runtime/process/errors.ts';
import { isFinalRow } from './routes/responses.ts';

type Tone = 'good' | 'warn' | 'bad';

export interface Preview {
  /** of the thing, as the picture has it: the title of its page also names the site */
  readonly title: string;
  readonly description: string;
  /** of the thing, where it has one; what its description says, in a word */
  readonly state?: {
    readonly words: string;
    readonly tone: Tone;
    /** nothing will ever change it */
    readonly is_final: boolean;
  };
  /** when it happened, ISO 8601 */
  readonly at?: string;
}

/** The preview of lists, and of things that nobody knows. */
export const PLAIN: Preview = {
  title: `${SITE} console`,
  description: `Blocks, transactions, rides and the reserve of the ${SITE} chain, as they happen.`,
};

const OPEN = { words: 'may still be replaced', tone: 'warn', is_final: false } as const;
const FINAL = { words: 'final', tone: 'good', is_final: true } as const;

const NEWEST = 'As of the newest block, which may still be replaced.';

interface Page {
  /** undefined: nothing has such a name */
  readonly query: (name: string) => Query | undefined;
  readonly preview: (row: Cells, name: string) => Preview;
}

/** By address in `services/console/src/routes.tsx`, whose parameter is called name here. */
const PAGES: Readonly<Record<string, Page>> = {
  '/blocks/:name': {
    query: (name) => {
      const [hash, height] = [parseHash(name), parseHeight(name)];
      if (hash !== undefined) return blockByHash(hash);
      return height === undefined ? undefined : blockByHeight(height);
    },
    preview: (row) => {
      const [height, hash, count, producer, , , timestamp] = row;
      return {
        title: blockTitle(BigInt(height ?? 0)),
        description: `Block ${byteaHex(hash)} of ${isoTime(timestamp)}, with ${counted(count, 'transaction')}, made by ${shortened(byteaHex(producer))}. ${finality(row)}`,
        state: stateOf(row),
        at: isoTime(timestamp),
      };
    },
  },
  '/transactions/:name': {
    query: (name) => queryOf(parseHash(name), transactionByHash),
    preview: (row) => {
      const [hash, height, from, to, amount, , type, , timestamp] = row;
      const call = {
        hash: byteaHex(hash),
        from: byteaHex(from),
        to: byteaHex(to),
        amount: amount ?? '0',
        function_call_type: type ?? '',
      };
      return {
        title: transactionTitle(call),
        description: `${plainText(sentenceOf(call))} In block ${grouped(BigInt(height ?? 0))}. ${finality(row)}`,
        state: stateOf(row),
        at: isoTime(timestamp),
      };
    },
  },
  '/accounts/:name': {
    query: (name) => queryOf(parseAddress(name), accountByAddress),
    preview: ([balance, , transactions, changes], name) => ({
      title: `Account ${shortened(toHex(parseAddress(name) ?? Buffer.alloc(0)))}`,
      description: `It has ${units(balance, SITE)}, after ${counted(transactions, 'transaction')} and ${counted(changes, 'change')} of its balance. ${NEWEST}`,
      state: OPEN,
    }),
  },
  '/market/trips/:name': {
    query: (name) => queryOf(parseHash(name), (hash) => rideByHash(hash, 1)),
    preview: ([status, , , , , , , fare, paid, passenger, driver]) => ({
      title: `Ride at ${units(fare, SITE)}: ${status}`,
      description: `Passenger ${shortened(byteaHex(passenger))}${driver === null ? '' : `, driver ${shortened(byteaHex(driver))}`}; paid so far: ${units(paid, SITE)}. ${NEWEST}`,
      state: OPEN,
    }),
  },
  '/reserve/:name': {
    query: (name) => (name.includes('\0') || name.length > 100 ? undefined : runById(name)),
    preview: (row) => {
      const [, at, , height, , , , , , liability, custody, , , status, , , , uncovered] = row;
      const surplus = row.at(-2);
      const verdict = verdictOf({ status: status ?? '', uncovered: uncovered ?? '0' });
      const words: Readonly<Record<string, string>> = RUN_WORDS;
      const tones: Readonly<Record<string, Tone>> = RUN_TONES;
      return {
        title: `Reserve run of ${isoTime(at)}: ${words[verdict] ?? verdict}`,
        description: `Custody ${units(custody, 'USDT')}, liability ${units(liability, 'USDT')}, surplus ${units(surplus, 'USDT')}, at block ${grouped(BigInt(height ?? 0))}.`,
        state: { words: words[verdict] ?? verdict, tone: tones[verdict] ?? 'bad', is_final: true },
        at: isoTime(at),
      };
    },
  },
};

export const PREVIEWED = Object.keys(PAGES);

/** A page does not wait longer for its description. */
const WAIT_MS = 500;

/**
 * The preview of the thing with this name, at one of the addresses `PREVIEWED`; undefined where
 * nobody knows it. Rejects while the read model is away.
 */
export async function knownPreview(
  reader: Reader,
  path: string,
  name: string,
): Promise<Preview | undefined> {
  const page = PAGES[path];
  const query = page?.query(name);
  if (page === undefined || query === undefined) return undefined;
  const [row] = await reader.rows(query);
  return row === undefined ? undefined : page.preview(row, name);
}

/** Plain where nothing is known, also while the read model is away: the page itself says so. */
export async function previewOf(reader: Reader, path: string, name: string): Promise<Preview> {
  const late = new AbortController();
  const waited = after(WAIT_MS, undefined, { signal: late.signal }).catch(() => undefined);
  try {
    return (await Promise.race([knownPreview(reader, path, name), waited])) ?? PLAIN;
  } catch (error) {
    if (error instanceof Fault) return PLAIN;
    throw error;
  } finally {
    late.abort();
  }
}

function queryOf(bytes: Buffer | undefined, query: (of: Buffer) => Query): Query | undefined {
  return bytes === undefined ? undefined : query(bytes);
}

function units(base: Cell, unit: string): string {
  return `${amountText(BigInt(base ?? 0))} ${unit}`;
}

function counted(count: Cell, one: string): string {
  return `${grouped(BigInt(count ?? 0))} ${one}${count === '1' ? '' : 's'}`;
}

function stateOf(row: Cells): typeof OPEN | typeof FINAL {
  return isFinalRow(row) ? FINAL : OPEN;
}

function finality(row: Cells): string {
  return isFinalRow(row) ? 'It is final.' : 'It may still be replaced.';
}

/** The pixels of a picture. */
export const PICTURE = { width: 1_200, height: 630 } as const;

const TITLE_CHARACTERS = 120;
const DESCRIPTION_CHARACTERS = 300;

/**
 * The elements of a document's head; plain text in, no character of which is markup. `picture`: the
 * whole address of one, where this gateway knows its own.
 */
export function headOf(preview: Preview, picture?: string): string {
  const title = preview === PLAIN ? PLAIN.title : titleOf(preview.title);
  const name = withEntities(visible(title, TITLE_CHARACTERS));
  const words = withEntities(visible(preview.description, DESCRIPTION_CHARACTERS));
  return [
    `<title>${name}</title>`,
    `<meta name="description" content="${words}" />`,
    `<meta property="og:type" content="website" />`,
    `<meta property="og:site_name" content="${SITE}" />`,
    `<meta property="og:title" content="${name}" />`,
    `<meta property="og:description" content="${words}" />`,
    ...(picture === undefined
      ? []
      : [
          `<meta property="og:image" content="${withEntities(picture)}" />`,
          `<meta property="og:image:type" content="image/png" />`,
          `<meta property="og:image:width" content="${PICTURE.width}" />`,
          `<meta property="og:image:height" content="${PICTURE.height}" />`,
          `<meta property="og:image:alt" content="${name}" />`,
          `<meta name="twitter:card" content="summary_large_image" />`,
        ]),
  ].join('\n    ');
}

/** Without characters that nobody sees, such as marks of direction, and not longer than `most`. */
export function visible(text: string, most: number): string {
  const seen = Array.from(text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, ' '));
  return seen.length > most ? `${seen.slice(0, most - 1).join('')}…` : seen.join('');
}
