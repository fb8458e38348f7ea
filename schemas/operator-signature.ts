/**
 * Operators' signatures of decisions: EIP-191 over a text that states the decision and the position
 * in the ledger that it was made for, so that a signature is valid for one record only.
 */
import { hashMessage, recoverAddress } from 'ethers';
import { LRUCache } from 'lru-cache';
import { parseAddress } from './address.ts';
import type {
  DepositApproved,
  DepositRejected,
  GovernanceEvent,
  PolicySet,
  RefundRecorded,
} from './treasury.ledger/events.ts';

/** The decisions of persons. */
export type HumanDecision =
  GovernanceEvent | PolicySet | DepositApproved | DepositRejected | RefundRecorded;

/** The fields of every decision. */
const COMMON = ['sequence', 'decided_at', 'actor', 'reason'];
const LIMITS = ['first_fee', 'later_fee', 'minimum', 'single_cap', 'rolling_cap'];

/** The signed fields of each event. A field added later would change the text of old decisions. */
const SIGNED: Readonly<Record<HumanDecision['type'], readonly string[]>> = {
  PolicySet: [...COMMON, 'version', 'network', ...LIMITS],
  OperatorsSet: [...COMMON, 'version', 'operators', 'two_above'],
  CustodyPinned: [...COMMON, 'version', 'usdt_contract', 'custody_addresses'],
  AuthoritySet: [...COMMON, 'version', 'authority'],
  BaselinePinned: [...COMMON, 'block_height', 'block_hash', 'supply', 'liability'],
  MintAcknowledged: [...COMMON, 'tx_hash', 'to', 'amount', 'block_height'],
  SurplusBooked: [...COMMON, 'amount'],
  DepositApproved: [...COMMON, 'deposit_id'],
  DepositRejected: [...COMMON, 'deposit_id'],
  RefundRecorded: [...COMMON, 'deposit_id', 'tron_tx_id', 'amount'],
};

/** r, s and v */
const SIGNATURE_BYTES = 65;

/** The text that an operator signs: the event's name, then its signed fields, a line each. */
export function decisionText(decision: HumanDecision): string {
  const values = new Map<string, unknown>(Object.entries(decision));
  const fields = SIGNED[decision.type].map((name) => `${name}: ${textOf(values.get(name))}`);
  return ['CLT treasury', decision.type, ...fields].join('\n');
}

/** By digest and signature: several folds of one process check the decisions of the same log. */
const signers = new LRUCache<string, { readonly address: Buffer | undefined }>({ max: 4_096 });

/** The address of the key that signed the decision; undefined without a valid signature. */
export function signerOf(decision: HumanDecision): Buffer | undefined {
  if (decision.signature?.length !== SIGNATURE_BYTES) return undefined;
  const digest = hashMessage(decisionText(decision));
  const signature = `0x${decision.signature.toString('hex')}`;
  const key = `${digest} ${signature}`;
  const signer = signers.get(key) ?? { address: recovered(digest, signature) };
  signers.set(key, signer);
  return signer.address;
}

function recovered(digest: string, signature: string): Buffer | undefined {
  try {
    return parseAddress(recoverAddress(digest, signature));
  } catch {
    // a signature that is on no point of the curve
    return undefined;
  }
}

/** Bytes as 0x + hex, text as JSON, so that no value can pass for another line. */
function textOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return `0x${value.toString('hex')}`;
  if (Array.isArray(value)) return `[${value.map(textOf).join(', ')}]`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
