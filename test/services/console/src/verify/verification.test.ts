import { keccak256 } from 'ethers';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { toHex } from '../../../../../schemas/address.ts';
import type { NodeBlock } from '../../../../../schemas/chain-node.ts';
import type { BlockTransaction } from '../../../../../schemas/chain.blocks/events.ts';
import type { RecordedRun } from '../../../../../schemas/explorer-api/reserve.ts';
import { transactionHash } from '../../../../../schemas/raw-transaction.ts';
import { encodeInteger, encodeRlp } from '../../../../../schemas/rlp.ts';
import {
  Verification,
  type Claim,
  type Step,
} from '../../../../../services/console/src/verify/verification.ts';
import {
  ALICE,
  AUTHORITY,
  BOB,
  bytes,
  created,
  HEALTHY,
  mint,
  RUN,
  USD,
} from '../../verified-run.ts';

function claimOf(run: Partial<RecordedRun> = {}, known: Partial<Claim> = {}): Claim {
  return {
    run: { ...RUN, ...run },
    chain_id: 7777,
    mint_authority: AUTHORITY.address,
    tolerance: String(USD),
    ...known,
  };
}

function verified(claim: Claim, blocks: readonly NodeBlock[]): readonly Step[] {
  const verification = new Verification(claim);
  for (const block of blocks) if (!verification.isDone) verification.take(block);
  return verification.steps(true);
}

function statesOf(steps: readonly Step[]): Readonly<Record<string, string>> {
  return Object.fromEntries(steps.map(({ name, state }) => [name, state]));
}

/** The first step that is red. */
function failing(steps: readonly Step[]): Step | undefined {
  return steps.find(({ state }) => state === 'bad');
}

/** The healthy chain with another block at this height. */
function withBlock(height: number, change: (block: NodeBlock) => NodeBlock): NodeBlock[] {
  return HEALTHY.map((block) => (block.height === height ? change(block) : block));
}

const ALL_GOOD = {
  blocks: 'good',
  transactions: 'good',
  effects: 'good',
  mints: 'good',
  supply: 'good',
  liability: 'good',
  verdict: 'good',
};

test('a healthy run has a tick at each step, with the figures of the chain', () => {
  const steps = verified(claimOf(), HEALTHY);
  expect(statesOf(steps)).toEqual(ALL_GOOD);
  const figures = Object.fromEntries(steps.flatMap((step) => step.figures));
  expect(figures).toEqual({
    blocks: 4,
    blockHash: toHex(HEALTHY[3]?.hash ?? Buffer.alloc(0)),
    transactions: 4,
    addresses: 2,
    chain: '7777',
    genesis: 1_000n * USD,
    burned: 5n * USD,
    mints: 2,
    minted: 120n * USD,
    authority: AUTHORITY.address,
    supply: 1_115n * USD,
    liability: 115n * USD,
    custody: 127n * USD + USD / 2n,
    surplus: USD / 2n,
    status: 'ok',
  });
});

test('while blocks are read, counts grow and no step that needs the last block has a tick', () => {
  const verification = new Verification(claimOf());
  for (const block of HEALTHY.slice(0, 2)) verification.take(block);
  const running = {
    blocks: 'running',
    transactions: 'running',
    effects: 'running',
    mints: 'running',
    supply: 'waiting',
    liability: 'waiting',
    verdict: 'waiting',
  };
  expect(statesOf(verification.steps())).toEqual(running);
  expect(new Set(Object.values(statesOf(verification.steps(true))))).toEqual(new Set(['stopped']));
  expect(verification.isDone).toBe(false);
});

test('a changed byte of a transaction is red at the transactions, with both hashes', () => {
  const blocks = withBlock(2, (block) => ({
    ...block,
    transactions: block.transactions.map((each) => {
      const raw = Buffer.from(each.raw);
      raw[raw.length - 1] = (raw.at(-1) ?? 0) ^ 1;
      return { ...each, raw };
    }),
  }));
  const step = failing(verified(claimOf(), blocks));
  expect(step?.name).toBe('transactions');
  expect(step?.difference).toMatchObject({
    of: 'transactionHash',
    said: toHex(HEALTHY[2]?.transactions[0]?.hash ?? Buffer.alloc(0)),
    height: 2,
  });
  expect(step?.difference?.computed).not.toBe(step?.difference?.said);
});

