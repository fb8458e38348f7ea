/**
 * A CLT node that lies to ingester and treasury, while the chain itself is right: the most that it
 * gets, without and with a second node that tells the truth. docs/operations/secrets.md has the
 * rows.
 */
import { expect, test } from 'vitest';
import { approve } from '../../../projections/deposits/domain/approval.ts';
import { signCall } from '../../../infra/devnet/clt/keys.ts';
import { toHex } from '../../../schemas/address.ts';
import type { BalanceEffect, BlockTransaction } from '../../../schemas/chain.blocks/events.ts';
import type { NodeBlock } from '../../../schemas/chain-node.ts';
import { argumentsJson } from '../../../schemas/function-call.ts';
import { transactionHash } from '../../../schemas/raw-transaction.ts';
import { addressOf, mallory } from '../../support/operators.ts';
import { Random } from '../../support/random.ts';
import { CHAIN_ID, MINT_AUTHORITY, SimulatedNode } from './clt.ts';
import { LATE_MS, RUN_EVERY_MS } from './processes.ts';
import { SENDERS } from './tron.ts';
import { World } from './world.ts';

const USD = 1_000_000n;
const CREDIT = 8n * USD;
const ROUNDS = 6;
const THIEF = addressOf(mallory);
const STOLEN = 1_000n * USD;
const AUTHORITY = Buffer.from(MINT_AUTHORITY.address.slice(2), 'hex');

type Lie = (world: World) => void;

/** A Mint to the thief, as a block shows it. */
function mintToThief(index: number): BlockTransaction & { readonly raw: Buffer } {
  const to = toHex(THIEF);
  const call = {
    function_call_type: 'Mint',
    arguments: { to, amount: STOLEN, reference: null },
  } as const;
  const raw = Buffer.from(signCall(MINT_AUTHORITY, CHAIN_ID, 0, call));
  return {
    hash: Buffer.from(transactionHash(raw).slice(2), 'hex'),
    index,
    from: AUTHORITY,
    to: THIEF,
    nonce: 0,
    amount: STOLEN,
    function_call_type: 'Mint',
    arguments: argumentsJson(call),
    referrer: null,
    request_referrer: null,
    offer_referrer: null,
    request_referrer_fee: 0n,
    offer_referrer_fee: 0n,
    raw,
  };
}

/** Blocks from now on are shown so. */
function tells(world: World, how: (block: NodeBlock) => NodeBlock): void {
  const from = world.node.height;
  world.node.told = (block) => (block.height > from ? how(block) : block);
}

/** The content of a chain beside the true one, to which only the node sends transactions. */
function tellsOther(world: World): SimulatedNode {
  const other = new SimulatedNode(() => undefined);
  tells(world, (block) => {
    while (other.height < block.height) other.mine(world.time.now);
    const { transactions, balance_effects } = other.all[block.height] ?? block;
    return { ...block, transactions, balance_effects };
  });
  return other;
}

const LIES = {
  'a Mint that nobody signed': (world) =>
    tells(world, (block) => {
      const tx_index = block.transactions.length;
      const mint = { ...mintToThief(tx_index), raw: Buffer.alloc(100, 1) };
      return {
        ...block,
        transactions: [...block.transactions, mint],
        balance_effects: [...block.balance_effects, effectOf(STOLEN, 'mint', tx_index)],
      };
    }),
  'no Mint of ours': (world) => void tellsOther(world),
  'a Mint of ours as failed': (world) =>
    tells(world, (block) => ({
      ...block,
      balance_effects: block.balance_effects.filter(({ kind }) => kind !== 'mint'),
    })),
  'a Mint of ours that it never passed on': (world) => {
    const other = tellsOther(world);
    world.node.taken = (raw) => void other.submit(raw);
  },
  'that it accepts what it forgets': (world) => (world.node.taken = () => undefined),
  'more supply': (world) => tells(world, (block) => withEffects(block, [STOLEN])),
  'less supply': (world) => tells(world, (block) => withEffects(block, [-STOLEN])),
  'other balances': (world) => tells(world, (block) => withEffects(block, [STOLEN, -STOLEN])),
  'nothing of a Mint by a stolen key': (world) => {
    tellsOther(world);
    void world.node.submit(toHex(mintToThief(0).raw));
  },
} as const satisfies Readonly<Record<string, Lie>>;

function effectOf(delta: bigint, kind: string, tx_index: number | null): BalanceEffect {
  return { address: delta > 0n ? THIEF : AUTHORITY, kind, delta, tx_index, counterparty: null };
}

