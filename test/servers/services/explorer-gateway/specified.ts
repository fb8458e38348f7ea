/**
 * Shared by the tests of the specification: one chain, its explorer, and responses parsed with
 * every digit.
 */
import { inject } from 'vitest';
import { fillExplorer, seededBlocks } from '../../../projections/explorer/seeded-rows.ts';
import type { PlainBlock } from '../../../projections/explorer/plain-block.ts';
import { freshDatabase } from '../../../support/database.ts';
import {
  openExplorer,
  type ExplorerServer,
  type ExplorerServerOptions,
} from '../../../services/explorer-gateway/explorer-server.ts';

/** 130 blocks from height 0 on. */
export const CHAIN = seededBlocks({ seed: 61, blocks: 130, transactions_max: 8 });
export const TRANSACTIONS = CHAIN.flatMap(({ transactions }) => transactions);

/** JSON in which integers are bigints and other numbers numbers. */
export type Exact = bigint | boolean | number | string | null | readonly Exact[] | ExactObject;
export interface ExactObject {
  readonly [name: string]: Exact;
}

export function exact(text: string): ExactObject {
  return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source ?? '';
    return typeof value === 'number' && /^-?[0-9]+$/.test(source) ? BigInt(source) : value;
  });
}

export function integer(value: Exact | undefined): bigint {
  if (typeof value !== 'bigint') throw new Error('not an integer');
  return value;
}

export async function openSpecified(
  blocks: readonly PlainBlock[] = CHAIN,
  options: Partial<ExplorerServerOptions> = {},
): Promise<ExplorerServer> {
  const urls = await freshDatabase(inject('stack'));
  await fillExplorer(urls.writer_url, blocks);
  return openExplorer({ postgres_reader_url: urls.reader_url, ...options });
}

/** The body of a 200 answer. */
export async function asked(explorer: ExplorerServer, path: string): Promise<ExactObject> {
  const { status, text } = await explorer.get(path);
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return exact(text);
}

/** The items of a list. */
export async function listed(
  explorer: ExplorerServer,
  path: string,
): Promise<readonly ExactObject[]> {
  const { items } = await asked(explorer, path);
  if (!Array.isArray(items)) throw new Error(`${path}: no items`);
  return items;
}

/** The types that the specification's tables name, and what they mean on the wire. */
export const IS = {
  integer: (value: Exact | undefined) => typeof value === 'bigint',
  number: (value: Exact | undefined) => typeof value === 'number' || typeof value === 'bigint',
  boolean: (value: Exact | undefined) => typeof value === 'boolean',
  string: (value: Exact | undefined) => typeof value === 'string',
  'string, address': (value: Exact | undefined) =>
    typeof value === 'string' && /^0x[0-9a-f]{40}$/.test(value),
  'string, 0x hex': (value: Exact | undefined) =>
    typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value),
  'string, ISO 8601 UTC': (value: Exact | undefined) =>
    typeof value === 'string' && new Date(value).toISOString() === value,
  'string or null': (value: Exact | undefined) => value === null || typeof value === 'string',
  'integer or null': (value: Exact | undefined) => value === null || typeof value === 'bigint',
  array: (value: Exact | undefined) => Array.isArray(value),
  object: (value: Exact | undefined) =>
    typeof value === 'object' && value !== null && !Array.isArray(value),
} as const;
export type Fields = readonly (readonly [field: string, type: keyof typeof IS])[];
