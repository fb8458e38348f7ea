/** All routes of the explorer. */
import { EXPLORER_API } from '../../../schemas/explorer-api/document.ts';
import type { GetRoute, HttpRequest, Route } from '../../runtime/http/handler.ts';
import { documentRoutes } from '../../runtime/http/document-routes.ts';
import { ExportSlots, Scans } from '../../runtime/limits/long-reads.ts';
import { openLimits, type Limits } from '../../runtime/limits/limits.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import type { SharedCounts } from '../../runtime/shared-counts.ts';
import { accountRoutes } from './accounts.ts';
import { chainRoutes } from './chain.ts';
import { exportRoutes } from '../export/routes.ts';
import type { LogEnds } from '../lag.ts';
import type { ChainNode, NodeHead } from '../../runtime/clt-node.ts';
import { reserveRoutes, type Reserve } from '../reserve/reserve.ts';
import { searchRoutes } from './search.ts';
import { seriesRoutes } from './series.ts';
import { statusRoute } from './status.ts';
import { topicRoutes } from './topics.ts';
import { transactionRoutes } from './transactions.ts';

/** The sources of responses. */
export interface Sources {
  readonly reader: Reader;
  /** of the node; undefined while it is unknown */
  readonly head: () => Promise<NodeHead | undefined>;
  readonly node: Pick<ChainNode, 'chain' | 'blocks'>;
  /** of these topics; undefined while they are unknown */
  readonly ends: (topics: readonly string[]) => Promise<LogEnds | undefined>;
  /** undefined in a deployment without a treasury */
  readonly reserve: (() => Promise<Reserve>) | undefined;
  /** how many exports may run at once; 0: none */
  readonly exports_max: number;
  /** of all instances; undefined: this one counts for itself */
  readonly counts?: SharedCounts | undefined;
  /** default: all, and none is counted */
  readonly limits?: Limits;
  /** of the console; without it `/` names the documents */
  readonly pages?: readonly GetRoute[] | undefined;
}

export function explorerRoutes(sources: Sources): readonly Route[] {
  const { reader } = sources;
  const { long_reads: longReads } = sources.limits ?? openLimits();
  const scans = new Scans(longReads);
  return [
    ...chainRoutes(reader),
    ...transactionRoutes(reader, scans),
    ...accountRoutes(reader, scans),
    ...searchRoutes(reader),
    statusRoute(reader, sources.head, sources.ends),
    ...reserveRoutes(reader, sources.reserve),
    ...seriesRoutes(reader),
    ...exportRoutes(
      reader,
      sources.node,
      new ExportSlots(sources.exports_max, sources.counts, longReads),
    ),
    ...topicRoutes(),
    ...documentRoutes(EXPLORER_API, sources.pages),
  ];
}

/** A longer address is never one that many request. */
const URL_CHARACTERS_MAX = 512;
const OF_THE_INDEX = /^\/api\/v1\/(?:blocks|transactions|accounts|validators|stats|search)\b/;

/** The cache key: the address, where the answer depends on that and the index alone. */
export function cacheKeyOf({
  method,
  originalUrl,
}: Pick<HttpRequest, 'method' | 'originalUrl'>): string | undefined {
  const isShared =
    method === 'GET' && originalUrl.length <= URL_CHARACTERS_MAX && OF_THE_INDEX.test(originalUrl);
  return isShared ? originalUrl : undefined;
}
