/** The meanings of a text in the search box, in each spelling that the console itself shows. */
import { FUNCTION_CALL_TYPES } from '../../../../schemas/function-call.ts';
import type { Name } from '../design/names.ts';
import { TEXT } from '../text.ts';

/** Something that a search leads to, or that it does. */
export interface Hit {
  readonly kind:
    'page' | 'type' | 'block' | 'transaction' | 'account' | 'run' | 'deposit' | 'forget';
  /** of a page: its path */
  readonly identifier: string;
  /** for people; default: the identifier */
  readonly name?: string;
  readonly summary?: string;
}

const { nav } = TEXT;
/** The pages of the bar. */
export const BAR = [
  ['/', nav.chain],
  ['/transactions', nav.transactions],
  ['/validators', nav.validators],
  ['/charts', nav.charts],
  ['/reserve', nav.reserve],
  ['/market', nav.market],
  ['/deposits', nav.deposits],
] as const;
export const PAGES = BAR.map(([identifier, name]): Hit => ({ kind: 'page', identifier, name }));
const TYPES: readonly Hit[] = FUNCTION_CALL_TYPES.map((type) => ({
  kind: 'type',
  identifier: type,
  name: type.replaceAll(/\B(?=[A-Z])/g, ' '),
}));

const HEIGHT = /^(?:#|block |height )? *(?<digits>\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+|\d+)$/;
/** The beginning, and the end, by which nothing can be asked for. */
const SHORTENED = /^(?<begin>(?:0x)?[0-9a-f]{2,})…[0-9a-f]*$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** The id of an older run. */
const RUN = /^\d{1,15}:\w{1,20}$/;
/** An address, or the hash of a transaction, which the chain's own look like too. */
const TRON = /^(?:T[1-9A-HJ-NP-Za-km-z]{33}|[0-9A-Fa-f]{64})$/;

const ACCOUNTS_MAX = 8;
/** More than anything to find has; an address that is longer may be refused. */
const ASKED_MAX = 100;

/** The text as the explorer takes it: a height without separators, a hash as it begins. */
export function askedText(typed: string): string {
  const text = typed.trim().toLowerCase();
  const height = HEIGHT.exec(text)?.groups?.['digits']?.replaceAll(/\D/g, '');
  const asked = height ?? SHORTENED.exec(text)?.groups?.['begin'] ?? typed.trim();
  return asked.slice(0, ASKED_MAX);
}

/** The height that it names; undefined: it may be something else, as the beginning of a hash. */
export function heightIn(typed: string): bigint | undefined {
  const text = typed.trim().toLowerCase();
  return HEIGHT.test(text) && /\D/.test(text) ? BigInt(askedText(text)) : undefined;
}

/** Pages and types whose names begin so, and accounts with a word in their names that does. */
export function namedHits(typed: string, names: ReadonlyMap<string, Name>): readonly Hit[] {
  const text = typed.trim().toLowerCase();
  if (text === '') return [];
  const begun = [...PAGES, ...TYPES].filter(({ identifier, name = '' }) =>
    [name, identifier].some((each) => each.toLowerCase().startsWith(text)),
  );
  // those of the reader first; a number is a height
  const accounts = (HEIGHT.test(text) ? [] : [...names])
    .filter(([, { name }]) => ` ${name.toLowerCase()}`.includes(` ${text}`))
    .toSorted(([, one], [, other]) => Number(other.is_own) - Number(one.is_own))
    .slice(0, ACCOUNTS_MAX)
    .map(([identifier, { name }]): Hit => ({
      kind: 'account',
      identifier,
      name,
      summary: identifier,
    }));
  return [...begun, ...accounts];
}

/** Whether it can be the id of a deposit, or of a reserve run. */
export function isDepositId(typed: string): boolean {
  return UUID.test(typed.trim().toLowerCase());
}

export function isRunId(typed: string): boolean {
  return isDepositId(typed) || RUN.test(typed.trim());
}

/** Whether it can belong to a transfer on TRON, which only its owner is shown. */
export function isOfTron(typed: string): boolean {
  return TRON.test(typed.trim());
}
