/** Blocks, validators and the figures of the whole chain. */
import {
  blockByHash,
  blockByHeight,
  blockRecord,
  blocksPage,
} from '../../../projections/explorer/queries/blocks.ts';
import { blockEffectsPage } from '../../../projections/explorer/queries/effects.ts';
import { stats, validatorsPage } from '../../../projections/explorer/queries/chain.ts';
import type { Page, Query } from '../../../projections/contract/page.ts';
import { toHex } from '../../../schemas/address.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Cells, Reader } from '../../runtime/postgres/pool.ts';
import {
  blockDetail,
  blockItem,
  blockRecordBody,
  effectItem,
  statsBody,
  validatorItem,
} from './json.ts';
import { parseBlockId, parsePage } from './parameters.ts';
import { indexResponse, isFinalRow, itemResponse, listResponse } from './responses.ts';

export function chainRoutes(reader: Reader): readonly GetRoute[] {
  return [
    listRoute(reader, 'blocks', blocksPage, blockItem),
    {
      method: 'get',
      path: '/api/v1/blocks/:id',
      handle: ({ params }) => {
        const block = parseBlockId(params['id']);
        if ('refused' in block) return block;
        const query = 'hash' in block ? blockByHash(block.hash) : blockByHeight(block.height);
        return itemResponse(reader, query, blockDetail, 'block', isFinalRow);
      },
    },
    {
      method: 'get',
      path: '/api/v1/blocks/:id/record',
      handle: ({ params }) => {
        const block = parseBlockId(params['id']);
        if ('refused' in block) return block;
        return itemResponse(reader, blockRecord(block), blockRecordBody, 'block', isFinalRow);
      },
    },
    {
      method: 'get',
      path: '/api/v1/blocks/:id/effects',
      handle: async ({ params, query }) => {
        const block = parseBlockId(params['id']);
        if ('refused' in block) return block;
        const id = 'hash' in block ? toHex(block.hash) : String(block.height);
        const list = `effects of block ${id}`;
        const page = parsePage(query, list);
        if ('refused' in page) return page;
        const path = `/api/v1/blocks/${id}/effects`;
        const rows = await reader.rows(blockEffectsPage(block, page));
        return listResponse({ path, page, list }, rows, effectItem);
      },
    },
    listRoute(reader, 'validators', validatorsPage, validatorItem),
    {
      method: 'get',
      path: '/api/v1/stats',
      handle: async () => indexResponse(statsBody((await reader.rows(stats()))[0])),
    },
  ];
}

/** `list` names the path, and the list for its cursors. */
function listRoute(
  reader: Reader,
  list: string,
  query: (page: Page) => Query,
  toJson: (cells: Cells) => string,
): GetRoute {
  const path = `/api/v1/${list}`;
  return {
    method: 'get',
    path,
    handle: async (request) => {
      const page = parsePage(request.query, list);
      if ('refused' in page) return page;
      return listResponse({ path, page, list }, await reader.rows(query(page)), toJson);
    },
  };
}
