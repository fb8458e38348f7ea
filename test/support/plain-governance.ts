/**
 * Which records of the ledger count by their signatures, read naively. Operators decide alone here:
 * no log asks for two, and none has a second list, a second authority or a proposal. It shares no
 * code with the projection, except the schemas' signatures.
 */
import { signerOf, type SignedDecision } from '../../schemas/operator-signature.ts';
import type {
  AuthoritySet,
  LedgerPinned,
  MintingSet,
  OperatorsSet,
  TreasuryEvent,
} from '../../schemas/treasury.ledger/events.ts';
import type { Row } from './plain-fold-rows.ts';

type Theirs = OperatorsSet | AuthoritySet | LedgerPinned | MintingSet;
type Key = 'operator' | 'authority';

const NOBODY: readonly Buffer[] = [];
const POLICY_REASONS: ReadonlySet<string> = new Set(['below_minimum', 'over_single_cap']);

export class PlainGovernance {
  #operators: OperatorsSet | undefined;
  #authority: Buffer | undefined;
  #pin: LedgerPinned | undefined;
  isStopped = false;

  /** Whether a key that the event needs has signed it; `true` for an event that needs none. */
  admits(event: TreasuryEvent): boolean {
    const pinned: readonly Key[] = this.#pin === undefined ? [] : ['authority'];
    const asked: readonly Key[] = this.#operators === undefined ? [] : ['operator'];
    switch (event.type) {
      case 'LedgerPinned':
        return signerOf(event)?.equals(event.authority) === true;
      case 'PolicySet':
        return this.#has(event, event.version === 1 || asked.length === 0 ? pinned : asked);
      case 'OperatorsSet':
      case 'MintIntended':
      case 'MintDead':
        return this.#has(event, pinned);
      case 'AuthoritySet':
        return this.#authority === undefined && this.#has(event, pinned);
      case 'DepositHeld':
        return POLICY_REASONS.has(event.reason) || this.#has(event, pinned);
      case 'MintingSet':
      case 'DepositApproved':
      case 'DepositRejected':
      case 'DepositsDecided':
        return this.#has(event, asked);
      case 'MintVoided':
        return this.#has(event, ['authority', 'operator']);
      case 'RefundRecorded':
        return this.#has(event, ['operator']);
      case 'DepositConfirmed':
      case 'MintCredited':
      // money outside of deposits
      case 'CustodyPinned':
      case 'BaselinePinned':
      case 'MintAcknowledged':
      case 'SurplusBooked':
        return true;
    }
  }

  /** `network`: of the policy in force. */
  take(event: Theirs, network: string | undefined): void {
    switch (event.type) {
      case 'OperatorsSet':
        if (event.version === 1) this.#operators ??= event;
        break;
      case 'AuthoritySet':
        if (event.version === 1) this.#authority ??= event.authority;
        break;
      case 'LedgerPinned':
        if (this.#pin !== undefined || (network ?? event.network) !== event.network) return;
        if (this.#authority?.equals(event.authority) === false) return;
        this.#pin = event;
        this.#authority = event.authority;
        break;
      case 'MintingSet':
        this.isStopped = !event.open;
    }
  }

  /** Its columns of the table `ledger`. */
  get row(): Row {
    return {
      operators_version: this.#operators === undefined ? 0 : 1,
      operators: Buffer.concat(this.#operators?.operators ?? NOBODY),
      two_above: this.#operators?.two_above ?? 0n,
      authority_version: this.#authority === undefined ? 0 : 1,
      authority: this.#authority ?? Buffer.alloc(0),
      ledger_id: this.#pin?.ledger_id ?? Buffer.alloc(0),
      minting_stopped: this.isStopped,
      proposals: Buffer.alloc(0),
    };
  }

  /** Whether one of these keys has signed it; where none is asked for, everybody may write it. */
  #has(event: SignedDecision, keys: readonly Key[]): boolean {
    if (keys.length === 0) return true;
    const signer = signerOf(event, this.#pin?.ledger_id);
    const [operators, authority] = [this.#operators?.operators ?? NOBODY, this.#authority];
    return (
      signer !== undefined &&
      ((keys.includes('operator') && operators.some((each) => each.equals(signer))) ||
        (keys.includes('authority') && authority?.equals(signer) === true))
    );
  }
}

export function isTheirs(event: TreasuryEvent): event is Theirs {
  return ['OperatorsSet', 'AuthoritySet', 'LedgerPinned', 'MintingSet'].includes(event.type);
}
