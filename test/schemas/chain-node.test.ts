import { expect, test } from 'vitest';
import type { NodeBlock, Wire } from '../../schemas/chain-node.ts';
import { parseAccount, parseBlock, parseBlocks, parseChain } from '../../schemas/chain-node.ts';

const ADDRESS = `0x${'ab'.repeat(20)}`;
const HASH = `0x${'cd'.repeat(32)}`;

const TRANSACTION: Wire<NodeBlock>['transactions'][number] = {
  hash: HASH,
  index: 0,
  from: ADDRESS,
  to: ADDRESS,
  nonce: 7,
  amount: '115792089237316195423570985008687907853269984665640564039457584007913129639935',
  function_call_type: 'RideRequest',
  arguments: { pickup_lat: '52.5', referrer: null },
  referrer: null,
  request_referrer: ADDRESS,
  offer_referrer: null,
  request_referrer_fee: '1',
  offer_referrer_fee: '0',
  raw: '0xc0',
};

const BLOCK: Wire<NodeBlock> = {
  height: 5,
  hash: HASH,
  parent_hash: `0x${'00'.repeat(32)}`,
  timestamp: 1_700_000_000_123,
  producer: ADDRESS,
  reward_recipient: ADDRESS,
  block_reward: '50000',
  transactions: [TRANSACTION],
  balance_effects: [
    { address: ADDRESS, kind: 'tx_fee_paid', delta: '-1000', tx_index: 0, counterparty: ADDRESS },
    {
      address: ADDRESS,
      kind: 'block_reward',
      delta: '9007199254740993',
      tx_index: null,
      counterparty: null,
    },
  ],
};

const CHAIN = {
  chain_id: 7777,
  is_testnet: true,
  tx_fee: '1000',
  total_supply: '9007199254740993',
  genesis_allocation: '0',
  mint_authority: ADDRESS,
  head: { height: 3, hash: HASH },
  finalized_height: 0,
};

/** The same JSON with one place changed; the place is a path like transactions[0].hash. */
function changed(json: unknown, path: string, value: unknown): unknown {
  const copy: unknown = structuredClone(json);
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '');
  let at: unknown = copy;
  for (const step of steps.slice(0, -1)) at = Reflect.get(Object(at), step);
  if (!Reflect.set(Object(at), steps.at(-1) ?? '', value)) throw new Error(`${path} cannot be set`);
  return copy;
}

test('a block is parsed into bytes and bigints', () => {
  const parsed = parseBlock(JSON.parse(JSON.stringify(BLOCK)));
  expect(parsed).toMatchObject({
    value: {
      height: 5,
      hash: Buffer.alloc(32, 0xcd),
      parent_hash: Buffer.alloc(32),
      block_reward: 50_000n,
      transactions: [
        {
          nonce: 7,
          amount: (1n << 256n) - 1n,
          arguments: { pickup_lat: '52.5', referrer: null },
          referrer: null,
          raw: Buffer.of(0xc0),
        },
      ],
      balance_effects: [
        { delta: -1_000n, tx_index: 0 },
        { delta: 9_007_199_254_740_993n, tx_index: null, counterparty: null },
      ],
    },
  });
});

test.each([
  ['height', -1],
  ['height', 1.5],
  ['height', '5'],
  ['height', 2 ** 53],
  ['hash', HASH.toUpperCase()],
  ['hash', HASH.slice(2)],
  ['hash', `${HASH}00`],
  ['parent_hash', null],
  ['timestamp', '2026-01-01T00:00:00Z'],
  ['producer', HASH],
  ['block_reward', 50_000],
  ['block_reward', '-1'],
  ['block_reward', '01'],
  ['transactions', {}],
  ['transactions[0]', null],
  ['transactions[0].index', 1],
  ['transactions[0].amount', '1e3'],
  ['transactions[0].amount', '1'.repeat(79)],
  ['transactions[0].function_call_type', 'not a name'],
  ['transactions[0].arguments', []],
  ['transactions[0].arguments.pickup_lat', 52.5],
  ['transactions[0].referrer', ''],
  ['transactions[0].raw', '0x'],
  ['transactions[0].raw', '0xabc'],
  ['balance_effects[1].delta', '-0'],
  ['balance_effects[1].delta', '+1'],
  ['balance_effects[0].tx_index', 1],
  ['balance_effects[1].kind', 3],
  ['balance_effects[1].counterparty', undefined],
])('the problem of a block whose %s is %j names the field', (path, value) => {
  const parsed = parseBlock(changed(BLOCK, path, value));
  expect(parsed).toHaveProperty('problem');
  expect('problem' in parsed && parsed.problem.startsWith(path)).toBe(true);
  expect('problem' in parsed && parsed.problem).toContain('expected');
});

