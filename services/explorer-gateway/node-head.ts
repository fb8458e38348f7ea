/** The node's newest heights, to know how far the index lags. */
import { ChainNode, type NodeHead } from '../runtime/clt-node.ts';
import type { Logger } from '../runtime/process/log.ts';
import { lately } from './lately.ts';

const TIMEOUT_MS = 1_000;

/** The node's newest heights; undefined while it does not tell them. `now` in ms. */
export function nodeHead(
  nodeUrl: string,
  now: () => number,
  log: Logger,
): () => Promise<NodeHead | undefined> {
  const node = new ChainNode(nodeUrl, new AbortController().signal, TIMEOUT_MS);
  const what = {
    now,
    log,
    lost: 'the node does not tell its head, so the lag is unknown',
    back: 'the node tells its head again',
  };
  return lately(what, () => node.head());
}
