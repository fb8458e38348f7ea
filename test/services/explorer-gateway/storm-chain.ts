/**
 * Every state of a chain, event by event, and the explorer's lists of each state: the valid
 * contents of a page while the chain moves.
 */
import type { BlockAppended, ChainEvent } from '../../../schemas/chain.blocks/events.ts';
import { activityLabel } from '../../../services/explorer-gateway/routes/json.ts';
import {
  plainActivity,
  plainBlocks,
  plainTransactions,
  plainValidators,
} from '../../projections/explorer/plain-answers.ts';
import type { PlainBlock, PlainTransaction } from '../../projections/explorer/plain-block.ts';

export interface StormTransaction {
  readonly plain: PlainTransaction;
  /** as a list shows it */
  readonly item: string;
  readonly addresses: readonly string[];
}

export interface StormBlock {
  readonly plain: PlainBlock;
  readonly item: string;
  readonly transactions: readonly StormTransaction[];
  /** by address, the items of its activity in this block, oldest first */
  readonly activity: ReadonlyMap<string, readonly string[]>;
  /** all addresses that had to do with it, in hex without 0x */
  readonly touched: ReadonlySet<string>;
}

/** Blocks by height, from 0 on. */
export interface ChainState {
  readonly blocks: readonly StormBlock[];
  readonly finalized_height: number;
}

/**
 * Which list: all blocks, all validators, the activity of an address, or transactions. Addresses in
 * hex without 0x.
 */
export type StormList =
  | { readonly of: 'blocks' | 'validators' }
  | { readonly of: 'activity'; readonly address: string }
  | {
      readonly of: 'transactions';
      readonly address: string | undefined;
      readonly block: number | undefined;
      readonly type: string | undefined;
      readonly status: string | undefined;
    };

export interface Entry {
  readonly item: string;
  /** its ordinals in cursors: one, or two for a list with two scans */
  readonly places: readonly number[];
}

export class StormChain {
  /** by the number of events that led there */
  readonly #states: ChainState[] = [{ blocks: [], finalized_height: -1 }];
  /** all that ever were, those that were reverted too */
  readonly blocks: StormBlock[] = [];
  /**
   * by hash in hex, all blocks that ever contained the transaction: a reverted one may return in
   * another block
   */
  readonly #holding = new Map<string, StormBlock[]>();
  /** how often blocks began to leave */
  reorganisations = 0;

