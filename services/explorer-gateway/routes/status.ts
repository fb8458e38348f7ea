/** The positions of the chain, of the index and of every projection. */
import { indexedHead } from '../../../projections/explorer/queries/chain.ts';
import { POSITION } from '../../../schemas/explorer-api/network.ts';
import { GET_STATUS } from '../../../schemas/explorer-api/operations.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { HttpResponse } from '../../runtime/http/response.ts';
import type { Reader, Statement } from '../../runtime/postgres/pool.ts';
import { rowWriter } from '../../runtime/postgres/row-json.ts';
import type { LogEnds } from '../lag.ts';
import type { NodeHead } from '../../runtime/clt-node.ts';

/**
 * The checkpoints of live tables. Columns: projection, version, topic, partition, next_offset,
 * whether it is loading, when it last moved.
 */
const POSITIONS: Statement = {
  name: 'explorer_positions',
  text: `SELECT c.projection, c.version, c.topic, c.partition, c.next_offset, p.projection IS NOT NULL AND p.indexed_at IS NULL, c.updated_at
           FROM projector.checkpoints c LEFT JOIN projector.projections p ON p.projection = c.projection
          WHERE p.beside IS NULL
          ORDER BY c.projection, c.version, c.topic, c.partition`,
  values: [],
};

export function statusRoute(
  reader: Reader,
  head: () => Promise<NodeHead | undefined>,
  ends: (topics: readonly string[]) => Promise<LogEnds | undefined>,
): GetRoute {
  const handle = async (): Promise<HttpResponse> => {
    const [node, [indexed], positions] = await Promise.all([
      head(),
      reader.rows(indexedHead()),
      reader.rows(POSITIONS),
    ]);
    // read after the positions, so that no position is beyond the end
    const log = await ends([...new Set(positions.map(([, , topic]) => topic ?? ''))]);
    // lags are 0 or more: the index may be ahead of the last known head of the node
    const lag =
      node === undefined || indexed === undefined
        ? null
        : Math.max(0, node.height - Number(indexed[0]));
    const nodeHeights =
      node === undefined
        ? 'null'
        : `{"height":${node.height},"finalized_height":${node.finalized_height}}`;
    const indexHeights =
      indexed === undefined
        ? 'null'
        : `{"height":${indexed[0]},"finalized_height":${finalHeight(indexed[1])}}`;
    const body = `{"head":${nodeHeights},"indexed":${indexHeights},"lag_blocks":${lag},"projections":[${positions.map((cells) => positionItem(cells, log)).join(',')}]}`;
    return { status: 200, body };
  };
  return { method: 'get', path: GET_STATUS.path, handle };
}

function finalHeight(height: string | null | undefined): string {
  return height === undefined || height === null || height.startsWith('-') ? 'null' : height;
}

/** A row of `POSITIONS`. */
const positionItem = rowWriter<typeof POSITION.properties, LogEnds | undefined>(POSITION, {
  made: {
    lag_records: ([, , topic, partition, next], log) => {
      const end = log?.get(topic ?? '')?.[Number(partition)];
      if (end === undefined) return 'null';
      const behind = end - BigInt(next ?? 0);
      return String(behind < 0n ? 0n : behind);
    },
  },
});