test('a transaction that another key has signed is red at the transactions, with both addresses', () => {
  const blocks = withBlock(2, (block) => ({
    ...block,
    transactions: block.transactions.map((each) => ({ ...each, from: bytes(BOB.address) })),
  }));
  const step = failing(verified(claimOf(), blocks));
  expect(step?.name).toBe('transactions');
  expect(step?.difference).toMatchObject({
    of: 'sender',
    computed: ALICE.address,
    said: BOB.address,
  });
});

test('a transaction that was signed for another chain is red at the transactions', () => {
  const steps = verified(claimOf({}, { chain_id: 1 }), HEALTHY);
  expect(failing(steps)?.name).toBe('transactions');
});

/** The nonce that the sender has in block 3. */
function nonceOf({ address }: { readonly address: string }): number {
  return address === AUTHORITY.address ? 2 : 0;
}

/** Block 3 with one more transaction, of a call of a newer version of the chain. */
function withStake(
  sender = BOB,
  changed: Partial<BlockTransaction> = {},
  { signer = sender, chain_id = 7777n, signed_nonce = nonceOf(sender), type = 'Stake' } = {},
): readonly Step[] {
  const { address } = sender;
  const nonce = nonceOf(sender);
  const said = [...[chain_id, BigInt(signed_nonce)].map(encodeInteger), Buffer.from(type), [[]]];
  const { r, s, v } = signer.signing_key.sign(keccak256(encodeRlp(said)));
  const signature = [BigInt(v), BigInt(r), BigInt(s)].map(encodeInteger);
  const raw = Buffer.from(encodeRlp([...said, ...signature]));
  const [transfer] = HEALTHY[2]?.transactions ?? [];
  const stake: BlockTransaction = {
    ...Object(transfer),
    from: bytes(address),
    nonce,
    index: 2,
    function_call_type: 'Stake',
    arguments: {},
    hash: Buffer.from(transactionHash(raw).slice(2), 'hex'),
    raw,
    ...changed,
  };
  return withBurn(({ transactions }) => ({ transactions: [...transactions, stake] }));
}

test('a call that this version does not know is neither right nor wrong, and counted', () => {
  const steps = withStake();
  expect(statesOf(steps)).toEqual({ ...ALL_GOOD, transactions: 'believed' });
  expect(steps[1]?.figures).toContainEqual(['unknown', 1]);
  expect(statesOf(withStake(AUTHORITY))).toEqual({ ...ALL_GOOD, transactions: 'believed' });
});

test.each([
  ['another key', { signer: ALICE }],
  ['the key for another chain', { chain_id: 1n }],
  ['the key with another nonce', { signed_nonce: 9 }],
  ['the key for another call', { type: 'Mint' }],
])('in the place of a Mint, an unknown call that %s has signed is red', (_, other) => {
  expect(failing(withStake(AUTHORITY, {}, other))?.name).toBe('transactions');
});

test('a name that is not known hides no call that is, and no other bytes', () => {
  const [transfer] = HEALTHY[2]?.transactions ?? [];
  for (const changed of [
    { function_call_type: 'Transfer' },
    { hash: Buffer.alloc(32, 7) },
    { hash: transfer?.hash, raw: transfer?.raw },
  ])
    expect(failing(withStake(BOB, Object(changed)))?.name).toBe('transactions');
});

test('a block that names another parent is red at the blocks, and nothing behind it is read', () => {
  const parent = Buffer.alloc(32, 7);
  const steps = verified(
    claimOf(),
    withBlock(2, (block) => ({ ...block, parent_hash: parent })),
  );
  expect(failing(steps)).toMatchObject({
    name: 'blocks',
    difference: {
      computed: toHex(HEALTHY[1]?.hash ?? parent),
      said: toHex(parent),
      height: 2,
    },
  });
  expect(statesOf(steps)).toEqual({
    blocks: 'bad',
    transactions: 'stopped',
    effects: 'stopped',
    mints: 'stopped',
    supply: 'stopped',
    liability: 'stopped',
    verdict: 'stopped',
  });
});

test('blocks that begin above the first, or miss one, are red at the blocks', () => {
  expect(failing(verified(claimOf(), HEALTHY.slice(1)))?.name).toBe('blocks');
  const gap = HEALTHY.filter(({ height }) => height !== 2);
  expect(failing(verified(claimOf(), gap))?.name).toBe('blocks');
});

