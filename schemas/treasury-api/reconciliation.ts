/**
 * The treasury's `GET /public/reconciliation`: `{"last_run": null}` before the first run, then the
 * newest run. Amounts are base units as exact JSON integers; decimal text is accepted too. Other
 * fields are ignored.
 */
import type { Static, TSchema } from 'typebox';
import { AMOUNT, SIGNED_AMOUNT, TIME } from '../explorer-api/values.ts';
import {
  exampleOf,
  field as used,
  nullable,
  record,
  word,
  type Defined,
} from '../http-api/answer.ts';
import type { Parsed } from '../json-reader.ts';
import { parseAmount } from '../money.ts';

export const RUN_STATUSES = ['ok', 'mismatch', 'over_backed_drift'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

export const RESERVE_RUN = record(
  'ReserveRun',
  {
    run_at: used(TIME, '2026-11-21T07:25:00.000Z', 'Time of the run, from the treasury.'),
    onchain_supply: used(AMOUNT, 9_000_250_000_000),
    genesis_allocation: used(AMOUNT, 9_000_000_000_000),
    treasury_minted: used(AMOUNT, 300_000_000),
    ledger_liability: used(
      SIGNED_AMOUNT,
      250_000_000,
      'Minted minus burned since genesis; negative when more was burned than minted.',
    ),
    custody_reported: used(AMOUNT, 262_000_000),
    status: word(RUN_STATUSES, { description: 'Status as published by the treasury.' }),
  },
  'One reserve run. All amounts are of one moment, in CLT base units.',
);
export const LAST_RUN = nullable(RESERVE_RUN, exampleOf(RESERVE_RUN), 'null: never reconciled');
export const TOLERANCE = used(
  AMOUNT,
  1_000_000,
  'The surplus above which the treasury calls a run over_backed_drift.',
);
export const RECONCILIATION = record('Reconciliation', {
  last_run: LAST_RUN,
  tolerance: TOLERANCE,
});

type Run = typeof RESERVE_RUN.properties;
type Exact<Schema extends TSchema> = [string, Schema] extends [Static<Schema>, typeof AMOUNT]
  ? bigint
  : Static<Schema>;

/** One reconciliation, with exact amounts. All are of one ledger offset and one final block. */
export type ReconciliationRun = { readonly [Name in keyof Run]: Exact<Run[Name]> };

export interface Reconciliation {
  /** null: there was no run yet */
  readonly last_run: ReconciliationRun | null;
  /** accepted surplus; undefined: the treasury does not say it */
  readonly tolerance?: bigint;
}

const FIELDS = Object.entries<TSchema>(RESERVE_RUN.properties);

/** Parses the answer. A problem names the field and what is expected, and repeats no value. */
export function parseReconciliation(text: string): Parsed<Reconciliation> {
  try {
    const answer = parseDigits(text);
    const run = field(answer, 'last_run');
    return { value: { last_run: run === null ? null : readRun(run), ...toleranceIn(answer) } };
  } catch (error) {
    if (error instanceof Mismatch) return { problem: error.message };
    throw error;
  }
}

/** The treasury's answer as JSON text. */
export function reconciliationJson({ last_run: lastRun, tolerance }: Reconciliation): string {
  const run = lastRun === null ? 'null' : runJson(lastRun);
  return `{"last_run":${run}${tolerance === undefined ? '' : `,"tolerance":${tolerance}`}}`;
}

/** A run as JSON text with exact integers. */
export function runJson(run: ReconciliationRun): string {
  const fields = FIELDS.map(([name]) => {
    const value: unknown = Reflect.get(run, name);
    return `"${name}":${typeof value === 'bigint' ? value : JSON.stringify(value)}`;
  });
  return `{${fields.join(',')}}`;
}

/** Thrown by the readers below, caught by `parseReconciliation`. */
class Mismatch extends Error {}

/** Parses JSON with each number as its source text, so that no digit is lost. */
function parseDigits(text: string): unknown {
  try {
    return JSON.parse(text, digitsOf);
  } catch (error) {
    // RangeError: nested deeper than the stack
    if (error instanceof SyntaxError || error instanceof RangeError)
      throw new Mismatch('expected JSON');
    throw error;
  }
}

function digitsOf(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? context?.source : value;
}

/** No tolerance where the answer has none that can be read: its run counts nevertheless. */
function toleranceIn(answer: unknown): Pick<Reconciliation, 'tolerance'> {
  if (typeof answer !== 'object' || answer === null || !Object.hasOwn(answer, 'tolerance'))
    return {};
  const text: unknown = Reflect.get(answer, 'tolerance');
  const tolerance = typeof text === 'string' ? parseAmount(text) : undefined;
  return tolerance === undefined ? {} : { tolerance };
}

function readRun(run: unknown): ReconciliationRun {
  const read = Object();
  for (const [name, schema] of FIELDS) {
    const { $id = '' }: Defined = schema;
    const text = field(run, name, 'last_run.');
    const { expected, parse } = FORMS[$id] ?? STATUS;
    const value = typeof text === 'string' ? parse(text) : undefined;
    if (value === undefined) throw new Mismatch(`last_run.${name}: expected ${expected}`);
    read[name] = value;
  }
  return read;
}

interface Form {
  readonly expected: string;
  readonly parse: (text: string) => bigint | string | undefined;
}
/** By the name of the schema. */
const FORMS: Readonly<Record<string, Form>> = {
  Time: { expected: 'a time in ISO 8601, UTC', parse: utcTimeOf },
  Amount: { expected: 'an integer from 0 to 2^256 - 1', parse: parseAmount },
  SignedAmount: { expected: 'an integer between -2^256 and 2^256', parse: signedOf },
};
const STATUS: Form = {
  expected: `one of ${RUN_STATUSES.join(', ')}`,
  parse: (text) => RUN_STATUSES.find((status) => status === text),
};

function field(json: unknown, name: string, path = ''): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new Mismatch(`${path}${name}: expected an object that has it`);
  const found: unknown = Object.hasOwn(json, name) ? Reflect.get(json, name) : undefined;
  if (found === undefined) throw new Mismatch(`${path}${name}: it is missing`);
  return found;
}

function signedOf(text: string): bigint | undefined {
  if (!text.startsWith('-')) return parseAmount(text);
  const magnitude = parseAmount(text.slice(1));
  return magnitude === undefined || magnitude === 0n ? undefined : -magnitude;
}

const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|\+00:00)$/;

/** The text where it is a time in UTC; undefined, also for a day that is not in the calendar. */
function utcTimeOf(text: string): string | undefined {
  const time = UTC_TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) return undefined;
  return new Date(time).toISOString().slice(0, 19) === text.slice(0, 19) ? text : undefined;
}
