import { indexedHead } from '../../projections/explorer/queries/chain.ts';
import type { Reader } from '../runtime/postgres.ts';
import type { Check } from '../runtime/readiness.ts';
import type { NodeHead } from './node-head.ts';

/**
 * Ready when the index can be read and is not further behind the node than `lagMax` blocks. A node that cannot be reached does not make the gateway unready: it
 * answers from the index alone, and that the index stands still then is what the ingester's own `/ready` says.
 */
export function indexCheck(reader: Reader, head: () => Promise<NodeHead | undefined>, lagMax: number): Check {
  return {
    name: 'index',
    check: async () => {
      const [rows, newest] = await Promise.all([reader.rows(indexedHead()), head()]);
      if (newest === undefined) return undefined;
      const indexed = Number(rows[0]?.[0] ?? -1);
      const lag = newest.height - indexed;
      return lag > lagMax ? `${lag} blocks behind the node, more than ${lagMax}: see /ready of chain-ingester and projector` : undefined;
    },
  };
}