test('a run of a block that the chain does not have is red at the blocks', () => {
  const other = toHex(Buffer.alloc(32, 9));
  const step = failing(verified(claimOf({ block_hash: other }), HEALTHY));
  expect(step).toMatchObject({ name: 'blocks', difference: { of: 'blockHash', said: other } });
});

test('CLT that no Mint created is red at the effects', () => {
  const blocks = withBlock(2, (block) => ({
    ...block,
    balance_effects: [...block.balance_effects, { ...created(USD, null), counterparty: null }],
  }));
  const steps = verified(claimOf(), blocks);
  expect(failing(steps)?.name).toBe('effects');
  // the supply is another one, too
  expect(statesOf(steps)['supply']).toBe('bad');
});

/** Block 3 with another second transaction, or with its effects changed. */
function withBurn(change: (block: NodeBlock) => Partial<NodeBlock>): readonly Step[] {
  return verified(
    claimOf(),
    withBlock(3, (block) => ({ ...block, ...change(block) })),
  );
}

function invented(tx_index: number | null, delta = -7n * USD, holder = ALICE): readonly Step[] {
  return withBurn(({ balance_effects: effects }) => ({
    balance_effects: [
      ...effects.filter(({ kind }) => kind !== 'burn'),
      {
        ...created(delta, tx_index),
        kind: 'burn',
        address: bytes(holder.address),
        counterparty: null,
      },
    ],
  }));
}

test('a burn that no Burn of its holder says is red at the effects', () => {
  for (const steps of [invented(null), invented(0), invented(1), invented(1, -5n * USD, BOB)])
    expect(failing(steps)).toMatchObject({ name: 'effects', difference: { height: 3 } });
});

test('a burn that one transaction does twice is red at the effects', () => {
  const steps = withBurn(({ balance_effects: effects }) => ({
    balance_effects: [...effects, ...effects.filter(({ kind }) => kind === 'burn')],
  }));
  expect(failing(steps)?.name).toBe('effects');
});

test('a Burn of another amount than its sender signed is red at the transactions', () => {
  const steps = withBurn(({ transactions, balance_effects: effects }) => ({
    transactions: transactions.map((each) =>
      each.function_call_type === 'Burn' ? { ...each, amount: 9n * USD } : each,
    ),
    balance_effects: effects.map((each) =>
      each.kind === 'burn' ? { ...each, delta: -9n * USD } : each,
    ),
  }));
  expect(failing(steps)).toMatchObject({ name: 'transactions', difference: { height: 3 } });
});

test('a transaction that two blocks have is red at the transactions', () => {
  const [transfer] = HEALTHY[2]?.transactions ?? [];
  const steps = withBurn(({ transactions }) => ({
    transactions: [...transactions, { ...Object(transfer), index: 2 }],
  }));
  expect(failing(steps)).toMatchObject({
    name: 'transactions',
    difference: { of: 'nonce', computed: 2, said: 0, height: 3 },
  });
});

test('a Mint of another account is red at the mints', () => {
  const blocks = withBlock(3, (block) => ({
    ...block,
    transactions: block.transactions.map((each) =>
      each.index === 0 ? { ...each, ...mint(0, 20n * USD, BOB) } : each,
    ),
  }));
  const step = failing(verified(claimOf(), blocks));
  expect(step).toMatchObject({
    name: 'mints',
    difference: { of: 'minter', computed: BOB.address, said: AUTHORITY.address, height: 3 },
  });
});

test('a missing Mint is red at the mints: the nonces of the mint authority have a gap', () => {
  const blocks = withBlock(1, (block) => ({ ...block, transactions: [], balance_effects: [] }));
  const steps = verified(claimOf(), blocks);
  expect(failing(steps)?.name).toBe('mints');
  expect(statesOf(steps)).toMatchObject({ supply: 'bad', liability: 'bad' });
});

test('a run that says mismatch for a Mint that the ledger did not request shows that Mint', () => {
  const run = {
    treasury_minted: String(100n * USD),
    ledger_liability: String(95n * USD),
    custody_reported: String(107n * USD + USD / 2n),
    status: 'mismatch',
  } as const;
  const steps = verified(claimOf(run), HEALTHY);
  expect(statesOf(steps)).toEqual({ ...ALL_GOOD, liability: 'bad' });
  expect(failing(steps)?.difference).toEqual({
    of: 'minted',
    computed: 120n * USD,
    said: 100n * USD,
  });
});

