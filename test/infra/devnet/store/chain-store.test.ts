import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Block } from '../../../../infra/devnet/clt/block.ts';
import { seededRandom } from '../../../../infra/devnet/traffic/traffic.ts';
import { ChainStore } from '../../../../infra/devnet/store/chain-store.ts';
import { nextIntention } from '../../../../infra/devnet/traffic/traffic.ts';
import { BEGIN, testGenesis, transactionOf } from '../../../support/clt-world.ts';

const genesis = testGenesis();
let directory = '';
/** the newest of the copies that `killed` made */
let copy = '';

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'devnet-store-'));
});
afterEach(() => {
  fs.rmSync(directory, { recursive: true, force: true });
});

const file = (name: string): string => path.join(directory, name);

/** Blocks with a few transactions each, and now and then a reorganisation. */
function grow(
  store: ChainStore,
  blocks: number,
  reorganise: 'sometimes' | 'never' = 'sometimes',
): void {
  const { chain } = store;
  const random = seededRandom(`grow ${chain.head.height}`);
  for (let made = 0; made < blocks; made++) {
    for (let sent = 0; sent < 3; sent++) {
      const { key, call } = nextIntention(chain.state.rows, genesis.cast, random);
      chain.mempool.add(transactionOf(key.address, chain.mempool.account(key.address).nonce, call));
    }
    store.write([produced(store)]);
    const depth = chain.head.height - chain.finalized_height;
    if (reorganise === 'sometimes' && made % 7 === 6)
      store.write(chain.reorganise(1 + Math.floor(random() * depth), BEGIN, random).added);
  }
}

function produced({ chain }: ChainStore): Block {
  const assembled = chain.propose(BEGIN + chain.head.height * 1_000);
  chain.append(assembled);
  return assembled.block;
}

async function served(store: ChainStore): Promise<readonly string[]> {
  const blocks = [];
  for (let height = 0; height <= store.chain.head.height; height++)
    blocks.push((await store.read(height)).toString('utf8'));
  return blocks;
}

/** A copy of the directory as a kill at this moment would leave it. */
function killed(change: (log: string) => void = () => {}): ChainStore {
  copy = fs.mkdtempSync(path.join(directory, 'killed-'));
  for (const name of ['blocks.log', 'blocks.index', 'snapshot.json', 'authorities.json'])
    if (fs.existsSync(file(name))) fs.copyFileSync(file(name), path.join(copy, name));
  change(path.join(copy, 'blocks.log'));
  return new ChainStore(copy, genesis);
}

test('a new directory begins with the genesis block', async () => {
  const store = new ChainStore(directory, genesis);
  expect(await served(store)).toEqual([genesis.block.text]);
});

test.each([1, 20, 300, 700])(
  'a kill after %i blocks loses nothing: head, state and served blocks are the same',
  async (blocks) => {
    const store = new ChainStore(directory, genesis);
    grow(store, blocks);
    const after = killed();
    expect(after.chain.head).toMatchObject({
      height: store.chain.head.height,
      hash: store.chain.head.hash,
    });
    expect(after.chain.finalized_height).toBe(store.chain.finalized_height);
    expect(after.chain.state.rows).toEqual(store.chain.state.rows);
    expect(await served(after)).toEqual(await served(store));
  },
);

test('a kill loses neither a rotation of the mint authority nor blocks without recorded fees', () => {
  const store = new ChainStore(directory, genesis);
  const { faucet, mint_authority } = genesis.cast;
  const mint = (from: string): void => {
    const args = { to: faucet.address, amount: 5n, reference: null };
    const call = { function_call_type: 'Mint', arguments: args } as const;
    const { nonce } = store.chain.mempool.account(from);
    expect(store.chain.mempool.add(transactionOf(from, nonce, call))).toBe(undefined);
    store.write([produced(store)]);
  };
  mint(mint_authority.address);
  store.chain.hideFees(true);
  mint(mint_authority.address);
  store.chain.hideFees(false);
  store.setAuthorities([{ from_height: 3, mint_authority: faucet.address }]);
  mint(faucet.address);
  const after = killed();
  expect(after.chain.head.hash).toBe(store.chain.head.hash);
  expect(after.chain.supply()).toBe(genesis.allocation + 15n);
  expect([after.chain.mintAuthority(2), after.chain.mintAuthority(3)]).toEqual([
    mint_authority.address,
    faucet.address,
  ]);
});

