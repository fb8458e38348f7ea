/**
 * The explorer's resources, field by field as the specification has them. The server of the tests
 * holds every answer against the schemas, which is why no test of an answer repeats its fields.
 */
import type { TSchema } from 'typebox';
import { expect, test } from 'vitest';
import { ACCOUNT, ACTIVITY, VALIDATOR } from '../../../schemas/explorer-api/accounts.ts';
import { BLOCK, BLOCK_DETAIL } from '../../../schemas/explorer-api/blocks.ts';
import { SEARCH_RESULTS, STATS } from '../../../schemas/explorer-api/network.ts';
import { ANSWERED, NO_TREASURY, UNREAD } from '../../../schemas/explorer-api/reserve.ts';
import { TRANSACTION, TRANSACTION_DETAIL } from '../../../schemas/explorer-api/transactions.ts';
import type { Defined } from '../../../schemas/http-api/answer.ts';
import { RESERVE_RUN } from '../../../schemas/treasury-api/reconciliation.ts';

const TRANSACTION_FIELDS = {
  hash: 'Hash',
  block_height: 'integer',
  from: 'Address',
  to: 'Address',
  amount: 'integer',
  fee: 'integer',
  status: 'confirmed',
  function_call_type: 'string',
  is_ride_related: 'boolean',
  timestamp: 'Time',
  referrer: 'Address or null',
  request_referrer_fee: 'integer',
  offer_referrer_fee: 'integer',
};
const BLOCK_FIELDS = {
  height: 'integer',
  hash: 'Hash',
  tx_count: 'integer',
  producer: 'Address',
  reward_recipient: 'Address',
  block_reward: 'integer',
  timestamp: 'Time',
};

/** Address, Hash: a string of 0x and hex; Time: a string in ISO 8601, UTC. */
test.each<readonly [string, TSchema, Readonly<Record<string, string>>]>([
  ['Block, list item', BLOCK, BLOCK_FIELDS],
  ['Block, detail', BLOCK_DETAIL, { ...BLOCK_FIELDS, parent_hash: 'Hash', total_fees: 'integer' }],
  ['Transaction, list item', TRANSACTION, TRANSACTION_FIELDS],
  [
    'Transaction, detail',
    TRANSACTION_DETAIL,
    {
      ...TRANSACTION_FIELDS,
      nonce: 'integer',
      tx_index: 'integer',
      request_referrer: 'Address or null',
      offer_referrer: 'Address or null',
    },
  ],
  [
    'Account',
    ACCOUNT,
    {
      address: 'Address',
      balance: 'integer',
      nonce: 'integer',
      tx_count: 'integer',
      activity_count: 'integer',
      is_contract: 'boolean',
    },
  ],
  [
    'Activity item',
    ACTIVITY,
    {
      address: 'Address',
      kind: 'string',
      label: 'string',
      delta: 'integer',
      direction: 'credit, debit',
      amount: 'integer',
      tx_hash: 'Hash or null',
      block_height: 'integer',
      tx_index: 'integer or null',
      function_call_type: 'string or null',
      counterparty: 'Address or null',
      timestamp: 'Time',
    },
  ],
  [
    'Validator',
    VALIDATOR,
    { address: 'Address', is_active: 'boolean', blocks_produced: 'integer', peer_id: '' },
  ],
  [
    'Search result item',
    itemOf(SEARCH_RESULTS),
    { kind: 'block, transaction, account', identifier: 'string', summary: 'string' },
  ],
  [
    'Stats',
    STATS,
    {
      latest_height: 'integer',
      tx_per_second: 'number',
      total_transactions: 'integer',
      active_validators: 'integer',
      avg_block_time_seconds: 'number',
    },
  ],
  [
    'Reserve, without a treasury',
    NO_TREASURY,
    { configured: 'false', available: 'false', cache_age_seconds: 'integer', last_run: 'null' },
  ],
  [
    'Reserve, unavailable',
    UNREAD,
    {
      configured: 'true',
      available: 'false',
      cache_age_seconds: 'integer',
      error: 'string',
      last_run: 'null',
    },
  ],
  [
    'Reserve',
    ANSWERED,
    {
      configured: 'true',
      available: 'true',
      cache_age_seconds: 'integer',
      last_run: 'ReserveRun or null',
    },
  ],
  [
    'last_run',
    RESERVE_RUN,
    {
      run_at: 'Time',
      onchain_supply: 'integer',
      genesis_allocation: 'integer',
      treasury_minted: 'integer',
      ledger_liability: 'integer',
      custody_reported: 'integer',
      status: 'ok, mismatch, over_backed_drift',
    },
  ],
])('%s has its fields in their order, with their types, all required', (_, schema, fields) => {
  const { properties = {}, required }: Defined = schema;
  // a schema may have more fields
  const types = Object.entries(properties).filter(([name]) => Object.hasOwn(fields, name));
  expect(types.map(([name, type]) => [name, typeOf(type)])).toEqual(Object.entries(fields));
  expect([schema, required]).toMatchObject([
    { type: 'object', additionalProperties: false },
    Object.keys(properties),
  ]);
});

function itemOf(list: typeof SEARCH_RESULTS): TSchema {
  return list.properties.items.items;
}

/** The name of a form of strings or of a record, the words, the constant, or the type. */
function typeOf(schema: TSchema): string {
  const {
    $id,
    type,
    const: constant,
    oneOf,
    anyOf,
    enum: words,
  }: Defined & { enum?: string[] } = schema;
  if (constant !== undefined && type !== 'integer')
    return typeof constant === 'string' ? constant : JSON.stringify(constant);
  if (words !== undefined) return words.join(', ');
  const [first, second] = oneOf ?? anyOf ?? [];
  if (first !== undefined) {
    const isNullable = Object(second).type === 'null';
    return isNullable
      ? `${typeOf(first)} or null`
      : typeOf(Object(first).enum ? { type: 'string' } : first);
  }
  const isNumber = type === 'integer' || type === 'number';
  return $id === undefined || isNumber ? String(type) : $id;
}
