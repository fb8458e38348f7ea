/** How far the chain itself is, to know how far behind the index is. */
import type { Logger } from '../runtime/process/log.ts';
import { lately } from './lately.ts';

const FETCH_MS = 1_000;

export interface NodeHead {
  readonly height: number;
  /** null: nothing is final, or the node does not say */
  readonly finalized_height: number | null;
}

/** The node's newest heights, or undefined while it does not tell. `now` in ms. */
export function nodeHead(
  nodeUrl: string,
  now: () => number,
  log: Logger,
): () => Promise<NodeHead | undefined> {
  const what = {
    now,
    log,
    lost: 'the node does not tell its head, so the lag is unknown',
    back: 'the node tells its head again',
  };
  return lately(what, async () => {
    const response = await fetch(`${nodeUrl}/v1/chain`, {
      signal: AbortSignal.timeout(FETCH_MS),
      redirect: 'error',
    });
    const told = readHead(await response.json());
    if (told === undefined) throw new TypeError(`an answer ${response.status} without head.height`);
    return told;
  });
}

function readHead(body: unknown): NodeHead | undefined {
  if (typeof body !== 'object' || body === null || !('head' in body)) return undefined;
  const { head } = body;
  if (typeof head !== 'object' || head === null || !('height' in head) || !isHeight(head.height))
    return undefined;
  const final = 'finalized_height' in body ? body.finalized_height : null;
  return { height: head.height, finalized_height: isHeight(final) ? final : null };
}

function isHeight(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
