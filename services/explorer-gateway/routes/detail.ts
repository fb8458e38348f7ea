import type { Query } from '../../../projections/contract/page.ts';
import type { HttpResponse } from '../../runtime/http/handler.ts';
import type { Refusal } from '../../runtime/process/errors.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';

/** The one row of a query as an answer, or that there is no such `what`. */
export async function detailAnswer(
  reader: Reader,
  query: Query,
  toJson: (cells: Cells) => string,
  what: string,
): Promise<HttpResponse | Refusal<'not_found'>> {
  const [row] = await reader.rows(query);
  return row === undefined
    ? { refused: 'not_found', message: `no such ${what} is indexed` }
    : { status: 200, body: toJson(row) };
}
