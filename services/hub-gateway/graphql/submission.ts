/**
 * Sending. A node that is sent a transaction of a block again refuses it, as it refuses one whose
 * nonce another transaction has taken. A wallet that believes the first refusal signs the same
 * payment with the next nonce, and pays twice. So the hub tells the two apart.
 */
import { inclusionOf } from '../../../projections/explorer/queries/transactions.ts';
import { toHex } from '../../../schemas/address.ts';
import type { Hub } from './context.ts';
import { Refused } from './errors.ts';
import type { Submission } from './parameters.ts';

/** The read model is a fraction of a second behind the node, unless something is wrong. */
const READS_MAX = 30;
const READ_AGAIN_MS = 100;

/**
 * Sends a signed transaction to the node. Its answer, or `already_in_block`. A refusal is passed on
 * once the read model has every block that the node had, and none holds the transaction;
 * `nonce_too_low` once a block there holds another transaction with the nonce. So one node that is
 * behind another does no harm.
 */
export async function sendTransaction(
  { node, reader }: Pick<Hub, 'node' | 'reader'>,
  { raw, hash, sender, nonce }: Submission,
): Promise<unknown> {
  const { code, json } = await node.submit(raw);
  if (code === 'accepted' || code === 'already_known') return json;
  // the block for which the node refused is at most as high
  const { height: seen } = await node.head();
  for (let reads = 0; reads < READS_MAX; reads++) {
    if (reads > 0) await new Promise((resolve) => void setTimeout(resolve, READ_AGAIN_MS));
    const [row] = await reader.rows(inclusionOf(hash, sender));
    const [height = null, included = null, nextNonce = null] = row ?? [];
    if (included !== null)
      return {
        code: 'already_in_block',
        message: `block ${included} holds this transaction: it needs no sending`,
        transaction_hash: toHex(hash),
        block_height: Number(included),
      };
    const isTaken = nextNonce !== null && Number(nextNonce) > nonce;
    if (height !== null && Number(height) >= seen && (code !== 'nonce_too_low' || isTaken))
      return json;
  }
  throw new Refused(
    'UPSTREAM_ERROR',
    `the node refused the transaction (${code ?? 'without a code'}), and no block that is indexed shows why: one that is not may hold it, so send the same bytes again shortly, and sign no other`,
  );
}
