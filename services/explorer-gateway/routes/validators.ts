import { validatorsPage } from '../../../projections/explorer/queries/chain.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { validatorItem } from './account-json.ts';
import { listAnswer } from './list.ts';
import { parsePage } from './parameters.ts';

const LIST = 'validators';

export function validatorsRoute(reader: Reader): GetRoute {
  return {
    method: 'get',
    path: '/api/v1/validators',
    handle: async ({ query }) => {
      const page = parsePage(query, LIST);
      if ('refused' in page) return page;
      return listAnswer(
        { path: '/api/v1/validators', filters: {}, page, list: LIST },
        await reader.rows(validatorsPage(page)),
        validatorItem,
      );
    },
  };
}