test.each([[null], [[]], ['text'], [3], [undefined]])('%j is not a block', (json) => {
  expect(parseBlock(json)).toHaveProperty('problem');
});

function named(name: string): unknown {
  return JSON.parse(JSON.stringify(BLOCK).replace('"pickup_lat":"52.5"', `"${name}":"x"`));
}

test('an argument may be named constructor, but not __proto__', () => {
  const parsed = parseBlock(named('constructor'));
  const args = 'value' in parsed ? parsed.value.transactions[0]?.arguments : undefined;
  expect(Object.entries(args ?? {})).toContainEqual(['constructor', 'x']);
  expect(parseBlock(named('__proto__'))).toEqual({
    problem: 'transactions[0].arguments.(a field): expected a name of letters, digits and _',
  });
});

test('half of a pair of surrogates in an argument becomes the character for what is unknown', () => {
  const parsed = parseBlock(changed(BLOCK, 'transactions[0].arguments.pickup_lat', 'a\udcdc'));
  const args = 'value' in parsed ? parsed.value.transactions[0]?.arguments : undefined;
  expect(args).toEqual({ pickup_lat: 'a\ufffd', referrer: null });
});

test('a count above the maximum of Avro is a problem', () => {
  expect(parseBlock({ ...BLOCK, timestamp: Number.MAX_SAFE_INTEGER - 1 })).toHaveProperty('value');
  expect(parseBlock({ ...BLOCK, timestamp: Number.MAX_SAFE_INTEGER })).toEqual({
    problem: 'timestamp: expected an integer from 0 to 2^53 - 2',
  });
});

test('each block of a list must be the parent of the next', () => {
  const next = { ...BLOCK, height: 6, parent_hash: HASH };
  expect(parseBlocks({ blocks: [] })).toEqual({ value: [] });
  expect(parseBlocks({ blocks: [BLOCK, next] })).toHaveProperty('value');
  expect(parseBlocks({ blocks: [BLOCK, { ...next, height: 7 }] })).toEqual({
    problem: 'blocks[1].height: expected 6',
  });
  expect(
    parseBlocks({ blocks: [BLOCK, { ...next, parent_hash: BLOCK.parent_hash }] }),
  ).toHaveProperty('problem');
  expect(parseBlocks({ blocks: [BLOCK, changed(next, 'transactions[0].from', 'x')] })).toEqual({
    problem: 'blocks[1].transactions[0].from: expected 0x and 40 lower-case hex digits',
  });
});

test('the chain and an account are parsed, and a problem names the field', () => {
  expect(parseChain(CHAIN)).toMatchObject({
    value: {
      chain_id: 7777,
      tx_fee: 1_000n,
      total_supply: 9_007_199_254_740_993n,
      head: { height: 3 },
    },
  });
  expect(parseChain(changed(CHAIN, 'head.hash', 'x'))).toEqual({
    problem: 'head.hash: expected 0x and 64 lower-case hex digits',
  });
  expect(parseChain(changed(CHAIN, 'is_testnet', 'true'))).toEqual({
    problem: 'is_testnet: expected true or false',
  });
  expect(
    parseAccount({ address: ADDRESS, balance: '5', nonce: 1, pending_nonce: 2 }),
  ).toMatchObject({
    value: { balance: 5n, pending_nonce: 2 },
  });
  expect(parseAccount({ address: ADDRESS, balance: 5, nonce: 1, pending_nonce: 2 })).toHaveProperty(
    'problem',
  );
});
