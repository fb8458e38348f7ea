/** The series for charts: the figures of each hour or day, and who made its blocks. */
import { producersOf, seriesOf, type Range } from '../../../projections/series/queries.ts';
import type { Query } from '../../../projections/contract/page.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { hex, time } from './json.ts';
import { parseSeriesRange } from './parameters.ts';
import { indexResponse, isFinalRow } from './responses.ts';

export function seriesRoutes(reader: Reader): readonly GetRoute[] {
  return [
    route(reader, '/api/v1/series', seriesOf, bucketItem),
    route(reader, '/api/v1/series/validators', producersOf, producerItem),
  ];
}

function route(
  reader: Reader,
  path: string,
  query: (range: Range) => Query,
  toJson: (cells: Cells) => string,
): GetRoute {
  return {
    method: 'get',
    path,
    handle: async (request) => {
      const range = parseSeriesRange(request.query);
      if ('refused' in range) return range;
      const rows = await reader.rows(query(range));
      // a bucket is final once a later one has a final block: that one is outside of the range
      const isFinal = rows[0] !== undefined && isFinalRow(rows[0]);
      return indexResponse(`{"by":"${range.by}","items":[${rows.map(toJson).join(',')}]}`, isFinal);
    },
  };
}

/** A row of `seriesOf`. */
function bucketItem(cells: Cells): string {
  const [start, blocks, transactions, fees, rides, fares, active, supply, isFinal] = cells;
  return (
    `{"start":${time(start)},"blocks":${blocks},"transactions":${transactions},"fees":${fees},"rides":${rides},"fares":${fares},` +
    `"active_accounts":${active},"supply":${supply},"is_final":${isFinal === 't'}}`
  );
}

/** A row of `producersOf`. */
function producerItem([start, address, blocks]: Cells): string {
  return `{"start":${time(start)},"address":${hex(address)},"blocks":${blocks}}`;
}
