/** Reads the blocks up to that of a run, and tells how far the steps are. */
import { parseBlock, type NodeBlock } from '../../../../schemas/chain-node.ts';
import type { RecordedRun, ReserveTolerance } from '../../../../schemas/explorer-api/reserve.ts';
import { one, queryText } from '../api/explorer.ts';
import { linesOf, send } from '../api/service.ts';
import { VERIFY } from './text.ts';
import { Verification, type Step } from './verification.ts';

export interface Told {
  readonly steps: readonly Step[];
  /** how many blocks are checked */
  readonly blocks: number;
  readonly isOver: boolean;
  /** why it ended early; undefined: it did not */
  readonly problem?: string;
}

/** Between two tellings. */
const TELL_MS = 200;

/** Never rejects. `now` in ms. */
export async function verify(
  run: RecordedRun,
  tell: (told: Told) => void,
  now: () => number,
  signal = new AbortController().signal,
): Promise<void> {
  let verification: Verification | undefined;
  const told = (isOver: boolean, problem?: string): void =>
    tell({
      steps: verification?.steps(isOver) ?? [],
      blocks: verification?.blocks ?? 0,
      isOver,
      ...(problem !== undefined && { problem }),
    });
  try {
    const { tolerance } = await one<ReserveTolerance>('reserve/tolerance', signal);
    let last = now();
    for await (const { block, headers } of blocksUpTo(run.block_height, signal)) {
      verification ??= new Verification({
        run,
        chain_id: Number(headers.get('x-clt-chain-id')),
        mint_authority: headers.get('x-clt-mint-authority') ?? '',
        tolerance,
      });
      verification.take(block);
      if (verification.isDone) break;
      if (now() - last < TELL_MS) continue;
      told(false);
      last = now();
    }
    told(true, verification?.isDone === true ? undefined : VERIFY.problems.ended);
  } catch (error) {
    told(true, error instanceof Error ? error.message : String(error));
  }
}

/**
 * Blocks from the first on, each with the headers of its answer. An answer that breaks off, as that
 * of a server which waits for us too long, is asked for again behind its last block.
 */
async function* blocksUpTo(
  height: number,
  signal: AbortSignal,
): AsyncGenerator<{ readonly block: NodeBlock; readonly headers: Headers }> {
  for (let next = 0, begun = -1; begun < next && next <= height;) {
    begun = next;
    const query = queryText({ from_height: next, to_height: height });
    const { body, headers } = await send(`/api/v1/export/blocks.ndjson?${query}`, { signal });
    try {
      for await (const lines of linesOf(body))
        for (const line of lines) {
          const read = parseBlock(JSON.parse(line));
          if ('problem' in read) throw new TypeError(VERIFY.problems.malformed(read.problem));
          yield { block: read.value, headers };
          next++;
        }
    } catch (error) {
      if (begun === next) throw error;
    }
  }
}
