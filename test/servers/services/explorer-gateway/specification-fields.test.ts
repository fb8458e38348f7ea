/** The specification of the explorer by resource: each field with its type and value. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toHex } from '../../../../schemas/address.ts';
import { activityLabel } from '../../../../services/explorer-gateway/routes/json.ts';
import {
  plainAccount,
  plainActivity,
  plainBalance,
  plainBlock,
  plainBlocks,
  plainTransaction,
  plainTransactions,
  plainValidators,
} from '../../../projections/explorer/plain-answers.ts';
import { POOL } from '../../../projections/explorer/seeded-effects.ts';
import {
  asked,
  CHAIN,
  exact,
  integer,
  IS,
  listed,
  openSpecified,
  TRANSACTIONS,
  type Exact,
  type ExactObject,
  type Fields,
} from './specified.ts';
import type { ExplorerServer } from '../../../services/explorer-gateway/explorer-server.ts';

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
const address = toHex(transaction.from);
const recipients = CHAIN.flatMap(({ effects }) => effects.map((effect) => effect.address));
const rich =
  recipients.find((each) => plainBalance(CHAIN, each, CHAIN.length) > 10n ** 20n) ?? POOL;

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

interface Resource {
  readonly name: string;
  readonly fields: Fields;
  /** as the explorer shows it */
  readonly shown: () => Promise<ExactObject>;
  /** as it follows from the chain */
  readonly wanted: () => ExactObject;
}

function itemOf(body: string, at = 0): ExactObject {
  const { items } = exact(body);
  const item: Exact | undefined = Array.isArray(items) ? items[at] : undefined;
  if (typeof item !== 'object' || item === null || Array.isArray(item))
    throw new Error('no such item');
  return Object.fromEntries(Object.entries(item));
}

async function firstOf(path: string): Promise<ExactObject> {
  return (await listed(explorer, path))[0] ?? {};
}

const RESOURCES: readonly Resource[] = [
  {
    name: 'Block, list item',
    fields: BLOCK,
    shown: () => firstOf(`/api/v1/blocks?offset=${CHAIN.length - 1 - block.height}`),
    wanted: () => itemOf(plainBlocks(CHAIN, 1, BigInt(CHAIN.length - 1 - block.height))),
  },
  {
    name: 'Block, detail',
    fields: [...BLOCK, ['parent_hash', 'string, 0x hex'], ['total_fees', 'integer']],
    shown: () => asked(explorer, `/api/v1/blocks/${block.height}`),
    wanted: () => exact(plainBlock(block)),
  },
  {
    name: 'Transaction, list item',
    fields: TRANSACTION,
    shown: () => firstOf('/api/v1/transactions?offset=5'),
    wanted: () => itemOf(plainTransactions(CHAIN, {}, 1, 5n)),
  },
  {
    name: 'Transaction, detail',
    fields: [
      ...TRANSACTION,
      ['nonce', 'integer'],
      ['tx_index', 'integer'],
      ['request_referrer', 'string or null'],
      ['offer_referrer', 'string or null'],
    ],
    shown: () => asked(explorer, `/api/v1/transactions/${toHex(transaction.hash)}`),
    wanted: () => exact(plainTransaction(transaction)),
  },
  {
    name: 'Account',
    fields: [
      ['address', 'string, address'],
      ['balance', 'integer'],
      ['nonce', 'integer'],
      ['tx_count', 'integer'],
      ['activity_count', 'integer'],
      ['is_contract', 'boolean'],
    ],
    shown: () => asked(explorer, `/api/v1/accounts/${address}`),
    wanted: () => exact(plainAccount(CHAIN, transaction.from)),
  },
  {
    name: 'Activity item',
    fields: [
      ['address', 'string, address'],
      ['kind', 'string'],
      ['label', 'string'],
      ['delta', 'integer'],
      ['direction', 'string'],
      ['amount', 'integer'],
      ['tx_hash', 'string or null'],
      ['block_height', 'integer'],
      ['tx_index', 'integer'],
      ['function_call_type', 'string or null'],
      ['counterparty', 'string or null'],
      ['timestamp', 'string, ISO 8601 UTC'],
    ],
    shown: async () =>
      ofTransaction(await listed(explorer, `/api/v1/accounts/${address}/activity?limit=100`)),
    wanted: () =>
      ofTransaction(itemsOf(plainActivity(CHAIN, transaction.from, activityLabel, 100))),
  },
  {
    name: 'Validator',
    fields: [
      ['address', 'string, address'],
      ['is_active', 'boolean'],
      ['blocks_produced', 'integer'],
      ['peer_id', 'string'],
    ],
    shown: () => firstOf('/api/v1/validators'),
    wanted: () => itemOf(plainValidators(CHAIN)),
  },
  {
    name: 'Search result item',
    fields: [
      ['kind', 'string'],
      ['identifier', 'string'],
      ['summary', 'string'],
    ],
    shown: () => firstOf(`/api/v1/search?q=${toHex(transaction.hash)}`),
    wanted: () => ({
      kind: 'transaction',
      identifier: toHex(transaction.hash),
      summary:
        `${transaction.type} of ${transaction.amount} from ${address} to ${toHex(transaction.to)}` +
        ` in block ${transaction.block_height} at ${new Date(transaction.timestamp).toISOString()}`,
    }),
  },
];