function withEffects(block: NodeBlock, deltas: readonly bigint[]): NodeBlock {
  const effects = deltas.map((delta) => effectOf(delta, 'transfer', null));
  return { ...block, balance_effects: [...block.balance_effects, ...effects] };
}

interface Outcome {
  /** amounts of all Mints of the true chain */
  readonly minted: readonly bigint[];
  /** of the one deposit */
  readonly status: string;
  readonly alarm: 'halted' | 'not ready' | 'minting is closed' | undefined;
}

/** One deposit of 10 USDT arrives while the node lies; held, it is approved by an operator once. */
async function played(lie: Lie, hasSecondNode: boolean): Promise<Outcome> {
  const world = new World(0n);
  world.hasSecondNode = hasSecondNode;
  const round = async (ms = RUN_EVERY_MS + 15_000): Promise<void> => {
    await world.watch();
    world.mine(2);
    await world.time.pass(ms, 5);
    world.logs.read();
  };
  try {
    await world.open();
    world.start();
    const to = world.ask()?.address ?? Buffer.alloc(0);
    await round();
    expect(world.treasury?.forbidden).toBe(undefined);
    lie(world);
    // the lie is final, and a run has seen it
    for (let rounds = 0; rounds < 3; rounds++) await round();
    const [from = THIEF] = SENDERS;
    world.tron.pay(from, to, 10n * USD, new Random(1));
    let isApproved = false;
    for (let rounds = 0; rounds < ROUNDS; rounds++) {
      await round(rounds === 2 ? 2 * LATE_MS : undefined);
      for (const [deposit_id, { status }] of world.logs.ledger.deposits) {
        if (status !== 'needs_manual' || isApproved) continue;
        const person = { actor: 'alice', reason: 'it failed', now: world.time.now };
        isApproved = world.decide((all, operator) =>
          approve(all, { deposit_id, ...person, operator }),
        );
      }
    }
    const [status = 'none'] = [...world.logs.ledger.deposits.values()].map((each) => each.status);
    const minted = world.node.mints.map(({ amount }) => amount);
    return { minted, status, alarm: await alarmOf(world) };
  } finally {
    await world.close();
  }
}

async function alarmOf({ treasury }: World): Promise<Outcome['alarm']> {
  if (treasury === undefined || treasury.isHalted) return 'halted';
  if (treasury.forbidden !== undefined || (await treasury.isClosed())) return 'minting is closed';
  return treasury.problem === undefined ? undefined : 'not ready';
}

type Row = readonly [lie: keyof typeof LIES, alone: Outcome, withSecond: Outcome];

const UNTOUCHED: Outcome = { minted: [CREDIT], status: 'credited', alarm: undefined };
const HALTED: Outcome = { minted: [], status: 'confirmed', alarm: 'halted' };
const CLOSED: Outcome = { minted: [], status: 'confirmed', alarm: 'minting is closed' };
const STUCK: Outcome = { minted: [], status: 'mint_requested', alarm: 'not ready' };
const UNCONCLUDED: Outcome = { minted: [CREDIT], status: 'mint_requested', alarm: 'halted' };

const ROWS: readonly Row[] = [
  ['a Mint that nobody signed', HALTED, HALTED],
  [
    'no Mint of ours',
    { ...UNCONCLUDED, alarm: 'not ready' },
    { ...UNCONCLUDED, alarm: 'not ready' },
  ],
  // a person has asked no other node, and approved the deposit once more
  [
    'a Mint of ours as failed',
    { minted: [CREDIT, CREDIT], status: 'needs_manual', alarm: undefined },
    UNCONCLUDED,
  ],
  [
    'a Mint of ours that it never passed on',
    { minted: [], status: 'credited', alarm: undefined },
    { ...UNCONCLUDED, minted: [] },
  ],
  ['that it accepts what it forgets', STUCK, STUCK],
  ['more supply', CLOSED, CLOSED],
  ['less supply', CLOSED, CLOSED],
  ['other balances', UNTOUCHED, UNTOUCHED],
  [
    'nothing of a Mint by a stolen key',
    { ...STUCK, minted: [STOLEN] },
    { ...STUCK, minted: [STOLEN] },
  ],
];

test.each(ROWS)('a node that tells %s', async (lie, alone, withSecond) => {
  const [one, two] = [await played(LIES[lie], false), await played(LIES[lie], true)];
  expect([one, two]).toEqual([alone, withSecond]);
});
