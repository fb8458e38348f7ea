/** Whole blocks of the CLT node, which alone has the signed bytes besides the log. */
import { wireOf } from '../../../schemas/chain-node.ts';
import type { ChainNode } from '../../runtime/clt-node.ts';
import { Fault } from '../../runtime/process/errors.ts';
import { REORGANISED, type Span } from './pieces.ts';

/** The node's limit for one answer, and the wanted length of one. */
const BLOCKS_MAX = 500;
const CHARACTERS = 1 << 18;

/**
 * The blocks of these heights, oldest first. Throws a `Fault` when the last one is not that of the
 * index, and faults of the node.
 */
export async function* blockPieces(
  node: Pick<ChainNode, 'blocks'>,
  { heights, end }: Span,
  toLine: (item: string) => string,
): AsyncGenerator<string> {
  let limit = 20;
  for (let next = Number(heights.low); next <= Number(heights.high);) {
    const most = Math.min(limit, Number(heights.high) - next + 1);
    const { blocks, bytes } = await node.blocks(next, most);
    const last = blocks.at(-1);
    if (blocks[0]?.height !== next || last === undefined) {
      const message = `the CLT node has no block ${next}, which the index has: request it again, and tell the operator if it stays`;
      throw new Fault('chain_node', message, { retry: true });
    }
    if (last.height === Number(end.height) && !last.hash.equals(end.hash)) {
      const message = `the CLT node and the index have different blocks ${last.height}: request it again`;
      throw new Fault(REORGANISED, message, { retry: true });
    }
    next = last.height + 1;
    const wanted = Math.floor((blocks.length * CHARACTERS) / bytes);
    limit = Math.max(1, Math.min(BLOCKS_MAX, wanted, limit * 2));
    yield blocks.map((block) => toLine(JSON.stringify(wireOf(block)))).join('');
  }
}
