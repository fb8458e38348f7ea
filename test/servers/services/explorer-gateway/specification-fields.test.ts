/**
 * The specification of the explorer by resource: its fields in their order, with their types. The
 * tests of the endpoints compare whole bodies, and hold the values.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { plainAccount, plainBalance } from '../../../projections/explorer/plain-answers.ts';
import { POOL } from '../../../projections/explorer/seeded-effects.ts';
import type { ExplorerServer } from '../../../services/explorer-gateway/explorer-server.ts';
import {
  asked,
  CHAIN,
  exact,
  integer,
  IS,
  listed,
  openSpecified,
  TRANSACTIONS,
  type Fields,
} from './specified.ts';

const block =
  CHAIN.findLast(
    ({ block_reward: reward, transactions }) => reward > 2n ** 53n && transactions.length > 2,
  ) ?? CHAIN[0];
const transaction = TRANSACTIONS.findLast(
  (each) =>
    each.amount > 2n ** 53n &&
    each.referrer !== null &&
    each.request_referrer !== null &&
    each.offer_referrer === null,
);
if (block === undefined || transaction === undefined)
  throw new Error('the chain has none that shows everything');
const blockPath = `/api/v1/blocks/${block.height}`;
const transactionPath = `/api/v1/transactions/${toHex(transaction.hash)}`;
const accountPath = `/api/v1/accounts/${toHex(transaction.from)}`;
const recipients = CHAIN.flatMap(({ effects }) => effects.map((effect) => effect.address));
const rich =
  recipients.find((each) => plainBalance(CHAIN, each, CHAIN.length) > 10n ** 20n) ?? POOL;
const richPath = `/api/v1/accounts/${toHex(rich)}`;

let explorer: ExplorerServer;
beforeAll(async () => {
  explorer = await openSpecified();
});
afterAll(() => explorer.close());

const BLOCK: Fields = [
  ['height', 'integer'],
  ['hash', 'string, 0x hex'],
  ['tx_count', 'integer'],
  ['producer', 'string, address'],
  ['reward_recipient', 'string, address'],
  ['block_reward', 'integer'],
  ['timestamp', 'string, ISO 8601 UTC'],
];
const TRANSACTION: Fields = [
  ['hash', 'string, 0x hex'],
  ['block_height', 'integer'],
  ['from', 'string, address'],
  ['to', 'string, address'],
  ['amount', 'integer'],
  ['fee', 'integer'],
  ['status', 'string'],
  ['function_call_type', 'string'],
  ['is_ride_related', 'boolean'],
  ['timestamp', 'string, ISO 8601 UTC'],
  ['referrer', 'string or null'],
  ['request_referrer_fee', 'integer'],
  ['offer_referrer_fee', 'integer'],
];

/** A path that ends in `[]` is that of a list; each of its items is looked at. */
const RESOURCES: readonly (readonly [name: string, path: string, fields: Fields])[] = [
  ['Block, list item', '/api/v1/blocks?limit=100[]', BLOCK],
  [
    'Block, detail',
    blockPath,
    [...BLOCK, ['parent_hash', 'string, 0x hex'], ['total_fees', 'integer']],
  ],
  ['Transaction, list item', '/api/v1/transactions?limit=100[]', TRANSACTION],
  [
    'Transaction, detail',
    transactionPath,
    [
      ...TRANSACTION,
      ['nonce', 'integer'],
      ['tx_index', 'integer'],
      ['request_referrer', 'string or null'],
      ['offer_referrer', 'string or null'],
    ],
  ],
  [
    'Account',
    accountPath,
    [
      ['address', 'string, address'],
      ['balance', 'integer'],
      ['nonce', 'integer'],
      ['tx_count', 'integer'],
      ['activity_count', 'integer'],
      ['is_contract', 'boolean'],
    ],
  ],
  [
    'Activity item',
    `${accountPath}/activity?limit=100[]`,
    [
      ['address', 'string, address'],
      ['kind', 'string'],
      ['label', 'string'],
      ['delta', 'integer'],
      ['direction', 'string'],
      ['amount', 'integer'],
      ['tx_hash', 'string or null'],
      ['block_height', 'integer'],
      ['tx_index', 'integer or null'],
      ['function_call_type', 'string or null'],
      ['counterparty', 'string or null'],
      ['timestamp', 'string, ISO 8601 UTC'],
    ],
  ],
  [
    'Validator',
    '/api/v1/validators[]',
    [
      ['address', 'string, address'],
      ['is_active', 'boolean'],
      ['blocks_produced', 'integer'],
      ['peer_id', 'string'],
    ],
  ],
  [
    'Search result item',
    `/api/v1/search?q=${toHex(transaction.hash)}[]`,
    [
      ['kind', 'string'],
      ['identifier', 'string'],
      ['summary', 'string'],
    ],
  ],
];

test.each(RESOURCES)('%s: its fields in their order, with their types', async (_, path, fields) => {
  const isList = path.endsWith('[]');
  const items = isList ? await listed(explorer, path.slice(0, -2)) : [await asked(explorer, path)];
  expect(items.length).toBeGreaterThan(0);
  const names = fields.map(([name]) => name);
  for (const item of items) {
    expect(Object.keys(item).filter((name) => names.includes(name))).toEqual(names);
    const misfits = fields.filter(([name, type]) => !IS[type](item[name]));
    expect({ misfits, item }).toEqual({ misfits: [], item });
  }
});

/** How far down its first activity is. */
function oldest(of: Buffer): bigint {
  return integer(exact(plainAccount(CHAIN, of))['activity_count']) - 1n;
}

test.each([
  ['block_reward', () => blockPath, block.block_reward],
  ['amount', () => transactionPath, transaction.amount],
  ['balance', () => richPath, plainBalance(CHAIN, rich, CHAIN.length)],
  ['delta', () => `${richPath}/activity?limit=1&offset=${oldest(rich)}`, 10n ** 30n],
] as const)('an integer beyond 2^53 has every digit: %s', async (field, path, wanted) => {
  expect(wanted).toBeGreaterThan(2n ** 53n);
  expect((await explorer.get(path())).text).toContain(`"${field}":${wanted}`);
});