test('restarts do not change the chain', async () => {
  const straight = new ChainStore(fs.mkdtempSync(path.join(directory, 'straight-')), genesis);
  for (let round = 0; round < 6; round++) {
    grow(straight, 60, 'never');
    const store = new ChainStore(directory, genesis);
    // a restart drops waiting transactions, so both begin without any
    expect(store.chain.mempool.size).toBe(0);
    grow(store, 60, 'never');
    if (round % 2 === 0) await store.close();
    expect(store.chain.head.hash).toBe(straight.chain.head.hash);
  }
});

test('a record torn at any byte is cut off and the chain continues from the block before', () => {
  const store = new ChainStore(directory, genesis);
  grow(store, 9, 'never');
  const { head, state } = store.chain;
  const rows = state.rowsBefore([]);
  const size = fs.statSync(file('blocks.log')).size;
  store.write([produced(store)]);
  const torn = fs.statSync(file('blocks.log')).size - size;
  for (let left = 0; left < torn; left += left < 10 ? 1 : 97) {
    const after = killed((log) => fs.truncateSync(log, size + left));
    expect(after.chain.head).toMatchObject({ height: head.height, hash: head.hash });
    expect(after.chain.state.rows).toEqual(rows);
    after.write([produced(after)]);
    expect(new ChainStore(copy, genesis).chain.head).toMatchObject({
      height: head.height + 1,
      hash: after.chain.head.hash,
    });
  }
});

test('a torn reorganisation has no effect', () => {
  const store = new ChainStore(directory, genesis);
  grow(store, 12, 'never');
  const { head } = store.chain;
  const size = fs.statSync(file('blocks.log')).size;
  store.write(store.chain.reorganise(5, BEGIN, seededRandom('torn')).added);
  const whole = fs.statSync(file('blocks.log')).size;
  expect(killed((log) => fs.truncateSync(log, whole - 1)).chain.head).toMatchObject({
    height: head.height,
    hash: head.hash,
  });
  expect(killed((log) => fs.truncateSync(log, size + 9)).chain.head).toMatchObject({
    height: head.height,
    hash: head.hash,
  });
  expect(killed().chain.head).toMatchObject({
    height: head.height + 1,
    hash: store.chain.head.hash,
  });
});

test('trailing zeros, as after a power loss, are cut off', () => {
  const store = new ChainStore(directory, genesis);
  grow(store, 5);
  const after = killed((log) => fs.appendFileSync(log, Buffer.alloc(5_000)));
  expect(after.chain.head).toMatchObject({
    height: store.chain.head.height,
    hash: store.chain.head.hash,
  });
});

function flipMiddleBit(log: string): void {
  const bytes = fs.readFileSync(log);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  fs.writeFileSync(log, bytes);
}

test('a changed byte in the middle stops the start with its position', () => {
  const store = new ChainStore(directory, genesis);
  grow(store, 9);
  expect(() => killed(flipMiddleBit)).toThrow(/blocks\.log is damaged at byte \d+/);
});

test('blocks made by other rules are refused', () => {
  const store = new ChainStore(directory, genesis);
  grow(store, 5);
  const other = { ...genesis, parameters: { ...genesis.parameters, tx_fee: 2_000n } };
  expect(() => new ChainStore(directory, other)).toThrow('made by other rules or settings');
});

test('a start executes only the blocks above the snapshot; without one the result is the same', async () => {
  const store = new ChainStore(directory, genesis);
  grow(store, 400);
  await store.close();
  const snapshot: { anchor: { height: number } } = JSON.parse(
    fs.readFileSync(file('snapshot.json'), 'utf8'),
  );
  expect(snapshot.anchor.height).toBe(store.chain.finalized_height);
  const end = { rows: store.chain.state.rows, head: store.chain.head.hash };

  // early blocks are not even read: they may be damaged and nobody notices
  const damaged = killed((log) => {
    const bytes = fs.readFileSync(log);
    bytes.fill(0x20, 1_000, 2_000);
    fs.writeFileSync(log, bytes);
  });
  expect({ rows: damaged.chain.state.rows, head: damaged.chain.head.hash }).toEqual(end);

  fs.rmSync(file('snapshot.json'));
  const whole = killed();
  expect({ rows: whole.chain.state.rows, head: whole.chain.head.hash }).toEqual(end);

  fs.rmSync(file('blocks.index'));
  expect(killed().chain.head.hash).toBe(end.head);
});

test('a range of blocks is limited by bytes but has at least one block', async () => {
  const store = new ChainStore(directory, genesis);
  grow(store, 10);
  expect(await store.readRange(0, 9, 1)).toHaveLength(1);
  expect(await store.readRange(0, 9, 1e9)).toHaveLength(10);
  const [first, second] = await store.readRange(3, 9, 1e9);
  expect(await store.readRange(3, 9, (first?.length ?? 0) + (second?.length ?? 0))).toHaveLength(2);
});
