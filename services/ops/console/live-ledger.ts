/**
 * The ledger as it grows, for the operations page: who is in force, and decisions that the page
 * signs. A decision is made twice: once to say which text to sign, and again with the signature.
 * Both have the same fields, or it is refused.
 */
import {
  decideTogether,
  type DecidedTogether,
} from '../../../projections/deposits/domain/approval.ts';
import type { Ledger } from '../../../projections/deposits/domain/ledger.ts';
import { keyBytes, toHex } from '../../../schemas/address.ts';
import type { Proposal } from '../../../schemas/operations-api/answers.ts';
import type { Wanted } from '../../../schemas/operations-api/document.ts';
import { decisionText } from '../../../schemas/operator-signature.ts';
import { depositEventsIn, type DepositEvent } from '../../../schemas/treasury.ledger/events.ts';
import { Fault, type Refusal } from '../../runtime/process/errors.ts';
import { untilAborted } from '../../runtime/process/retry.ts';
import type { LogPosition } from '../audit/findings.ts';
import { EFFECTS, whyLeftOut } from '../deposit/decisions.ts';
import type { LedgerLog } from '../deposit/ledger-log.ts';
import { REFUSALS, signed, type DecisionRefusal } from '../governance/decide.ts';
import type { Admission } from './sign-in.ts';

/** Between two looks at the end of the ledger. */
const FOLLOW_MS = 1_000;
/** A decision is signed within this time. */
const PROPOSAL_MS = 10 * 60_000;

/** The operator is the address of the key that signs. */
export type Signing = Wanted & { readonly operator: Buffer };

/** The fields that the ledger and the clock give; the signature covers them. */
type Place = Pick<Proposal, 'sequence' | 'decided_at'>;

type Refused = Refusal<DecisionRefusal | 'ledger_moved' | 'too_late' | 'not_ready'>;

type Log = Pick<LedgerLog, 'ledger' | 'catchUp' | 'decide'>;

export class LiveLedger {
  readonly #open: () => Promise<Log>;
  readonly #now: () => number;
  #log: Log | undefined;
  #problem: string | undefined = 'the ledger is being read: try again shortly';
  #isRead = false;
  /** ends when nobody reads or appends: requests do so one at a time */
  #turn: Promise<unknown> = Promise.resolve();

  /** `open` throws a fault with retry while a server is away. `now`: Unix milliseconds. */
  constructor(open: () => Promise<Log>, now: () => number) {
    this.#open = open;
    this.#now = now;
  }

  /** Follows the ledger until the signal is aborted, through every failure of the brokers. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#alone((log) => log.catchUp());
        this.#isRead = true;
        this.#problem = undefined;
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        this.#problem = error.message;
      }
      await untilAborted(FOLLOW_MS, signal);
    }
  }

  /** Undefined until it was read once. */
  get ledger(): Ledger | undefined {
    return this.#isRead ? this.#log?.ledger : undefined;
  }

  /** Why it is not read, or not followed now. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The operators in force. Without any, decisions count unsigned: on a testnet any key may. */
  admission(): Admission {
    const { ledger } = this;
    if (ledger === undefined)
      return {
        refused: 'not_ready',
        message: this.#problem ?? 'the ledger is being read: try again shortly',
      };
    const operators = ledger.governance.operators?.operators;
    if (operators === undefined && ledger.policy?.network !== 'testnet')
      return { refused: 'not_ready', message: REFUSALS.no_operators };
    return { operators };
  }

  /** Catches up first, so that the text names the present end of the ledger. */
  async propose(wanted: Signing): Promise<Proposal | Refused> {
    const decided_at = this.#now();
    return this.#alone(async (log) => {
      await log.catchUp();
      const sequence = Number(log.ledger.end);
      const decided = decisionOf(log.ledger, wanted, decided_at);
      if ('refused' in decided) return worded(decided.refused);
      const [event] = decided.events;
      const { ledger_id: ledgerId } = log.ledger.governance;
      const ledger_id = ledgerId === undefined ? null : toHex(ledgerId);
      const text = event === undefined ? null : decisionText(event, ledgerId);
      const deposit_ids = event === undefined ? [] : depositEventsIn(event).map(idOf);
      const left_out = [...decided.left_out].map(([deposit_id, reason]) => {
        return { deposit_id, why: whyLeftOut(reason) };
      });
      return { sequence, decided_at, ledger_id, text, deposit_ids, left_out };
    });
  }

  /** Appends the decision; undefined where it was decided before. */
  async decide(
    wanted: Signing,
    { sequence, decided_at }: Place,
    signature: Buffer,
  ): Promise<{ readonly appended: LogPosition | undefined } | Refused> {
    const age = this.#now() - decided_at;
    if (!(age >= 0 && age <= PROPOSAL_MS))
      return { refused: 'too_late', message: 'the text was signed too late: decide again' };
    const decided = await this.#alone((log) =>
      log.decide((ledger) => {
        const made = decisionOf(ledger, wanted, decided_at);
        if ('refused' in made || made.events.length === 0) return made;
        if (Number(ledger.end) !== sequence) return { refused: 'ledger_moved' as const };
        return signed(ledger, made, { address: wanted.operator, sign: () => signature });
      }),
    );
    return 'refused' in decided ? worded(decided.refused) : decided;
  }

  async #alone<Result>(use: (log: Log) => Promise<Result>): Promise<Result> {
    const turn = this.#turn.then(async () => use((this.#log ??= await this.#open())));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

function decisionOf(ledger: Ledger, { verb, ...wanted }: Signing, now: number): DecidedTogether {
  return decideTogether(verb, ledger, { ...wanted, now });
}

function idOf({ deposit_id: depositId }: DepositEvent): string {
  return depositId;
}

function worded(refused: DecisionRefusal | 'ledger_moved'): Refused {
  const message =
    refused === 'ledger_moved'
      ? 'another record came first, so the signature is for a place that is taken: sign once more'
      : REFUSALS[refused];
  return { refused, message };
}

/** The effect of each decision on a deposit, before anybody is asked; undefined without it. */
export function effectsOf(ledger: Ledger, deposit_id: string) {
  const deposit = ledger.deposit(deposit_id);
  if (deposit.status !== 'needs_manual' || deposit.rejected) return undefined;
  const { terms, approved_by } = deposit;
  return {
    approve: EFFECTS.approve(terms, toHex(terms.clt_address)),
    reject: EFFECTS.reject(terms),
    approved_by: approved_by.map((key) => toHex(keyBytes(key))),
  };
}
