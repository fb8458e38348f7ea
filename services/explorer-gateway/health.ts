import { indexedHead } from '../../projections/explorer/queries/chain.ts';
import type { Reader, Statement } from '../runtime/postgres/pool.ts';
import type { Check, HealthProblem } from '../runtime/process/health.ts';
import type { NodeHead } from '../runtime/clt-node.ts';

const INDEXED: Statement = {
  name: 'explorer_is_indexed',
  text: `SELECT indexed_at IS NOT NULL FROM projector.projections WHERE projection = 'explorer'`,
  values: [],
};

/**
 * Ready when the index can be read, has all its indexes and is not further behind the node than
 * `lagMax` blocks. A node that cannot be reached does not make the gateway unready: it answers from
 * the index alone, and that the index stands still then is what the ingester's own `/ready` says.
 */
export function indexCheck(
  reader: Reader,
  head: () => Promise<NodeHead | undefined>,
  lagMax: number,
): Check {
  return {
    name: 'index',
    projection: 'explorer',
    check: async () => {
      const [rows, [[isIndexed] = []], newest] = await Promise.all([
        reader.rows(indexedHead()),
        reader.rows(INDEXED),
        head(),
      ]);
      if (isIndexed === 'f')
        return waiting('being built, and slow until it is: see /ready of projector-explorer');
      if (newest === undefined) return undefined;
      const indexed = Number(rows[0]?.[0] ?? -1);
      const lag = newest.height - indexed;
      return lag > lagMax
        ? waiting(
            `${lag} blocks behind the node, more than ${lagMax}: see /ready of chain-ingester and projector`,
          )
        : undefined;
    },
  };
}

function waiting(message: string): HealthProblem {
  return { status: 'waiting', waits_for: 'projection:explorer', message };
}
