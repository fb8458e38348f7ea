/** All routes of the explorer. */
import type { Route } from '../runtime/answers.ts';
import type { Reader } from '../runtime/postgres.ts';
import { blockRoutes } from './block-routes.ts';
import { documentRoutes } from './document-routes.ts';
import type { NodeHead } from './node-head.ts';
import { reserveRoute, type Reserve } from './reserve.ts';
import { searchRoute } from './search.ts';
import { statsRoute } from './stats.ts';
import { statusRoute } from './status.ts';
import { transactionRoutes } from './transaction-routes.ts';

/** What the answers are made from. */
export interface Sources {
  readonly reader: Reader;
  /** of the node; undefined while it does not tell */
  readonly head: () => Promise<NodeHead | undefined>;
  /** undefined: no treasury is behind this deployment */
  readonly reserve: (() => Promise<Reserve>) | undefined;
}

export function explorerRoutes({ reader, head, reserve }: Sources): readonly Route[] {
  return [
    ...blockRoutes(reader),
    ...transactionRoutes(reader),
    searchRoute(reader),
    statsRoute(reader),
    statusRoute(reader, head),
    reserveRoute(reserve),
    ...documentRoutes(),
  ];
}
