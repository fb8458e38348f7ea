/**
 * Sending. A node that is sent a transaction of a block again refuses it, as it refuses one whose
 * nonce another transaction has taken. A wallet that believes the first refusal signs the same
 * payment with the next nonce, and pays twice. So the hub tells the two apart.
 */
import { inclusionOf } from '../../../projections/explorer/queries/transactions.ts';
import { transactionHash } from '../../../schemas/raw-transaction.ts';
import type { Hub } from './context.ts';
import { Refused } from './errors.ts';

/** The read model is a fraction of a second behind the node, unless something is wrong. */
const READS_MAX = 30;
const READ_AGAIN_MS = 100;

/**
 * Sends a signed transaction, 0x + hex, to the node. Its answer, or `already_in_block`. A refusal
 * is passed on once the read model has every block that the node had, and none holds the
 * transaction.
 */
export async function sendTransaction(
  { node, reader }: Pick<Hub, 'node' | 'reader'>,
  raw: string,
): Promise<unknown> {
  const { code, json } = await node.submit(raw);
  if (code === 'accepted' || code === 'already_known') return json;
  const hash = transactionHash(Buffer.from(raw.slice(2), 'hex'));
  // the block for which the node refused is at most as high
  const { height: seen } = await node.head();
  for (let reads = 0; reads < READS_MAX; reads++) {
    if (reads > 0) await new Promise((resolve) => void setTimeout(resolve, READ_AGAIN_MS));
    const [row] = await reader.rows(inclusionOf(Buffer.from(hash.slice(2), 'hex')));
    const [height = null, included = null] = row ?? [];
    if (included !== null)
      return {
        code: 'already_in_block',
        message: `block ${included} holds this transaction: it needs no sending`,
        transaction_hash: hash,
        block_height: Number(included),
      };
    if (height !== null && Number(height) >= seen) return json;
  }
  throw new Refused(
    'UPSTREAM_ERROR',
    `the node refused the transaction (${code ?? 'without a code'}), and the newest blocks are not indexed yet: one of them may hold it, so send the same bytes again shortly, and sign no other`,
  );
}
