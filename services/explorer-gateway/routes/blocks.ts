import {
  blockByHash,
  blockByHeight,
  blocksPage,
} from '../../../projections/explorer/queries/blocks.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import { detailAnswer } from './detail.ts';
import { blockDetail, blockItem } from './json.ts';
import { listAnswer } from './list.ts';
import { parseBlockId, parsePage } from './parameters.ts';

const LIST = 'blocks';

export function blockRoutes(reader: Reader): readonly GetRoute[] {
  return [
    {
      method: 'get',
      path: '/api/v1/blocks',
      handle: async ({ query }) => {
        const page = parsePage(query, LIST);
        if ('refused' in page) return page;
        return listAnswer(
          { path: '/api/v1/blocks', filters: {}, page, list: LIST },
          await reader.rows(blocksPage(page)),
          blockItem,
        );
      },
    },
    {
      method: 'get',
      path: '/api/v1/blocks/:id',
      handle: ({ params }) => {
        const block = parseBlockId(params['id']);
        if ('refused' in block) return block;
        return detailAnswer(
          reader,
          'hash' in block ? blockByHash(block.hash) : blockByHeight(block.height),
          blockDetail,
          'block',
        );
      },
    },
  ];
}
