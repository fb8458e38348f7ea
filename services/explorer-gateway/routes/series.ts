/** The series for charts: the figures of each hour or day, and who made its blocks. */
import { producersOf, seriesOf, type Range } from '../../../projections/series/queries.ts';
import type { Query } from '../../../projections/contract/page.ts';
import { SERIES_ITEM, VALIDATOR_SERIES_ITEM } from '../../../schemas/explorer-api/network.ts';
import { GET_SERIES, GET_VALIDATOR_SERIES } from '../../../schemas/explorer-api/operations.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { rowWriter, type RowWriter } from '../../runtime/postgres/row-json.ts';
import { rangeOf } from './parameters.ts';
import { indexResponse, isFinalRow } from './responses.ts';
import { served } from './served.ts';

export function seriesRoutes(reader: Reader): readonly GetRoute[] {
  return [
    route(reader, GET_SERIES, seriesOf, rowWriter(SERIES_ITEM)),
    route(reader, GET_VALIDATOR_SERIES, producersOf, rowWriter(VALIDATOR_SERIES_ITEM)),
  ];
}

function route(
  reader: Reader,
  operation: typeof GET_SERIES,
  query: (range: Range) => Query,
  toJson: RowWriter,
): GetRoute {
  return served(operation, async (values) => {
    const range = rangeOf(values);
    if ('refused' in range) return range;
    const rows = await reader.rows(query(range));
    // a bucket is final once a later one has a final block: that one is outside of the range
    const isFinal = rows[0] !== undefined && isFinalRow(rows[0]);
    const items = rows.map((cells) => toJson(cells)).join(',');
    return indexResponse(`{"by":"${range.by}","items":[${items}]}`, isFinal);
  });
}
