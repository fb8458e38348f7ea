/** Operators' keys, and decisions signed by them. */
import { Wallet } from 'ethers';
import { parseAddress } from '../../schemas/address.ts';
import type { OperatorsSet } from '../../schemas/treasury.ledger/events.ts';
import { decisionText, type SignedDecision } from '../../schemas/operator-signature.ts';

export const alice = new Wallet(`0x${'a1'.repeat(32)}`);
export const bob = new Wallet(`0x${'b0'.repeat(32)}`);
/** The mint authority's. */
export const authority = new Wallet(`0x${'3d'.repeat(32)}`);
/** No operator. */
export const mallory = new Wallet(`0x${'66'.repeat(32)}`);

/** The fields of a person's decision, written for offset 0. */
export const BY = { sequence: 0, decided_at: 1_790_000_000_000, actor: 'alice', reason: 'why' };

export function addressOf({ address }: Wallet): Buffer {
  return parseAddress(address) ?? Buffer.alloc(0);
}

/** `ledger_id`: of a ledger that is pinned. */
export function signed<Decision extends SignedDecision>(
  decision: Decision,
  wallet: Wallet,
  ledger_id?: Buffer,
): Decision {
  const signature = wallet.signMessageSync(decisionText(decision, ledger_id));
  return { ...decision, signature: Buffer.from(signature.slice(2), 'hex') };
}

/** The first list, which needs no signature: one operator decides alone. */
export function operatorsSet(...wallets: readonly Wallet[]): OperatorsSet {
  const operators = wallets.map(addressOf);
  return { type: 'OperatorsSet', ...BY, version: 1, operators, two_above: 0n };
}
