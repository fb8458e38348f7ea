/**
 * Operators' signatures of decisions, and the mint authority's of reserve runs: EIP-191 over a text
 * that states the event and the position in the log that it was made for, so that a signature is
 * valid for one record only.
 */
import { hashMessage, recoverAddress, sha256, type SigningKey } from 'ethers';
import { LRUCache } from 'lru-cache';
import { keptBytes, parseAddress } from './address.ts';
import type { ReserveReconciled } from './reserve.runs/events.ts';
import type {
  DepositApproved,
  DepositHeld,
  DepositRejected,
  DepositsDecided,
  GovernanceEvent,
  LedgerPinned,
  MintDead,
  MintIntended,
  MintVoided,
  PolicySet,
  RefundRecorded,
} from './treasury.ledger/events.ts';

/** The decisions of persons. */
export type HumanDecision =
  | Exclude<GovernanceEvent, LedgerPinned>
  | PolicySet
  | DepositApproved
  | DepositRejected
  | DepositsDecided
  | MintVoided
  | RefundRecorded;

/** The records of the treasury that only its mint authority can write. */
export type AuthorityDecision = LedgerPinned | DepositHeld | MintIntended | MintDead;

/** The records of the ledger that may carry a signature. */
export type SignedDecision = HumanDecision | AuthorityDecision;

type Signed = SignedDecision | ReserveReconciled;

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
  DepositsDecided: [...COMMON, 'decision', 'deposit_ids', 'gross', 'credit'],
  RefundRecorded: [...COMMON, 'deposit_id', 'tron_tx_id', 'amount'],
  LedgerPinned: [
    'sequence',
    'decided_at',
    'ledger_id',
    'network',
    'chain_id',
    'usdt_contract',
    'authority',
  ],
  MintingSet: [...COMMON, 'open'],
  DepositHeld: ['sequence', 'decided_at', 'deposit_id', 'reason'],
  MintIntended: [
    'sequence',
    'decided_at',
    'deposit_id',
    'nonce',
    'to',
    'amount',
    'fee',
    'policy_version',
    'tx_hash',
  ],
  MintDead: [
    'sequence',
    'decided_at',
    'deposit_id',
    'tx_hash',
    'nonce',
    'other_tx_hash',
    'block_height',
  ],
  MintVoided: [...COMMON, 'deposit_id', 'tx_hash', 'nonce'],
  ReserveReconciled: [...RUN, ...OF, ...SUPPLY, ...CUSTODY, ...DEPOSITS],
};

/** Fields that came later: they are signed where they say something. */
const SIGNED_LATER: Readonly<Partial<Record<Signed['type'], readonly string[]>>> = {
  ReserveReconciled: ['unproven', 'unminted', 'unproven_refunds', 'frozen'],
};

/** r, s and v */
const SIGNATURE_BYTES = 65;

/**
 * The text that is signed: the event's name, then its signed fields, a line each, then the ledger
 * that it is of (its id, 32 bytes), once that is pinned.
 */
export function decisionText(decision: Signed, ledger_id?: Buffer): string {
  const values = new Map<string, unknown>(Object.entries(decision));
  const later = (SIGNED_LATER[decision.type] ?? []).filter(
    (name) => (values.get(name) ?? 0n) !== 0n,
  );
  const fields = [...SIGNED[decision.type], ...later].map((name) => lineOf(name, values));
  const of = ledger_id === undefined ? [] : [`ledger: ${textOf(ledger_id)}`];
  return ['CLT treasury', decision.type, ...fields, ...of].join('\n');
}

/**
 * SHA-256 of what a decision decides, whoever makes it, when and why: two operators who decide the
 * same have it in common.
 */
export function contentOf(decision: HumanDecision): Buffer {
  const values = new Map<string, unknown>(Object.entries(decision));
  const fields = SIGNED[decision.type]
    .filter((name) => !COMMON.includes(name))
    .map((name) => lineOf(name, values));
  return keptBytes(sha256(Buffer.from([decision.type, ...fields].join('\n'))));
}

function lineOf(name: string, values: ReadonlyMap<string, unknown>): string {
  const value = values.get(name);
  const isMany = name === 'deposit_ids' && Array.isArray(value);
  return `${name}: ${isMany ? idsText(value) : textOf(value)}`;
}

/**
 * How many ids, and SHA-256 of them in their order, a line each: short enough for the display of a
 * device that signs.
 */
function idsText(ids: readonly unknown[]): string {
  return `${ids.length}, SHA-256 ${sha256(Buffer.from(ids.map((id) => `${String(id)}\n`).join('')))}`;
}

/** r, s and v over the text. */
export function signatureBy(key: SigningKey, decision: Signed, ledger_id?: Buffer): Buffer {
  const digest = hashMessage(decisionText(decision, ledger_id));
  return Buffer.from(key.sign(digest).serialized.slice(2), 'hex');
}

/** By digest and signature: several folds of one process check the decisions of the same log. */
const signers = new LRUCache<string, { readonly address: Buffer | undefined }>({ max: 4_096 });

/** The address of the key that signed the event; undefined without a valid signature. */
export function signerOf(decision: Signed, ledger_id?: Buffer): Buffer | undefined {
  return decision.signature && signerOfText(decisionText(decision, ledger_id), decision.signature);
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
