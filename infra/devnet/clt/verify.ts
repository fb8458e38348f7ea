/** Decodes raw transactions and checks their chain and signature. */
import type { BlockTransaction } from '../../../schemas/chain.blocks/events.ts';
import { toHex } from '../../../schemas/address.ts';
import { decodeRaw, recoverSigner, transactionHash } from '../../../schemas/raw-transaction.ts';
import type { FunctionCall } from '../../../schemas/function-call.ts';
import { refused, type Refused } from './calls.ts';

/** A transaction with a valid signature. */
export interface VerifiedTransaction {
  readonly hash: string;
  readonly raw: Uint8Array;
  readonly from: string;
  readonly nonce: number;
  readonly call: FunctionCall;
}

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
  if ('refused' in recovered) return refused('bad_signature', 'the signature matches no key');
  return {
    hash: transactionHash(raw),
    raw,
    from: recovered.signer,
    nonce: transaction.nonce,
    call: transaction.call,
  };
}

/** For bytes signed by this process: skips the recovery of the signer, most of the cost. */
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

/** For a transaction of the devnet's log, which was verified before it was written. */
export function verifiedBefore({ raw, from }: BlockTransaction): VerifiedTransaction {
  return verifiedByUs(raw, toHex(from));
}
