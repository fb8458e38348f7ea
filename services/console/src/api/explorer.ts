/** Asks the explorer. Amounts are asked for as text, since JSON numbers end at 2^53. */
import { queryOptions } from '@tanstack/react-query';
import { send } from './service.ts';

export interface Page<Item> {
  readonly items: readonly Item[];
  /** of the page with older items; undefined: this is the last one */
  readonly older: string | undefined;
}

export type Parameters = Readonly<Record<string, string | number | undefined>>;

export function queryText(parameters: Parameters): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return new URLSearchParams(given).toString();
}

function ask(path: string, parameters: Parameters, signal: AbortSignal): Promise<Response> {
  return send(`/api/v1/${path}?${queryText(parameters)}`, { signal });
}

const AMOUNTS: Parameters = { amounts: 'string' };

/** Throws a `ServiceError`. */
export async function one<Item>(
  path: string,
  signal: AbortSignal,
  parameters: Parameters = AMOUNTS,
): Promise<Item> {
  const response = await ask(path, parameters, signal);
  const item: Item = await response.json();
  return item;
}

/** Throws a `ServiceError`. */
export async function page<Item>(
  path: string,
  signal: AbortSignal,
  parameters: Parameters,
): Promise<Page<Item>> {
  const response = await ask(path, { ...AMOUNTS, ...parameters }, signal);
  const { items }: { readonly items: readonly Item[] } = await response.json();
  return { items, older: olderOf(response.headers.get('link')) };
}

/** For `useQuery`: one thing, again and again. */
export function oneQuery<Item>(path: string, parameters = AMOUNTS) {
  return queryOptions({
    queryKey: ['one', path, parameters],
    queryFn: ({ signal }) => one<Item>(path, signal, parameters),
  });
}

/** For `useQuery`: a page of a list, again and again. */
export function pageQuery<Item>(path: string, parameters: Parameters) {
  return queryOptions({
    queryKey: ['page', path, parameters],
    queryFn: ({ signal }) => page<Item>(path, signal, parameters),
  });
}

/** The cursor in `Link: </api/v1/..?cursor=..>; rel="next"`. */
export function olderOf(link: string | null): string | undefined {
  const target = /<([^>]*)>;\s*rel="?next"?/.exec(link ?? '')?.[1];
  if (target === undefined) return undefined;
  return new URLSearchParams(target.slice(target.indexOf('?'))).get('cursor') ?? undefined;
}
