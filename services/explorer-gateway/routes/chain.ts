/** Blocks, validators and the figures of the whole chain. */
import {
  blockByHash,
  blockByHeight,
  blocksPage,
} from '../../../projections/explorer/queries/blocks.ts';
import { stats, validatorsPage } from '../../../projections/explorer/queries/chain.ts';

import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { blockDetail, blockItem, statsBody, validatorItem } from './json.ts';
import { parseBlockId, parsePage } from './parameters.ts';
import { itemResponse, listResponse } from './responses.ts';

const BLOCKS = '/api/v1/blocks';
const VALIDATORS = '/api/v1/validators';

export function chainRoutes(reader: Reader): readonly GetRoute[] {
  return [
    {
      method: 'get',
      path: BLOCKS,
      handle: async ({ query }) => {
        const list = 'blocks';
        const page = parsePage(query, list);
        if ('refused' in page) return page;
        const rows = await reader.rows(blocksPage(page));
        return listResponse({ path: BLOCKS, page, list }, rows, blockItem);
      },
    },
    {
      method: 'get',
      path: `${BLOCKS}/:id`,
      handle: ({ params }) => {
        const block = parseBlockId(params['id']);
        if ('refused' in block) return block;
        const query = 'hash' in block ? blockByHash(block.hash) : blockByHeight(block.height);
        return itemResponse(reader, query, blockDetail, 'block');
      },
    },
    {
      method: 'get',
      path: VALIDATORS,
      handle: async ({ query }) => {
        const list = 'validators';
        const page = parsePage(query, list);
        if ('refused' in page) return page;
        const rows = await reader.rows(validatorsPage(page));
        return listResponse({ path: VALIDATORS, page, list }, rows, validatorItem);
      },
    },
    {
      method: 'get',
      path: '/api/v1/stats',
      handle: async () => ({ status: 200, body: statsBody((await reader.rows(stats()))[0]) }),
    },
  ];
}
