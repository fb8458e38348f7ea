/** All reconciliations, newest first, from the read model. */
import { runsPage } from '../../../projections/reserve/queries.ts';
import type { Route } from '../../runtime/http/handler.ts';
import { byteaHex, isoTime } from '../../runtime/postgres/cells.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import { parsePage } from '../routes/parameters.ts';
import { listResponse } from '../routes/responses.ts';

const PATH = '/api/v1/reserve/runs';
const LIST = 'reserve_runs';

/** An empty list in a deployment without a treasury. */
export function reserveRunsRoute(reader: Reader, hasTreasury: boolean): Route {
  return {
    method: 'get',
    path: PATH,
    handle: async ({ query }) => {
      const page = parsePage(query, LIST);
      if ('refused' in page) return page;
      const rows = hasTreasury ? await reader.rows(runsPage(page)) : [];
      return listResponse({ path: PATH, page, list: LIST }, rows, runItem);
    },
  };
}

function runItem([
  id,
  at,
  offset,
  height,
  hash,
  supply,
  genesis,
  minted,
  burned,
  liability,
  custody,
  held,
  fees,
  status,
]: Cells): string {
  return (
    `{"run_id":${JSON.stringify(id)},"run_at":"${isoTime(at)}","ledger_offset":${offset},"block_height":${height},` +
    `"block_hash":"${byteaHex(hash)}","onchain_supply":${supply},"genesis_allocation":${genesis},"treasury_minted":${minted},` +
    `"burned":${burned},"ledger_liability":${liability},"custody_reported":${custody},"held":${held},"retained_fees":${fees},` +
    `"status":${JSON.stringify(status)}}`
  );
}
