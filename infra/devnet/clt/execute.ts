/** One transaction against the state: who may, whether they can afford it, what moves. */
import { AMOUNT_MAX } from '../../../schemas/money.ts';
import type { Call, FunctionCall } from '../../../schemas/function-call.ts';
import type { CallContext, CallOutcome, CallRefusalCode, Effect, Refused } from './call-outcome.ts';
import { refused } from './call-outcome.ts';
import type { Parameters } from './parameters.ts';
import { ZERO_ADDRESS } from './parameters.ts';
import {
  decideAcceptance,
  decideCancel,
  decideOffer,
  decidePay,
  decideRequest,
  decideRequestCancel,
} from './ride.ts';
import type { Draft } from './state.ts';
import { SUPPLY, accountOf, write } from './state.ts';

/** A transaction whose signature was checked. */
export interface VerifiedTransaction {
  readonly hash: string;
  readonly raw: Uint8Array;
  readonly from: string;
  readonly nonce: number;
  readonly call: FunctionCall;
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
 * Executes on the draft, or refuses and leaves it as it was. `producer` is undefined for a transaction that waits for a block: it is then charged the
 * fee, so that what can be afforded while waiting can be afforded in any block.
 */
export function execute(
  draft: Draft,
  transaction: VerifiedTransaction,
  parameters: Parameters,
  producer: string | undefined,
): Executed | ExecutionRefusal {
  const { from, call } = transaction;
  const account = accountOf(draft, from);
  if (transaction.nonce < account.nonce)
    return refused('nonce_too_low', `the next nonce of ${from} is ${account.nonce}`);
  if (transaction.nonce > account.nonce)
    return refused('nonce_gap', `the next nonce of ${from} is ${account.nonce}`);
  const outcome = decide({ view: draft, parameters, sender: from, hash: transaction.hash }, call);
  if ('refused' in outcome) return outcome;
  const fee =
    call.function_call_type === 'RideAcceptance' || from === producer ? 0n : parameters.tx_fee;
  if (account.balance < outcome.debit + fee) {
    return refused(
      'insufficient_balance',
      `${from} has ${account.balance} base units and needs ${outcome.debit + fee}`,
    );
  }
  const feePaid: Effect = {
    address: from,
    kind: 'tx_fee_paid',
    delta: -fee,
    counterparty: producer ?? null,
  };
  const effects = fee === 0n ? outcome.effects : [...outcome.effects, feePaid];
  draft.apply(write('accounts', from, { balance: account.balance, nonce: account.nonce + 1 }));
  // debits first, so that an account that pays itself is not below zero in between
  for (const effect of effects) if (effect.delta < 0n) draft.move(effect.address, effect.delta);
  for (const effect of effects) if (effect.delta > 0n) draft.move(effect.address, effect.delta);
  for (const each of outcome.writes) draft.apply(each);
  return { transaction, outcome, effects, fee };
}

function decide(context: CallContext, call: FunctionCall): CallOutcome | Refused<CallRefusalCode> {
  switch (call.function_call_type) {
    case 'RideRequest':
      return decideRequest(context, call);
    case 'RideOffer':
      return decideOffer(context, call);
    case 'RideAcceptance':
      return decideAcceptance(context, call);
    case 'RidePay':
      return decidePay(context, call);
    case 'RideCancel':
      return decideCancel(context, call);
    case 'RideRequestCancel':
      return decideRequestCancel(context, call);
    case 'Mint':
      return decideMint(context, call);
    case 'Transfer':
      return decideTransfer(context, call);
    case 'Burn':
      return decideBurn(context, call);
  }
}

function decideMint(
  { view, parameters, sender }: CallContext,
  call: Call<'Mint'>,
): CallOutcome | Refused<CallRefusalCode> {
  const { to, amount } = call.arguments;
  if (sender !== parameters.mint_authority)
    return refused('not_allowed', 'only the mint authority can mint');
  if (amount === 0n) return refused('amount_is_zero', 'a mint must be above zero');
  const supply = (view.get('supply', SUPPLY) ?? 0n) + amount;
  if (supply > AMOUNT_MAX) return refused('supply_overflow', 'the supply would pass 2^256 - 1');
  const effects: readonly Effect[] = [
    { address: to, kind: 'mint', delta: amount, counterparty: sender },
  ];
  return { to, amount, debit: 0n, effects, writes: [write('supply', SUPPLY, supply)] };
}

function decideTransfer(
  { sender }: CallContext,
  call: Call<'Transfer'>,
): CallOutcome | Refused<CallRefusalCode> {
  const { to, amount } = call.arguments;
  if (amount === 0n) return refused('amount_is_zero', 'a transfer must be above zero');
  const effects: readonly Effect[] = [
    { address: sender, kind: 'transfer_out', delta: -amount, counterparty: to },
    { address: to, kind: 'transfer_in', delta: amount, counterparty: sender },
  ];
  return { to, amount, debit: amount, effects, writes: [] };
}

function decideBurn(
  { view, sender }: CallContext,
  call: Call<'Burn'>,
): CallOutcome | Refused<CallRefusalCode> {
  const { amount } = call.arguments;
  if (amount === 0n) return refused('amount_is_zero', 'a burn must be above zero');
  const supply = (view.get('supply', SUPPLY) ?? 0n) - amount;
  const effects: readonly Effect[] = [
    { address: sender, kind: 'burn', delta: -amount, counterparty: null },
  ];
  return {
    to: ZERO_ADDRESS,
    amount,
    debit: amount,
    effects,
    writes: [write('supply', SUPPLY, supply)],
  };
}
