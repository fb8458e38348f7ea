import assert from 'node:assert/strict';
import { parseAccount, parseBlock, parseBlocks, parseChain } from '../../../schemas/chain-node.ts';
import { parsePin, pinText } from '../../../schemas/schema.ids/pin.ts';
import { CHAIN_BLOCKS } from '../../../schemas/topics.ts';
import { readSchemas } from '../../../services/runtime/kafka/avro-schemas.ts';
import { codecOf } from '../../../services/runtime/kafka/codec.ts';
import { SchemaRegistry } from '../../../services/runtime/kafka/schema-registry.ts';

export const about =
  "the node's JSON: a value or a problem, and a block that parses is written and read";

const schemas = await readSchemas([CHAIN_BLOCKS]);
const registry = new SchemaRegistry({ registry_url: 'http://127.0.0.1:1' });
const codec = codecOf(
  registry,
  schemas,
  schemas.map((_, at) => at + 1),
);

const address = `0x${'ab'.repeat(20)}`;
const hash = `0x${'cd'.repeat(32)}`;
const transaction = {
  hash,
  index: 0,
  from: address,
  to: address,
  nonce: 7,
  amount: '5',
  function_call_type: 'RideRequest',
  arguments: { pickup_lat: '52.5', referrer: null },
  referrer: null,
  request_referrer: address,
  offer_referrer: null,
  request_referrer_fee: '1',
  offer_referrer_fee: '0',
  raw: '0xc0',
};
const block = {
  height: 5,
  hash,
  parent_hash: hash,
  timestamp: 1_700_000_000_123,
  producer: address,
  reward_recipient: address,
  block_reward: '50000',
  transactions: [transaction],
  balance_effects: [
    { address, kind: 'tx_fee_paid', delta: '-1000', tx_index: 0, counterparty: address },
    { address, kind: 'block_reward', delta: '9', tx_index: null, counterparty: null },
  ],
};

export const seeds = [
  block,
  { blocks: [block, { ...block, height: 6 }] },
  { address, balance: '1', nonce: 0, pending_nonce: 1 },
  {
    chain_id: 1,
    is_testnet: true,
    tx_fee: '1',
    total_supply: '9',
    genesis_allocation: '0',
    mint_authority: address,
    head: { height: 3, hash },
    finalized_height: 0,
  },
  { id: 1, subject: 'a', schema: '"int"' },
].map((json) => JSON.stringify(json));

function argumentsOf({ arguments: values }: { readonly arguments: object }): unknown {
  return Object.entries(values);
}

export function fuzz(bytes: Buffer): void {
  const text = bytes.toString();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return;
  }
  for (const answer of [parseChain(json), parseAccount(json), parseBlocks(json)])
    if ('problem' in answer) assert.ok(answer.problem !== '' && answer.problem.length < 500);
  const parsed = parseBlock(json);
  if ('value' in parsed) {
    const event = { type: 'BlockAppended', sequence: 1, ...parsed.value };
    const written = codec.encode(event);
    const read = codec.decode(written);
    assert.deepEqual(codec.encode(read), written);
    const { transactions }: { readonly transactions: typeof event.transactions } = Object(read);
    assert.deepEqual(transactions.map(argumentsOf), event.transactions.map(argumentsOf));
  }
  let pin;
  try {
    pin = parsePin(text);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return;
  }
  assert.deepEqual(parsePin(pinText(pin)), pin);
}
