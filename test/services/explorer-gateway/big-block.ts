/** Short chains with one big block. */
import { seededBlocks } from '../../projections/explorer/seeded-rows.ts';
import type { PlainBlock } from '../../projections/explorer/plain-block.ts';

/** `count`: blocks that become one, with some 40 transactions each and 110 changes of balances. */
export function chainWithBigBlock(count: number): {
  readonly blocks: readonly PlainBlock[];
  readonly big: PlainBlock;
} {
  const seeded = seededBlocks({
    seed: 5,
    blocks: count + 15,
    transactions_max: 125,
    addresses: 40,
  });
  const big = inOneBlock(seeded.slice(5, count + 5));
  return {
    blocks: [
      ...seeded.slice(0, 5),
      big,
      ...seeded.slice(count + 5).map((block, at) => atHeight(block, 6 + at)),
    ],
    big,
  };
}

/** All of them in one block, which takes the place of the first. */
function inOneBlock(blocks: readonly PlainBlock[]): PlainBlock {
  const [first] = blocks;
  if (first === undefined) throw new Error('nothing to put into one block');
  let before = 0;
  const parts = blocks.map((block) => {
    const offset = before;
    before += block.transactions.length;
    const { height: block_height, timestamp } = first;
    return {
      transactions: block.transactions.map((one) => ({
        ...one,
        block_height,
        timestamp,
        tx_index: one.tx_index + offset,
      })),
      effects: block.effects.map((one) => ({
        ...one,
        tx_index: one.tx_index === null ? null : one.tx_index + offset,
      })),
    };
  });
  return {
    ...first,
    transactions: parts.flatMap(({ transactions }) => transactions),
    effects: parts.flatMap(({ effects }) => effects),
  };
}

function atHeight(block: PlainBlock, height: number): PlainBlock {
  return {
    ...block,
    height,
    transactions: block.transactions.map((one) => ({ ...one, block_height: height })),
  };
}