function itemsOf(body: string): readonly ExactObject[] {
  const { items } = exact(body);
  return Array.isArray(items) ? items : [];
}

function ofTransaction(items: readonly ExactObject[]): ExactObject {
  return items.find(({ tx_hash: hash, direction }) => hash !== null && direction === 'debit') ?? {};
}

describe.each(RESOURCES)('$name', ({ fields, shown, wanted }) => {
  let resource: ExactObject;
  beforeAll(async () => {
    resource = await shown();
  });

  test.each(fields)('%s: %s', (field, type) => {
    expect({ type, fits: IS[type](resource[field]), value: resource[field] }).toEqual({
      type,
      fits: true,
      value: wanted()[field],
    });
  });

  test('these fields in this order, and no other', () => {
    expect(Object.keys(resource)).toEqual(fields.map(([field]) => field));
  });
});

test('Transaction, status: always confirmed', async () => {
  const statuses = new Set(
    (await listed(explorer, '/api/v1/transactions?limit=100')).map(({ status }) => status),
  );
  expect([...statuses]).toEqual(['confirmed']);
});

test('Transaction, is_ride_related: of every call that belongs to a ride, and of no other', async () => {
  const shown = await listed(explorer, '/api/v1/transactions?limit=100');
  expect(new Set(shown.map(({ is_ride_related: isRide }) => isRide)).size).toBe(2);
  for (const { function_call_type: type, is_ride_related: isRide } of shown)
    expect({ type, isRide }).toEqual({
      type,
      isRide: typeof type === 'string' && type.startsWith('Ride'),
    });
});

test('Activity item, direction: credit for what came, debit for what went, amount is the delta without its sign', async () => {
  const shown = await listed(explorer, `/api/v1/accounts/${address}/activity?limit=100`);
  expect(new Set(shown.map(({ direction }) => direction))).toEqual(new Set(['credit', 'debit']));
  for (const { delta, direction, amount } of shown) {
    const moved = integer(delta);
    expect([direction, amount]).toEqual(moved < 0n ? ['debit', -moved] : ['credit', moved]);
  }
});

test('Activity item of the block itself: tx_hash, tx_index, function_call_type and counterparty are null', async () => {
  const shown = await listed(explorer, `/api/v1/accounts/${toHex(POOL)}/activity?limit=100`);
  const rewards = shown.filter(({ kind }) => kind === 'block_reward');
  expect(rewards.length).toBeGreaterThan(10);
  for (const reward of rewards)
    expect(reward).toMatchObject({
      tx_hash: null,
      tx_index: null,
      function_call_type: null,
      counterparty: null,
    });
});

test('Validator, peer_id: always the empty string', async () => {
  const shown = await listed(explorer, '/api/v1/validators?limit=100');
  expect(shown.map(({ peer_id: peer }) => peer)).toEqual(shown.map(() => ''));
});

/** How far down its first activity is. */
function oldest(of: Buffer): bigint {
  return integer(exact(plainAccount(CHAIN, of))['activity_count']) - 1n;
}

test.each([
  ['block_reward', () => `/api/v1/blocks/${block.height}`, block.block_reward],
  ['amount', () => `/api/v1/transactions/${toHex(transaction.hash)}`, transaction.amount],
  ['balance', () => `/api/v1/accounts/${toHex(rich)}`, plainBalance(CHAIN, rich, CHAIN.length)],
  [
    'delta',
    () => `/api/v1/accounts/${toHex(rich)}/activity?limit=1&offset=${oldest(rich)}`,
    10n ** 30n,
  ],
] as const)('an integer beyond 2^53 has every digit: %s', async (field, path, wanted) => {
  expect(wanted).toBeGreaterThan(2n ** 53n);
  expect((await explorer.get(path())).text).toContain(`"${field}":${wanted}`);
});
