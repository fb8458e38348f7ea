/** How far the chain, the index and every projection are. */
import { indexedHead } from '../../projections/explorer/queries/chain.ts';
import type { Route } from '../runtime/answers.ts';
import type { Cells, Reader, Statement } from '../runtime/postgres.ts';
import { isoTime } from './json.ts';
import type { NodeHead } from './node-head.ts';

/**
 * Of what is read: tables that stand beside it are nobody's concern. Columns: projection, version, topic, partition, next_offset, records behind the furthest
 * projection of the same log, when it last moved.
 */
const POSITIONS: Statement = {
  name: 'explorer_positions',
  text: `SELECT projection, version, topic, partition, next_offset,
                max(next_offset) OVER (PARTITION BY topic, partition) - next_offset, updated_at
           FROM projector.checkpoints c
          WHERE NOT EXISTS (SELECT FROM projector.projections p WHERE p.projection = c.projection AND p.beside IS NOT NULL)
          ORDER BY projection, version, topic, partition`,
  values: [],
};

export function statusRoute(reader: Reader, head: () => Promise<NodeHead | undefined>): Route {
  return {
    method: 'get',
    path: '/api/v1/status',
    handle: async () => {
      const [node, indexed, positions] = await Promise.all([head(), reader.rows(indexedHead()), reader.rows(POSITIONS)]);
      return { status: 200, body: statusBody(node, indexed[0], positions) };
    },
  };
}

/** Lags are 0 or more: the index may be a moment ahead of what the node last said. */
export function statusBody(node: NodeHead | undefined, indexed: Cells | undefined, positions: readonly Cells[]): string {
  const lag = node === undefined || indexed === undefined ? null : Math.max(0, node.height - Number(indexed[0]));
  const head = node === undefined ? 'null' : `{"height":${node.height},"finalized_height":${node.finalized_height}}`;
  const index = indexed === undefined ? 'null' : `{"height":${indexed[0]},"finalized_height":${finalHeight(indexed[1])}}`;
  return `{"head":${head},"indexed":${index},"lag_blocks":${lag},"projections":[${positions.map(positionItem).join(',')}]}`;
}

function finalHeight(height: string | null | undefined): string {
  return height === undefined || height === null || height.startsWith('-') ? 'null' : height;
}

function positionItem([projection, version, topic, partition, next, behind, moved]: Cells): string {
  return (
    `{"projection":${JSON.stringify(projection)},"version":${version},"topic":${JSON.stringify(topic)},"partition":${partition},` +
    `"next_offset":${next},"lag_records":${behind},"moved_at":"${isoTime(moved ?? '')}"}`
  );
}
