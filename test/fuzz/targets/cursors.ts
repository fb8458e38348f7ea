import assert from 'node:assert/strict';
import { parse } from 'node:querystring';
import * as operations from '../../../schemas/explorer-api/operations.ts';
import type { Operation } from '../../../schemas/http-api/document.ts';
import { isRefused, readParts, readQuery } from '../../../schemas/http-api/parameters.ts';
import { pageOf, rangeOf } from '../../../services/explorer-gateway/routes/parameters.ts';
import { decodeCursor, encodeCursor } from '../../../services/explorer-gateway/routes/responses.ts';

export const about =
  'query strings and cursors of the explorer: a value, or a refusal that repeats nothing';

const { EXPORT_ACTIVITY, EXPORT_TRANSACTIONS, SERVICE_OPERATIONS, ...others } = operations;
const OPERATIONS: readonly Operation[] = [
  ...Object.values(others),
  EXPORT_ACTIVITY.ndjson,
  EXPORT_TRANSACTIONS.ndjson,
  ...SERVICE_OPERATIONS,
];
const LIST = 'blocks';
const address = 'ab'.repeat(20);

export const seeds = [
  encodeCursor(LIST, 2n ** 63n - 1n),
  `limit=5&cursor=${encodeCursor(LIST, 7n)}`,
  `limit=100&offset=12&address=0x${address}&block=5&type=Transfer&status=confirmed`,
  'kind=tx_fee_paid&direction=credit&limit=1',
  'by=day&from=2026-03-01&to=2026-03-02T12:00:00.5Z&limit=1000',
  'points=500&height=7&amounts=string&q=0xab',
  'from_height=1&to_height=2',
  'cd'.repeat(32),
];
export const words =
  'limit= offset= cursor= address= block= type= status= kind= direction= by= from= to= points= height= amounts= q= from_height= to_height= & [] %00 %ff + credit debit hour day'.split(
    ' ',
  );

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString();
  const ordinal = decodeCursor(LIST, text);
  if (ordinal !== undefined) assert.equal(encodeCursor(LIST, ordinal), text);
  const query = parse(text);
  const values = Object.values(query)
    .flat()
    .filter((value) => typeof value === 'string');
  const answers = OPERATIONS.flatMap(({ parameters }): readonly object[] => [
    readQuery(
      query,
      parameters.filter((each) => each.in === 'query'),
    ),
    readParts(
      { id: text, hash: text, address: text },
      parameters.filter((each) => each.in === 'path'),
    ),
  ]);
  for (const answer of answers) {
    if (!('refused' in answer)) continue;
    const message = 'message' in answer ? String(answer.message) : '';
    assert.ok(message !== '' && message.length < 200);
    for (const value of values) assert.ok(value.length < 20 || !message.includes(value));
  }
  const given = readQuery(query, operations.LIST_BLOCKS.parameters);
  const page = isRefused(given) ? given : pageOf(given, LIST);
  if ('limit' in page) assert.ok(page.limit >= 1 && page.limit <= 100);
  const asked = readQuery(query, operations.GET_SERIES.parameters);
  const range = isRefused(asked) ? asked : rangeOf(asked);
  if ('from' in range) assert.ok(range.from <= range.to && Number.isSafeInteger(range.to));
}
