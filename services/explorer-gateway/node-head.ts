/** The height of the chain itself, to know how far behind the index is. */
import { messageOf } from '../runtime/errors.ts';
import type { Logger } from '../runtime/log.ts';

const FETCH_MS = 1_000;
const FRESH_MS = 1_000;

/** The node's newest height, or undefined while it does not tell; asked at most once a second, however often it is called. `now` in ms. */
export function nodeHead(nodeUrl: string, now: () => number, log: Logger): () => Promise<number | undefined> {
  let asked = Number.NEGATIVE_INFINITY;
  let answer: Promise<number | undefined> = Promise.resolve(undefined);
  let silent = false;

  const ask = async (): Promise<number | undefined> => {
    try {
      const response = await fetch(`${nodeUrl}/v1/chain`, { signal: AbortSignal.timeout(FETCH_MS), redirect: 'error' });
      const height = headHeight(await response.json());
      if (height === undefined) throw new TypeError(`an answer ${response.status} without head.height`);
      if (silent) log.info('the node tells its head again');
      silent = false;
      return height;
    } catch (error) {
      if (!silent) log.warn({ err: error }, `the node does not tell its head, so the lag is unknown: ${messageOf(error)}`);
      silent = true;
      return undefined;
    }
  };
  return () => {
    if (now() - asked >= FRESH_MS) {
      asked = now();
      answer = ask();
    }
    return answer;
  };
}

function headHeight(body: unknown): number | undefined {
  if (typeof body !== 'object' || body === null || !('head' in body)) return undefined;
  const { head } = body;
  if (typeof head !== 'object' || head === null || !('height' in head)) return undefined;
  return typeof head.height === 'number' && Number.isSafeInteger(head.height) ? head.height : undefined;
}