test('a newest Mint that is missing is red at the supply', () => {
  const blocks = withBlock(3, (block) => ({
    ...block,
    transactions: block.transactions.slice(1),
    balance_effects: block.balance_effects.flatMap((each) =>
      each.kind === 'burn' ? [{ ...each, tx_index: 0 }] : [],
    ),
  }));
  expect(failing(verified(claimOf(), blocks))).toMatchObject({
    name: 'supply',
    difference: { of: 'supply', computed: 1_095n * USD, said: 1_115n * USD },
  });
});

test.each([
  ['onchain_supply', 1_116n * USD, 'supply'],
  ['genesis_allocation', 999n * USD, 'supply'],
  ['burned', 4n * USD, 'supply'],
  ['treasury_minted', 121n * USD, 'liability'],
  ['ledger_liability', 114n * USD, 'liability'],
  ['uncovered', USD, 'verdict'],
  ['surplus', 0n, 'verdict'],
  ['held', 9n * USD, 'verdict'],
  ['custody_reported', 100n * USD, 'verdict'],
] as const)('a forged %s of the run is red', (field, amount, name) => {
  const step = failing(verified(claimOf({ [field]: String(amount) }), HEALTHY));
  expect(step?.name).toBe(name);
  expect(step?.difference?.computed).not.toBe(step?.difference?.said);
});

test.each(['mismatch', 'over_backed_drift'] as const)(
  'a forged status %s is red unless some tolerance allows it',
  (status) => {
    const steps = verified(claimOf({ status }), HEALTHY);
    const wanted = status === 'mismatch' ? 'bad' : 'believed';
    expect(statesOf(steps)).toEqual({ ...ALL_GOOD, verdict: wanted });
  },
);

test('without a tolerance the status is believed', () => {
  expect(statesOf(verified(claimOf({}, { tolerance: null }), HEALTHY))).toEqual({
    ...ALL_GOOD,
    verdict: 'believed',
  });
});

test('the part before a baseline is believed, and what the chain shows is not', () => {
  // the ledger began behind the first Mint, of which custody need not cover anything
  const begun = {
    genesis_allocation: String(1_100n * USD),
    treasury_minted: String(20n * USD),
    ledger_liability: String(15n * USD),
    custody_reported: String(27n * USD + USD / 2n),
  };
  expect(statesOf(verified(claimOf(begun), HEALTHY))).toEqual({
    ...ALL_GOOD,
    supply: 'believed',
    liability: 'believed',
  });
  const forged = { ...begun, onchain_supply: String(1_116n * USD) };
  expect(failing(verified(claimOf(forged), HEALTHY))?.name).toBe('supply');
});

test('no byte of a transaction can be changed unseen', () => {
  const places = HEALTHY.slice(0, 4).flatMap(({ height, transactions }) =>
    transactions.flatMap(({ raw }) => Array.from(raw, (_, at) => ({ height, at }))),
  );
  fc.assert(
    fc.property(fc.constantFrom(...places), fc.integer({ min: 1, max: 255 }), (place, bits) => {
      const blocks = withBlock(place.height, (block) => {
        const transactions = block.transactions.map((each) => {
          const raw = Buffer.from(each.raw);
          raw[place.at] = (raw[place.at] ?? 0) ^ bits;
          return { ...each, raw };
        });
        return { ...block, transactions };
      });
      expect(failing(verified(claimOf(), blocks))?.name).toBe('transactions');
    }),
  );
});

test('no figure of a run that another follows from can be changed alone unseen', () => {
  const figures = [
    'onchain_supply',
    'genesis_allocation',
    'treasury_minted',
    'burned',
    'ledger_liability',
    'custody_reported',
    'held',
    'retained_fees',
    'booked_surplus',
    'refunded',
    'uncovered',
    'surplus',
  ] as const;
  fc.assert(
    fc.property(fc.constantFrom(...figures), fc.bigInt({ min: 0n }), (name, amount) => {
      fc.pre(String(amount) !== RUN[name]);
      const states = statesOf(verified(claimOf({ [name]: String(amount) }), HEALTHY));
      expect(states).not.toEqual(ALL_GOOD);
    }),
  );
});
