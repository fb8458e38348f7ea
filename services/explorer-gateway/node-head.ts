import { ChainNode, type NodeHead } from '../runtime/clt-node.ts';
import type { Logger } from '../runtime/process/log.ts';
import { cachedFor } from './cached-for.ts';

const TIMEOUT_MS = 1_000;

/** The node's newest heights, against which the index lags; undefined while they are unknown. */
export function nodeHead(
  nodeUrl: string,
  now: () => number,
  log: Logger,
): () => Promise<NodeHead | undefined> {
  const node = new ChainNode(nodeUrl, new AbortController().signal, TIMEOUT_MS);
  const options = {
    now,
    log,
    lost: 'the head of the node cannot be read, so the lag is unknown',
    restored: 'the head of the node can be read again',
  };
  return cachedFor(options, () => node.head());
}
