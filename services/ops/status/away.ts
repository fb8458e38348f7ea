/** Why a server does not serve, by the chain of causes of the error that its client met. */
import { errorType } from '../../runtime/kafka/port.ts';
import { NO_TRUST } from '../../runtime/postgres/pool.ts';
import { Fault, messageOf, propertyOf } from '../../runtime/process/errors.ts';

export type Why = 'refused' | 'silent' | 'expired' | 'untrusted' | 'account' | 'other';

/** Causes that are looked at: clients wrap one several times. */
const CAUSES_MAX = 8;
/** SQLSTATE class 28 apart, refusals of an account have no code. */
const ACCOUNT_REFUSED = /^SASL .* authentication failed|refuses? the (?:account|token) of/;
const LATE = /time(?:d )?-?out|no answer within|timeout expired|Query read timeout/i;

/** An error, its causes, and the parts of each that stands for several. */
function chainOf(error: unknown, depth = 0): readonly unknown[] {
  if (!(error instanceof Error) || depth > CAUSES_MAX) return [];
  const parts = error instanceof AggregateError ? error.errors : [];
  return [error, ...[error.cause, ...parts].flatMap((each) => chainOf(each, depth + 1))];
}

/** The kind of the failure; `cause`: the error of the chain that shows it. */
export function whyAway(error: unknown): { readonly why: Why; readonly cause: unknown } {
  const chain = chainOf(error);
  const found = (why: Why, shows: (code: string, message: string) => boolean) => {
    const cause = chain.findLast((each) =>
      shows(String(propertyOf(each, 'code')), messageOf(each)),
    );
    return cause === undefined ? undefined : { why, cause };
  };
  return (
    found('expired', (code) => code === 'CERT_HAS_EXPIRED') ??
    found('untrusted', (code) => NO_TRUST.test(code)) ??
    found('account', (code, said) => /^28...$/.test(code) || ACCOUNT_REFUSED.test(said)) ??
    found('refused', (code) => code === 'ECONNREFUSED') ??
    found('silent', (code, said) => code === 'ETIMEDOUT' || LATE.test(said)) ?? {
      why: 'other',
      cause: chain.at(-1) ?? error,
    }
  );
}

/** Faults of clients that no server has answered. */
const UNANSWERED = new Set(['timeout', 'storage_unreachable', 'storage_timeout']);

/** Whether this says no more than that a server did not answer. */
export function isSilence(fault: Fault): boolean {
  if (fault.code === 'kafka') return fault.shown === undefined && errorType(fault) === undefined;
  return UNANSWERED.has(fault.code);
}

/** How a server is reached, for the advice. */
export interface Reach {
  /** name on this machine, for `ops restart`; undefined: no stack of this machine has it */
  readonly part: string | undefined;
  /** settings with the account and with the authority of its certificate, as a subject */
  readonly account: string;
  readonly authority: string;
}

/** In words, with the first command to use. */
export function awayText(error: unknown, answer_ms: number, reach: Reach): string {
  const { part, account, authority } = reach;
  const { why, cause } = whyAway(error);
  switch (why) {
    case 'refused':
      return `stopped or crashed, nothing listens: ${part === undefined ? 'start it' : `npx ops start ${part}`}`;
    case 'silent':
      return `frozen or overloaded, or its machine is away, no answer in ${answer_ms / 1_000} s: ${part === undefined ? 'restart it' : `npx ops restart ${part}`}`;
    case 'expired':
      return `its certificate has expired: ${part === undefined ? 'renew it: runbook: CertificateExpires' : `npx ops restart ${part} renews it`}`;
    case 'untrusted':
      return `its certificate is not trusted (${String(propertyOf(cause, 'code'))}): ${authority} has to name the authority that signed it`;
    case 'account':
      return `refuses the account of ops (${messageOf(cause)}): ${account} has to be the one that it knows`;
    case 'other':
      return `${messageOf(cause)}: look at its log`;
  }
}

/** A fault with `awayText` behind its message, where its causes tell; other errors unchanged. */
export function withReason(error: unknown, answer_ms: number, reach: Reach): unknown {
  if (!(error instanceof Fault) || whyAway(error).why === 'other') return error;
  const text = `${error.message}: ${awayText(error, answer_ms, reach)}`;
  return new Fault(error.code, text, { retry: error.retry, cause: error });
}
