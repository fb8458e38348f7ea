/** Verifies chain and signature of one transaction, and executes it. */
import type { FunctionCall } from '../../../schemas/function-call.ts';
import { decodeRaw, recoverSigner, transactionHash } from '../../../schemas/raw-transaction.ts';
import {
  decideCall,
  refused,
  type CallOutcome,
  type CallRefusalCode,
  type Effect,
  type Refused,
} from './calls.ts';
import { accountAt, write, type Parameters, type StateOverlay } from './state.ts';

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
  const { chain_id, nonce, call } = decoded.transaction;
  if (chain_id !== chainId)
    return refused('wrong_chain', `this is chain ${chainId}, the transaction is for ${chain_id}`);
  const recovered = recoverSigner(decoded.transaction);
  if ('refused' in recovered) return refused('bad_signature', 'the signature matches no key');
  return { hash: transactionHash(raw), raw, from: recovered.signer, nonce, call };
}

/** For bytes that this process signed or verified before: skips the recovery of the signer. */
export function verifiedByUs(raw: Uint8Array, from: string): VerifiedTransaction {
  const decoded = decodeRaw(raw);
  if ('refused' in decoded)
    throw new Error(`our own transaction cannot be decoded: ${decoded.refused}`);
  const { nonce, call } = decoded.transaction;
  return { hash: transactionHash(raw), raw, from, nonce, call };
}

export type ExecutionRefusal = Refused<
  CallRefusalCode | 'nonce_too_low' | 'nonce_gap' | 'insufficient_balance'
>;

export interface Executed {
  readonly transaction: VerifiedTransaction;
  readonly outcome: CallOutcome;
  /** the call's, then the fee's */
  readonly effects: readonly Effect[];
  readonly fee: bigint;
}

/**
 * Executes on the overlay, or refuses and leaves it unchanged. `producer` is undefined for a
 * waiting transaction, which then pays the fee: it is affordable in a block of any producer.
 */
export function execute(
  state: StateOverlay,
  transaction: VerifiedTransaction,
  parameters: Parameters,
  producer: string | undefined,
): Executed | ExecutionRefusal {
  const { from, call } = transaction;
  const account = accountAt(state, from);
  if (transaction.nonce < account.nonce)
    return refused('nonce_too_low', `the next nonce of ${from} is ${account.nonce}`);
  if (transaction.nonce > account.nonce)
    return refused('nonce_gap', `the next nonce of ${from} is ${account.nonce}`);
  const outcome = decideCall({ state, parameters, sender: from, hash: transaction.hash }, call);
  if ('refused' in outcome) return outcome;
  const isFree = call.function_call_type === 'RideAcceptance' || from === producer;
  const fee = isFree ? 0n : parameters.tx_fee;
  const needed = outcome.debit + fee;
  if (account.balance < needed)
    return refused(
      'insufficient_balance',
      `${from} has ${account.balance} base units and needs ${needed}`,
    );
  const feePaid: Effect = {
    address: from,
    kind: 'tx_fee_paid',
    delta: -fee,
    counterparty: producer ?? null,
  };
  const effects = fee === 0n ? outcome.effects : [...outcome.effects, feePaid];
  state.apply(write('accounts', from, { balance: account.balance, nonce: account.nonce + 1 }));
  // debits first: an account that pays itself must not go below zero in between
  for (const effect of effects) if (effect.delta < 0n) state.move(effect.address, effect.delta);
  for (const effect of effects) if (effect.delta > 0n) state.move(effect.address, effect.delta);
  for (const each of outcome.writes) state.apply(each);
  return { transaction, outcome, effects, fee };
}
