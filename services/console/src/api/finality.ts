/**
 * Whether a block may still be replaced. An answer is judged by the height that was final before it
 * was asked for: by a later height, a block that has been replaced since would count as final.
 */
import { queryOptions } from '@tanstack/react-query';
import type { Status } from '../../../../schemas/explorer-api/network.ts';
import { one, page, type Parameters } from './explorer.ts';

let known: Judged = { final_height: undefined, head_height: undefined };

/** Takes the height from an answer to `/api/v1/status`. */
export function learnFinality({ indexed }: Pick<Status, 'indexed'>): void {
  known = {
    final_height: indexed?.finalized_height ?? undefined,
    head_height: indexed?.height ?? undefined,
  };
}

export interface Judged {
  /** blocks up to this height are final; undefined: not known */
  readonly final_height: number | undefined;
  /** the newest block of that moment */
  readonly head_height: number | undefined;
}

/** False where it is not known. */
export function isFinal(height: number, { final_height: final = -1 }: Judged): boolean {
  return height <= final;
}

/** The confirmations of a block, and how many make it final; undefined: not known. */
export function confirmationsOf(
  height: number,
  { final_height: final, head_height: head }: Judged,
): { readonly has: number; readonly needs: number } | undefined {
  if (final === undefined || head === undefined) return undefined;
  const needs = Math.max(head - final, 1);
  // a block that is newer than that moment has none
  const has = height <= final ? needs : Math.min(Math.max(head - height, 0), needs - 1);
  return { has, needs };
}

/** The answer of a call that begins now. */
export async function judged<Answer extends object>(
  call: () => Promise<Answer>,
): Promise<Answer & Judged> {
  const judgement = known;
  return Object.assign(await call(), judgement);
}

/** For `useQuery`: one thing of the chain. */
export function judgedOne<Item extends object>(path: string) {
  return queryOptions({
    queryKey: ['judged', path],
    queryFn: ({ signal }) => judged(() => one<Item>(path, signal)),
  });
}

/** For `useQuery`: a page of things of the chain. */
export function judgedPage<Item>(path: string, parameters: Parameters) {
  return queryOptions({
    queryKey: ['judged', path, parameters],
    queryFn: ({ signal }) => judged(() => page<Item>(path, signal, parameters)),
  });
}
