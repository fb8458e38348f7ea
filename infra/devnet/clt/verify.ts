/** From bytes to a transaction that the rules may look at: decoded strictly, for this chain, signed by whom it says. */
import type { BlockTransaction } from '../../../schemas/chain.blocks/events.ts';
import { toHex } from '../../../schemas/address.ts';
import { decodeRaw, recoverSigner, transactionHash } from '../../../schemas/raw-transaction.ts';
import type { Refused } from './call-outcome.ts';
import { refused } from './call-outcome.ts';
import type { VerifiedTransaction } from './execute.ts';

export type VerifyRefusal = Refused<'invalid_transaction' | 'wrong_chain' | 'bad_signature'>;

export function verify(raw: Uint8Array, chainId: number): VerifiedTransaction | VerifyRefusal {
  const decoded = decodeRaw(raw);
  if ('refused' in decoded)
    return refused(
      'invalid_transaction',
      `the raw transaction cannot be decoded: ${decoded.refused}`,
    );
  const { transaction } = decoded;
  if (transaction.chain_id !== chainId)
    return refused(
      'wrong_chain',
      `this is chain ${chainId}, the transaction is for ${transaction.chain_id}`,
    );
  const recovered = recoverSigner(transaction);
  if ('refused' in recovered) return refused('bad_signature', 'the signature belongs to no key');
  return {
    hash: transactionHash(raw),
    raw,
    from: recovered.signer,
    nonce: transaction.nonce,
    call: transaction.call,
  };
}

/** The same for bytes that this process signed itself: who signed is known, so the signature is not recovered (most of the cost). */
export function verifiedByUs(raw: Uint8Array, from: string): VerifiedTransaction {
  const decoded = decodeRaw(raw);
  if ('refused' in decoded)
    throw new Error(`our own transaction cannot be decoded: ${decoded.refused}`);
  return {
    hash: transactionHash(raw),
    raw,
    from,
    nonce: decoded.transaction.nonce,
    call: decoded.transaction.call,
  };
}

/** The same for a transaction of our own log: it was verified before it was written, and the log has checksums. */
export function verifiedBefore({ raw, from }: BlockTransaction): VerifiedTransaction {
  return verifiedByUs(raw, toHex(from));
}
