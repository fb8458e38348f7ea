import { stats } from '../../../projections/explorer/queries/chain.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { statsBody } from './json.ts';

export function statsRoute(reader: Reader): GetRoute {
  return {
    method: 'get',
    path: '/api/v1/stats',
    handle: async () => ({ status: 200, body: statsBody((await reader.rows(stats()))[0]) }),
  };
}
