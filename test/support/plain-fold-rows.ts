/**
 * All rows of the explorer's tables, computed from the list of live blocks. Read `plain-fold.ts`
 * first.
 */
import type {
  BalanceEffect,
  BlockAppended,
  BlockTransaction,
} from '../../schemas/chain.blocks/events.ts';

export type Row = Record<string, bigint | boolean | Buffer | number | string | null>;

/** A transaction with its place on the chain. */
interface Placed {
  readonly seq: number;
  readonly block: BlockAppended;
  readonly transaction: BlockTransaction;
  /** in its block */
  readonly position: number;
}

/** A movement of a balance. */
interface Move {
  readonly block: BlockAppended;
  readonly effect: BalanceEffect;
  /** of the transaction; null: of the block itself */
  readonly seq: number | null;
  /** who signed the transaction; undefined: nobody signs what a block does by itself */
  readonly signer: Buffer | undefined;
}

function hex(bytes: Buffer): string {
  return bytes.toString('hex');
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

function placedOf(blocks: readonly BlockAppended[]): Placed[] {
  return blocks
    .flatMap((block) =>
      block.transactions.map((transaction, position) => ({ block, transaction, position })),
    )
    .map(({ block, transaction, position }, seq) => ({ seq, block, transaction, position }));
}

/** By block, the seq of its first transaction. */
function firstSeqs(blocks: readonly BlockAppended[]): number[] {
  let before = 0;
  return blocks.map(({ transactions }) => (before += transactions.length) - transactions.length);
}

function movesOf(blocks: readonly BlockAppended[]): Move[] {
  const firsts = firstSeqs(blocks);
  return blocks.flatMap((block, at) =>
    block.balance_effects
      .filter(({ delta }) => delta !== 0n)
      .map((effect) => ({
        block,
        effect,
        seq: effect.tx_index === null ? null : (firsts[at] ?? 0) + effect.tx_index,
        signer: effect.tx_index === null ? undefined : block.transactions[effect.tx_index]?.from,
      })),
  );
}

/** By address in hex, the transactions from or to it. */
function placedByAddress(blocks: readonly BlockAppended[]): ReadonlyMap<string, readonly Placed[]> {
  const touches = placedOf(blocks).flatMap((placed) => {
    const { from, to } = placed.transaction;
    return (from.equals(to) ? [from] : [from, to]).map((address) => ({ address, placed }));
  });
  const byAddress = Map.groupBy(touches, ({ address }) => hex(address));
  return new Map(
    [...byAddress].map(([address, each]) => [address, each.map(({ placed }) => placed)]),
  );
}

function movesByAddress(blocks: readonly BlockAppended[]): ReadonlyMap<string, readonly Move[]> {
  return Map.groupBy(movesOf(blocks), ({ effect }) => hex(effect.address));
}

/** In the order of their first blocks. */
function producersOf(blocks: readonly BlockAppended[]): string[] {
  return [...new Set(blocks.map(({ producer }) => hex(producer)))];
}

/** The counts of the blocks in the row of `head`. */
export function headCounts(blocks: readonly BlockAppended[]): Row {
  return { transactions: placedOf(blocks).length, validators: producersOf(blocks).length };
}

export function blockRows(blocks: readonly BlockAppended[]): Row[] {
  const firsts = firstSeqs(blocks);
  return blocks.map((block, at) => ({
    height: block.height,
    hash: block.hash,
    parent_hash: block.parent_hash,
    producer: block.producer,
    reward_recipient: block.reward_recipient,
    block_reward: block.block_reward,
    total_fees: sum(
      block.balance_effects
        .filter(({ kind, address }) => kind === 'tx_fee_earned' && address.equals(block.producer))
        .map(({ delta }) => delta),
    ),
    timestamp: block.timestamp,
    tx_count: block.transactions.length,
    first_seq: firsts[at] ?? null,
    log_offset: block.sequence,
  }));
}

export function transactionRows(blocks: readonly BlockAppended[]): Row[] {
  const paid = new Map(blocks.map((block) => [block, paidIn(block)]));
  const ofType = new Map<string, number>();
  return placedOf(blocks).map(({ seq, block, transaction, position }) => {
    const type = transaction.function_call_type;
    const ordinal = ofType.get(type) ?? 0;
    ofType.set(type, ordinal + 1);
    const free = transaction.from.equals(block.producer) || type === 'RideAcceptance';
    return {
      seq,
      hash: transaction.hash,
      block_height: block.height,
      tx_index: position,
      from_address: transaction.from,
      to_address: transaction.to,
      nonce: transaction.nonce,
      amount: transaction.amount,
      fee: free ? 0n : -sum((paid.get(block)?.get(position) ?? []).map(({ delta }) => delta)),
      function_call_type: type,
      type_ordinal: ordinal,
      is_ride_related: type.startsWith('Ride'),
      timestamp: block.timestamp,
      referrer: transaction.referrer,
      request_referrer: transaction.request_referrer,
      offer_referrer: transaction.offer_referrer,
      request_referrer_fee: transaction.request_referrer_fee,
      offer_referrer_fee: transaction.offer_referrer_fee,
    };
  });
}

/** By position of the transaction, the effects by which it paid its fee. */
function paidIn(block: BlockAppended): ReadonlyMap<number | null, readonly BalanceEffect[]> {
  return Map.groupBy(
    block.balance_effects.filter(({ kind }) => kind === 'tx_fee_paid'),
    ({ tx_index: index }) => index,
  );
}

export function transactionTypeRows(blocks: readonly BlockAppended[]): Row[] {
  const byType = Map.groupBy(placedOf(blocks), ({ transaction }) => transaction.function_call_type);
  return [...byType].map(([type, placed]) => ({
    function_call_type: type,
    transactions: placed.length,
  }));
}

/**
 * A row for each address that signed or received a transaction, whose balance moved, or that
 * produced a block.
 */
export function accountRows(blocks: readonly BlockAppended[]): Row[] {
  const transactions = placedByAddress(blocks);
  const moves = movesByAddress(blocks);
  const produced = Map.groupBy(blocks, ({ producer }) => hex(producer));
  return [...new Set([...transactions.keys(), ...moves.keys(), ...produced.keys()])].map(
    (address) => {
      const newest = transactions
        .get(address)
        ?.findLast(({ transaction }) => hex(transaction.from) === address);
      const own = moves.get(address) ?? [];
      return {
        address,
        balance: sum(own.map(({ effect }) => effect.delta)),
        nonce: newest === undefined ? 0 : newest.transaction.nonce + 1,
        transactions: transactions.get(address)?.length ?? 0,
        activities: own.length,
        unsigned_debits: own.filter(
          ({ effect, signer }) => effect.delta < 0n && signer?.equals(effect.address) !== true,
        ).length,
        blocks_produced: produced.get(address)?.length ?? 0,
      };
    },
  );
}

export function accountTransactionRows(blocks: readonly BlockAppended[]): Row[] {
  return [...placedByAddress(blocks)].flatMap(([address, placed]) =>
    placed.map(({ seq }, ordinal) => ({ address, ordinal, seq })),
  );
}

export function activityRows(blocks: readonly BlockAppended[]): Row[] {
  return [...movesByAddress(blocks)].flatMap(([address, moves]) => {
    let balance = 0n;
    return moves.map(({ block, effect, seq }, ordinal) => {
      balance += effect.delta;
      return {
        address,
        ordinal,
        kind: effect.kind,
        delta: effect.delta,
        balance,
        block_height: block.height,
        seq,
        counterparty: effect.counterparty,
      };
    });
  });
}

export function validatorRows(blocks: readonly BlockAppended[]): Row[] {
  return producersOf(blocks).map((address, ordinal) => ({ ordinal, address }));
}
