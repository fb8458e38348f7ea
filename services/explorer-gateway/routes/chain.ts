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
import {
  GET_BLOCK,
  GET_BLOCK_RECORD,
  GET_STATS,
  LIST_BLOCK_EFFECTS,
  LIST_BLOCKS,
  LIST_VALIDATORS,
} from '../../../schemas/explorer-api/operations.ts';
import type { GetRoute } from '../../runtime/http/handler.ts';
import type { Reader } from '../../runtime/postgres/pool.ts';
import type { RowWriter } from '../../runtime/postgres/row-json.ts';
import {
  blockDetail,
  blockItem,
  blockRecordBody,
  effectItem,
  statsBody,
  validatorItem,
} from './json.ts';
import { pageOf } from './parameters.ts';
import { indexResponse, isFinalRow, itemResponse, listResponse } from './responses.ts';
import { served } from './served.ts';

export function chainRoutes(reader: Reader): readonly GetRoute[] {
  return [
    listRoute(reader, LIST_BLOCKS, 'blocks', blocksPage, blockItem),
    served(GET_BLOCK, ({ id }) => {
      const query = 'hash' in id ? blockByHash(id.hash) : blockByHeight(id.height);
      return itemResponse(reader, query, blockDetail, 'block', isFinalRow);
    }),
    served(GET_BLOCK_RECORD, ({ id }) =>
      itemResponse(reader, blockRecord(id), blockRecordBody, 'block', isFinalRow),
    ),
    served(LIST_BLOCK_EFFECTS, async ({ id: block, ...values }) => {
      const id = 'hash' in block ? toHex(block.hash) : String(block.height);
      const list = `effects of block ${id}`;
      const page = pageOf(values, list);
      if ('refused' in page) return page;
      const path = `/api/v1/blocks/${id}/effects`;
      const rows = await reader.rows(blockEffectsPage(block, page));
      return listResponse({ path, page, list }, rows, effectItem);
    }),
    listRoute(reader, LIST_VALIDATORS, 'validators', validatorsPage, validatorItem),
    served(GET_STATS, async () => indexResponse(statsBody((await reader.rows(stats()))[0]))),
  ];
}

/** `list` names the list for its cursors. */
function listRoute(
  reader: Reader,
  operation: typeof LIST_BLOCKS,
  list: string,
  query: (page: Page) => Query,
  toJson: RowWriter,
): GetRoute {
  const { path } = operation;
  return served(operation, async (values) => {
    const page = pageOf(values, list);
    if ('refused' in page) return page;
    return listResponse({ path, page, list }, await reader.rows(query(page)), toJson);
  });
}
