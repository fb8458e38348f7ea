/** POST /v1/transactions: what the node says to a transaction, honest or with one of the faults. */
import type { Response } from 'express';
import { answer, refuse } from './http.ts';
import type { Faults } from './faults.ts';
import type { CltNode, SubmitRefusal } from './clt/node.ts';
import { signCall } from './clt/keys.ts';
import { verify, verifiedByUs } from './clt/verify.ts';

/** Conflicts with what is there are 409, what never can be is 400, what only another may do 403. */
const STATUS: Readonly<Record<SubmitRefusal['refused'], number>> = {
  invalid_transaction: 400,
  wrong_chain: 400,
  bad_signature: 400,
  amount_is_zero: 400,
  supply_overflow: 400,
  not_allowed: 403,
  already_known: 409,
  nonce_too_low: 409,
  nonce_gap: 409,
  insufficient_balance: 409,
  request_not_open: 409,
  offer_not_open: 409,
  trip_not_active: 409,
  too_many_offers: 409,
  mempool_full: 503,
};

export function submitted(node: CltNode, faults: Faults, raw: Buffer, response: Response): void {
  if (faults.take('already_known') !== undefined) {
    refuse(response, 409, 'already_known', 'the transaction waits for a block already');
    return;
  }
  const transaction = verify(raw, node.chain.parameters.chain_id);
  if ('refused' in transaction) {
    refuse(response, STATUS[transaction.refused], transaction.refused, transaction.message);
    return;
  }
  if (
    transaction.call.function_call_type === 'Mint' &&
    transaction.from === node.genesis.cast.mint_authority.address
  ) {
    if (faults.take('human_takes_nonce') !== undefined) takeNonce(node, transaction.nonce);
  }
  const result = node.enqueue(transaction);
  if (faults.take('nonce_too_low') !== undefined) {
    refuse(response, 409, 'nonce_too_low', 'the nonce was used already');
    return;
  }
  if (faults.take('unknown_transaction') !== undefined) {
    refuse(response, 404, 'unknown_transaction', 'the transaction is not known');
    return;
  }
  const silence = faults.take('accept_then_timeout');
  if (silence !== undefined) {
    const timer = setTimeout(() => response.destroy(), silence.delay_ms);
    response.once('close', () => clearTimeout(timer));
    return;
  }
  if ('refused' in result) refuse(response, STATUS[result.refused], result.refused, result.message);
  else answer(response, { transaction_hash: result.hash });
}

/** What a person does who uses the mint authority's key in a wallet of their own: a transfer of one base unit, at the nonce that the treasury chose. */
function takeNonce(node: CltNode, nonce: number): void {
  const { mint_authority, faucet } = node.genesis.cast;
  const call = {
    function_call_type: 'Transfer',
    arguments: { to: faucet.address, amount: 1n },
  } as const;
  node.enqueue(
    verifiedByUs(
      signCall(mint_authority, node.chain.parameters.chain_id, nonce, call),
      mint_authority.address,
    ),
  );
}