  add(event: ChainEvent): void {
    const { blocks, finalized_height: finalizedHeight } = this.at(this.#states.length - 1);
    if (event.type === 'BlockAppended') {
      const block = stormBlock(event);
      this.blocks.push(block);
      for (const { plain } of block.transactions)
        this.#holding.getOrInsertComputed(plain.hash.toString('hex'), () => []).push(block);
      this.#states.push({ blocks: [...blocks, block], finalized_height: finalizedHeight });
    } else if (event.type === 'BlockReverted') {
      if (blocks.at(-1) === this.blocks.at(-1)) this.reorganisations++;
      this.#states.push({ blocks: blocks.slice(0, -1), finalized_height: finalizedHeight });
    } else this.#states.push({ blocks, finalized_height: event.height });
  }

  at(events: number): ChainState {
    const state = this.#states[events];
    if (state === undefined) throw new Error(`no state after ${events} events`);
    return state;
  }

  /** The hashes of all transactions that ever were, in hex. */
  get hashes(): readonly string[] {
    return [...this.#holding.keys()];
  }

  /** A transaction where it stands in a state, by its hash in hex. */
  transactionIn(state: ChainState, hash: string): StormTransaction | undefined {
    const block = this.#holding.get(hash)?.find((each) => stands(state, each));
    return block?.transactions.find(({ plain }) => plain.hash.toString('hex') === hash);
  }

  /** From one number of events to another, both included. */
  between(low: number, high: number): readonly ChainState[] {
    return this.#states.slice(low, high + 1);
  }
}

export function stands(state: ChainState, block: StormBlock): boolean {
  return state.blocks[block.plain.height] === block;
}

export function plainOf({ blocks }: ChainState): readonly PlainBlock[] {
  return blocks.map(({ plain }) => plain);
}

/** The blocks that had to do with an address, in hex without 0x. */
export function touchedOf({ blocks }: ChainState, address: string): readonly PlainBlock[] {
  return blocks.filter(({ touched }) => touched.has(address)).map(({ plain }) => plain);
}

/** The whole list, oldest first. */
export function entriesOf(state: ChainState, list: StormList): readonly Entry[] {
  switch (list.of) {
    case 'blocks':
      return state.blocks.map(({ item, plain }) => ({ item, places: [plain.height] }));
    case 'validators':
      return numbered(itemsOf(plainValidators(plainOf(state), ALL)));
    case 'activity':
      return numbered(state.blocks.flatMap(({ activity }) => activity.get(list.address) ?? []));
    case 'transactions':
      return transactionEntries(state, list);
  }
}

function transactionEntries(
  { blocks }: ChainState,
  { address, block, type, status = 'confirmed' }: Extract<StormList, { of: 'transactions' }>,
): Entry[] {
  const entries: Entry[] = [];
  if (status !== 'confirmed') return entries;
  let [seq, ofAddress, ofType] = [0, 0, 0];
  for (const { transactions } of blocks) {
    for (const { item, addresses, plain } of transactions) {
      const hasAddress = address !== undefined && addresses.includes(address);
      const hasType = plain.type === type;
      if (
        (address === undefined || hasAddress) &&
        (type === undefined || hasType) &&
        (block ?? plain.block_height) === plain.block_height
      ) {
        const along = [
          ...(address === undefined ? [] : [ofAddress]),
          ...(type === undefined ? [] : [ofType]),
        ];
        entries.push({ item, places: block !== undefined || along.length === 0 ? [seq] : along });
      }
      seq++;
      if (hasAddress) ofAddress++;
      if (hasType) ofType++;
    }
  }
  return entries;
}

function numbered(items: readonly string[]): readonly Entry[] {
  return items.map((item, at) => ({ item, places: [at] }));
}

const ALL = 1_000_000;

/** The items of a body as they stand there, oldest first. Only for items without objects inside. */
function itemsOf(body: string): readonly string[] {
  const text = body.slice('{"items":['.length, body.lastIndexOf('],"paging"'));
  return text === '' ? [] : text.split(/(?<=\}),(?=\{)/).toReversed();
}

function stormBlock(event: BlockAppended): StormBlock {
  const plain = plainBlockOf(event);
  const items = itemsOf(plainTransactions([plain], {}, ALL));
  const transactions = plain.transactions.map((each, at) => ({
    plain: each,
    item: items[at] ?? '',
    addresses: [each.from.toString('hex'), each.to.toString('hex')],
  }));
  const moved = new Set(
    plain.effects.filter(({ delta }) => delta !== 0n).map(({ address }) => address.toString('hex')),
  );
  const activityIn = (address: string) =>
    itemsOf(plainActivity([plain], Buffer.from(address, 'hex'), activityLabel, ALL));
  return {
    plain,
    item: itemsOf(plainBlocks([plain], ALL))[0] ?? '',
    transactions,
    activity: new Map([...moved].map((address) => [address, activityIn(address)])),
    touched: new Set([
      ...moved,
      plain.producer.toString('hex'),
      ...transactions.flatMap(({ addresses }) => addresses),
    ]),
  };
}

/** Fees are what the block's balance effects say. */
function plainBlockOf(event: BlockAppended): PlainBlock {
  const {
    type: _type,
    sequence: _sequence,
    transactions,
    balance_effects: balanceEffects,
    ...block
  } = event;
  const sumOf = (kind: string, of: (effect: (typeof balanceEffects)[number]) => boolean): bigint =>
    balanceEffects
      .filter((effect) => effect.kind === kind && of(effect))
      .reduce((sum, { delta }) => sum + delta, 0n);
  return {
    ...block,
    total_fees: sumOf('tx_fee_earned', ({ address }) => address.equals(block.producer)),
    transactions: transactions.map(
      ({
        index,
        function_call_type: functionCallType,
        arguments: _arguments,
        raw: _raw,
        ...transaction
      }) =>
        Object.assign(transaction, {
          block_height: block.height,
          tx_index: index,
          fee: -sumOf('tx_fee_paid', ({ tx_index: txIndex }) => txIndex === index),
          type: functionCallType,
          timestamp: block.timestamp,
        }),
    ),
    effects: balanceEffects,
  };
}
