import { expect, test } from 'vitest';
import { deriveKey } from '../../../../infra/devnet/clt/keys.ts';
import { Sender } from '../../../../projections/chain/sender.ts';
import { toHex } from '../../../../schemas/address.ts';
import type { BlockAppended } from '../../../../schemas/chain.blocks/events.ts';
import type { NodeBlock, NodeChain } from '../../../../schemas/chain-node.ts';
import { Fault } from '../../../../services/runtime/process/errors.ts';
import { SecondNode } from '../../../../services/treasury/minting/second-node.ts';
import { ChainByHand, named, signedCall } from '../../../support/chain-by-hand.ts';
import { silentLog } from '../../../support/kafka.ts';

const KEY = deriveKey('test', 'us');
const US = Buffer.from(KEY.address.slice(2), 'hex');
const ALICE = named('alice');
const MINTED = { address: ALICE, kind: 'mint', delta: 5n, tx_index: 0 };

/** `chain.blocks`, a node that shows the same unless a test says otherwise, and mints in flight. */
class Twins {
  readonly chain = new ChainByHand();
  readonly sender = new Sender({ address: US, chain_id: 7777 });
  readonly live = new Set<number>();
  readonly asked: number[] = [];
  chain_id = 7777;
  final: number | undefined;
  fault: Fault | undefined;
  alter = (block: BlockAppended): NodeBlock => block;
  readonly second = new SecondNode({
    node: { chain: () => this.#chain(), block: (height) => this.#block(height) },
    chain_id: 7777,
    sender: () => this.sender,
    live: () => this.live,
    log: silentLog(),
  });

  /** A final block, with a Mint of this nonce. */
  grow(mint?: number): void {
    const args = { to: toHex(ALICE), amount: 5n, reference: null };
    this.chain.append(
      mint === undefined
        ? {}
        : {
            transactions: [signedCall(KEY, mint, { function_call_type: 'Mint', arguments: args })],
            effects: [MINTED],
          },
    );
    this.chain.finalize();
    for (const event of this.chain.log.slice(Number(this.sender.end)))
      this.sender.apply(event, this.sender.end);
  }

  async #chain(): Promise<NodeChain> {
    if (this.fault !== undefined) throw this.fault;
    const { height } = this.chain;
    return {
      chain_id: this.chain_id,
      is_testnet: true,
      tx_fee: 1n,
      total_supply: 1n,
      genesis_allocation: 1n,
      mint_authority: US,
      head: { height, hash: named('head', 32) },
      finalized_height: this.final ?? height,
    };
  }

  async #block(height: number): Promise<NodeBlock | undefined> {
    this.asked.push(height);
    const block = this.chain.log.find(
      (event) => event.type === 'BlockAppended' && event.height === height,
    );
    return block?.type === 'BlockAppended' ? this.alter(block) : undefined;
  }
}

test('minting waits until the second node shows the newest final block, and each is asked about once', async () => {
  const twins = new Twins();
  twins.grow();
  expect(twins.second.problem).toMatchObject({ status: 'waiting', waits_for: 'node' });
  await twins.second.ask();
  await twins.second.ask();
  expect([twins.second.problem, twins.second.agreed_height, twins.asked]).toEqual([
    undefined,
    0,
    [0],
  ]);
  twins.grow();
  await twins.second.ask();
  expect([twins.second.agreed_height, twins.asked]).toEqual([1, [0, 1]]);
});

test("a mint's outcome counts once the second node shows it, also when it is below the block agreed on", async () => {
  const twins = new Twins();
  twins.live.add(0).add(1);
  twins.grow(0);
  twins.grow();
  expect(twins.second.finalAt(0)).toBe(undefined);
  await twins.second.ask();
  expect(twins.asked).toEqual([1, 0]);
  expect(twins.second.finalAt(0)).toMatchObject({ nonce: 0, block_height: 0 });
  expect(twins.second.finalAt(1)).toBe(undefined);
  twins.grow(1);
  expect(twins.second.finalAt(1)).toBe(undefined);
  await twins.second.ask();
  expect(twins.second.finalAt(1)).toMatchObject({ nonce: 1, block_height: 2 });
});

test.each([
  ['has another hash', (block: BlockAppended) => ({ ...block, hash: named('other', 32) })],
  ['lacks the transaction', (block: BlockAppended) => ({ ...block, transactions: [] })],
  ['lacks its effect', (block: BlockAppended) => ({ ...block, balance_effects: [] })],
])(
  "a second node's block that %s halts minting and conclusions for good",
  async (_how, alter: (block: BlockAppended) => NodeBlock) => {
    const twins = new Twins();
    twins.grow();
    await twins.second.ask();
    twins.live.add(0);
    twins.grow(0);
    twins.alter = alter;
    await twins.second.ask();
    expect(twins.second.problem?.status).toBe('halted');
    expect([twins.second.disagrees, twins.second.finalAt(0)]).toEqual([true, undefined]);
    twins.alter = (block) => block;
    twins.grow();
    await twins.second.ask();
    expect(twins.second.problem?.status).toBe('halted');
  },
);

test('a second node that does not answer, or is of another chain, stops minting and conclusions until it answers', async () => {
  const twins = new Twins();
  twins.live.add(0);
  twins.grow(0);
  await twins.second.ask();
  twins.fault = new Fault('chain_node', 'no answer', { retry: true });
  twins.grow();
  await twins.second.ask();
  expect(twins.second.problem).toMatchObject({ status: 'waiting', waits_for: 'node' });
  expect(twins.second.finalAt(0)).toBe(undefined);
  twins.fault = undefined;
  twins.chain_id = 1;
  await twins.second.ask();
  expect(twins.second.problem?.status).toBe('waiting');
  twins.chain_id = 7777;
  await twins.second.ask();
  expect(twins.second.problem).toBe(undefined);
  expect(twins.second.finalAt(0)).toMatchObject({ nonce: 0 });
});

test('a second node that is a few blocks behind delays conclusions, one that is far behind stops minting, and both catch up', async () => {
  const twins = new Twins();
  twins.live.add(0);
  twins.grow();
  await twins.second.ask();
  twins.final = 0;
  twins.grow(0);
  await twins.second.ask();
  expect([twins.second.problem, twins.second.finalAt(0)]).toEqual([undefined, undefined]);
  for (let blocks = 0; blocks < 30; blocks++) twins.grow();
  await twins.second.ask();
  expect(twins.second.problem).toMatchObject({ status: 'waiting', waits_for: 'node' });
  // the block asked about first is enough to know its outcome, and the newest one follows
  twins.final = 1;
  await twins.second.ask();
  expect([twins.second.agreed_height, twins.second.problem?.status]).toEqual([1, 'waiting']);
  twins.final = undefined;
  await twins.second.ask();
  expect([twins.second.agreed_height, twins.second.problem]).toEqual([31, undefined]);
  expect(twins.second.finalAt(0)).toMatchObject({ nonce: 0, block_height: 1 });
});
