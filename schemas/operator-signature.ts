/**
 * Operators' signatures of decisions, and the mint authority's of reserve runs: EIP-191 over a text
 * that states the event and the position in the log that it was made for, so that a signature is
 * valid for one record only.
 */
import { hashMessage, recoverAddress, type SigningKey } from 'ethers';
import { LRUCache } from 'lru-cache';
import { parseAddress } from './address.ts';
import type { ReserveReconciled } from './reserve.runs/events.ts';
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

type Signed = HumanDecision | ReserveReconciled;

/** The fields of every decision. */
const COMMON = ['sequence', 'decided_at', 'actor', 'reason'];
const LIMITS = ['first_fee', 'later_fee', 'minimum', 'single_cap', 'rolling_cap'];
/** The fields of a reserve run. */
const RUN = ['sequence', 'previous', 'run_id', 'run_at', 'begun_at', 'oldest_reading_at', 'status'];
const OF = ['ledger_offset', 'ledger_head', 'block_height', 'block_hash'];
const SUPPLY = ['onchain_supply', 'genesis_allocation', 'treasury_minted', 'burned'];
const CUSTODY = ['ledger_liability', 'custody_reported', 'uncovered', 'booked_surplus', 'refunded'];
const DEPOSITS = ['held', 'retained_fees', 'minting', 'waiting'];

/** The signed fields of each event. A field added later would change the text of old records. */
const SIGNED: Readonly<Record<Signed['type'], readonly string[]>> = {
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
  ReserveReconciled: [...RUN, ...OF, ...SUPPLY, ...CUSTODY, ...DEPOSITS],
};

/** r, s and v */
const SIGNATURE_BYTES = 65;

/** The text that is signed: the event's name, then its signed fields, a line each. */
export function decisionText(decision: Signed): string {
  const values = new Map<string, unknown>(Object.entries(decision));
  const fields = SIGNED[decision.type].map((name) => `${name}: ${textOf(values.get(name))}`);
  return ['CLT treasury', decision.type, ...fields].join('\n');
}

/** r, s and v over the text. */
export function signatureBy(key: SigningKey, decision: Signed): Buffer {
  return Buffer.from(key.sign(hashMessage(decisionText(decision))).serialized.slice(2), 'hex');
}

/** By digest and signature: several folds of one process check the decisions of the same log. */
const signers = new LRUCache<string, { readonly address: Buffer | undefined }>({ max: 4_096 });

/** The address of the key that signed the event; undefined without a valid signature. */
export function signerOf(decision: Signed): Buffer | undefined {
  return decision.signature && signerOfText(decisionText(decision), decision.signature);
}

/** The address of the key that signed the text as EIP-191 says, which is how wallets sign text. */
export function signerOfText(text: string, bytes: Buffer): Buffer | undefined {
  if (bytes.length !== SIGNATURE_BYTES) return undefined;
  const digest = hashMessage(text);
  const signature = `0x${bytes.toString('hex')}`;
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
