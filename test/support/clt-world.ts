/**
 * The devnet's chain as an object: accounts act, the chain's rules execute. Nothing is signed:
 * signatures have tests of their own.
 */
import type { FunctionCall } from '../../schemas/function-call.ts';
import { encodeRaw } from '../../schemas/raw-transaction.ts';
import type { BlockJson } from '../../infra/devnet/clt/block.ts';
import { Chain } from '../../infra/devnet/clt/chain.ts';
import {
  execute,
  verifiedByUs,
  type Executed,
  type ExecutionRefusal,
  type VerifiedTransaction,
} from '../../infra/devnet/clt/execute.ts';
import type { Genesis } from '../../infra/devnet/clt/genesis.ts';
import { makeGenesis } from '../../infra/devnet/clt/genesis.ts';
import type { Rows } from '../../infra/devnet/clt/state.ts';
import { StateOverlay, State, accountAt } from '../../infra/devnet/clt/state.ts';
import { parseBlock } from '../../schemas/chain-node.ts';
import { toHex } from '../../schemas/address.ts';

export const BEGIN = 1_790_000_000_000;

export function testGenesis(seed = 'test', finality_depth = 6): Genesis {
  return makeGenesis({ seed, chain_id: 7777, is_testnet: true, finality_depth, timestamp: BEGIN });
}

/** A transaction of anybody, without asking for their key. */
export function transactionOf(
  from: string,
  nonce: number,
  call: FunctionCall,
): VerifiedTransaction {
  // r differs by sender, or the same call of two people at the same nonce would have one hash
  const signature = {
    r: `0x${from.slice(2).padStart(64, '0')}`,
    s: `0x${'1'.padStart(64, '0')}`,
    v: 27,
  } as const;
  return verifiedByUs(encodeRaw({ chain_id: 7777, nonce, call, signature }), from);
}

/** One transaction after another against one state, each at its sender's next nonce. */
export class World {
  readonly genesis: Genesis;
  readonly state: State;

  constructor(genesis: Genesis = testGenesis()) {
    this.genesis = genesis;
    this.state = new State(genesis.rows());
  }

  /**
   * Executes the call, or returns the refusal and changes nothing. `producer` makes the block of
   * the call.
   */
  act(
    from: string,
    call: FunctionCall,
    producer = this.genesis.cast.validators[0]?.address,
  ): Executed | ExecutionRefusal {
    const draft = new StateOverlay(this.state);
    const result = execute(
      draft,
      transactionOf(from, accountAt(this.state, from).nonce, call),
      this.genesis.parameters,
      producer,
    );
    if (!('refused' in result)) draft.commit();
    return result;
  }

  /** The same for what has to work; the transaction's hash. */
  done(from: string, call: FunctionCall): string {
    const result = this.act(from, call);
    if ('refused' in result)
      throw new Error(
        `${call.function_call_type} was refused: ${result.refused}, ${result.message}`,
      );
    return result.transaction.hash;
  }

  balance(address: string): bigint {
    return accountAt(this.state, address).balance;
  }
}

export function newChain(genesis: Genesis): Chain {
  return new Chain(genesis.parameters, genesis.block, genesis.rows());
}

/**
 * The balances after these blocks, computed from their balance effects alone; without accounts of
 * balance zero.
 */
export function foldEffects(
  blocks: readonly Pick<BlockJson, 'balance_effects'>[],
): ReadonlyMap<string, bigint> {
  const balances = new Map<string, bigint>();
  for (const { balance_effects } of blocks) {
    for (const { address, delta } of balance_effects)
      balances.set(address, (balances.get(address) ?? 0n) + BigInt(delta));
  }
  return new Map([...balances].filter(([, balance]) => balance !== 0n));
}

/** The same by the rows of a state. */
export function balancesOf(rows: Rows): ReadonlyMap<string, bigint> {
  const balances = [...rows.accounts].map(([address, { balance }]) => [address, balance] as const);
  return new Map(balances.filter(([, balance]) => balance !== 0n));
}

/** Minted less burned amounts, by the transactions alone. */
export function supplyChange(blocks: readonly Pick<BlockJson, 'transactions'>[]): bigint {
  const signs: Readonly<Record<string, bigint>> = { Mint: 1n, Burn: -1n };
  const changes = blocks.flatMap(({ transactions }) =>
    transactions.map((each) => (signs[each.function_call_type] ?? 0n) * BigInt(each.amount)),
  );
  return changes.reduce((sum, change) => sum + change, 0n);
}

/**
 * Executes the blocks again from the genesis: the resulting rows, and the hash of each block as
 * executed.
 */
export function refold(
  genesis: Genesis,
  texts: readonly string[],
): { readonly rows: Rows; readonly hashes: readonly string[] } {
  const chain = newChain(genesis);
  const hashes = texts.map((text) => {
    const parsed = parseBlock(JSON.parse(text));
    if ('problem' in parsed) throw new Error(parsed.problem);
    const { height, parent_hash, timestamp, producer, reward_recipient, transactions } =
      parsed.value;
    const validator = { address: toHex(producer), reward_recipient: toHex(reward_recipient) };
    const seat = { height, parent_hash: toHex(parent_hash), timestamp, validator };
    const assembled = chain.assemble(
      seat,
      transactions.map((each) => verifiedByUs(each.raw, toHex(each.from))),
    );
    chain.append(assembled);
    return assembled.block.hash;
  });
  return { rows: chain.state.rows, hashes };
}
