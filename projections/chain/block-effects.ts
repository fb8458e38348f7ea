/**
 * I11: the balance effects of one block. `mint` creates and `burn` destroys, as their transactions
 * say. An effect of any other kind moves: those of a transaction, and those of the block itself,
 * add up to nothing. Fees are paid by transactions and earned by the block: they add up to nothing
 * over the block.
 */
import { toHex } from '../../schemas/address.ts';
import type { BlockAppended, BlockTransaction } from '../../schemas/chain.blocks/events.ts';

const FEES: ReadonlySet<string> = new Set(['tx_fee_paid', 'tx_fee_earned']);

export interface Mint extends Pick<BlockTransaction, 'hash' | 'from' | 'nonce' | 'to' | 'amount'> {
  /** whether it created its amount for its account */
  readonly done: boolean;
}

export interface BlockEffects {
  /** the transactions that call Mint */
  readonly mints: readonly Mint[];
  /** the change of supply: the sum of all effects */
  readonly change: bigint;
  /** the first effect that is not accounted for; undefined: there is none */
  readonly problem: string | undefined;
}

export function readEffects({
  transactions,
  balance_effects: balanceEffects,
}: BlockAppended): BlockEffects {
  const minted = new Set<number | null>();
  const burned = new Set<number | null>();
  const moved = new Map<number | null, bigint>();
  let fees = 0n;
  let change = 0n;
  let problem: string | undefined;
  for (const { address, kind, delta, tx_index: txIndex } of balanceEffects) {
    change += delta;
    const by = txIndex === null ? undefined : transactions[txIndex];
    if (kind === 'mint') {
      if (isMintOf(by, address, delta) && !minted.has(txIndex)) minted.add(txIndex);
      else if (delta !== 0n)
        problem ??= `${delta} is created for ${toHex(address)} by ${nameOf(by)}, which does not say so`;
    } else if (kind === 'burn') {
      if (isBurnOf(by, address, -delta) && !burned.has(txIndex)) burned.add(txIndex);
      else if (delta !== 0n)
        problem ??= `a burn of ${-delta} of ${toHex(address)} is by ${nameOf(by)}, which does not say so`;
    } else if (FEES.has(kind)) fees += delta;
    else moved.set(txIndex, (moved.get(txIndex) ?? 0n) + delta);
  }
  if (fees !== 0n) problem ??= `the fees that are paid and earned differ by ${fees}`;
  for (const [index, sum] of moved)
    if (sum !== 0n)
      problem ??= `the movements of ${nameOf(index === null ? undefined : transactions[index])} add up to ${sum}`;
  const mints = transactions
    .filter(({ function_call_type: functionCallType }) => functionCallType === 'Mint')
    .map(({ index, hash, from, nonce, to, amount }) => {
      return { hash, from, nonce, to, amount, done: minted.has(index) };
    });
  return { mints, change, problem };
}

function isMintOf(by: BlockTransaction | undefined, to: Buffer, amount: bigint): boolean {
  return by?.function_call_type === 'Mint' && by.amount === amount && by.to.equals(to);
}

function isBurnOf(by: BlockTransaction | undefined, of: Buffer, amount: bigint): boolean {
  return by?.function_call_type === 'Burn' && by.amount === amount && by.from.equals(of);
}

function nameOf(by: BlockTransaction | undefined): string {
  return by === undefined ? 'the block itself' : `${by.function_call_type} ${toHex(by.hash)}`;
}
