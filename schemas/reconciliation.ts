/**
 * The treasury's `GET /public/reconciliation`: `{"last_run": null}` before the first run, then the
 * newest run. Amounts are base units as exact JSON integers; decimal text is accepted too. Other
 * fields are ignored.
 */
import type { Parsed } from './json-reader.ts';
import { parseAmount } from './money.ts';

export const RUN_STATUSES = ['ok', 'mismatch', 'over_backed_drift'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** One reconciliation. All figures are of one ledger offset and one final block. */
export interface ReconciliationRun {
  /** ISO 8601, UTC */
  readonly run_at: string;
  readonly onchain_supply: bigint;
  readonly genesis_allocation: bigint;
  readonly treasury_minted: bigint;
  /** minted less burned; negative when more was burned than the treasury minted */
  readonly ledger_liability: bigint;
  readonly custody_reported: bigint;
  readonly status: RunStatus;
}

export interface Reconciliation {
  /** null: there was no run yet */
  readonly last_run: ReconciliationRun | null;
}

/** Parses the answer. A problem names the field and what is expected, and repeats no value. */
export function parseReconciliation(text: string): Parsed<Reconciliation> {
  try {
    const run = field(parseDigits(text), 'last_run');
    return { value: { last_run: run === null ? null : readRun(run) } };
  } catch (error) {
    if (error instanceof Mismatch) return { problem: error.message };
    throw error;
  }
}

/** The treasury's answer as JSON text. */
export function reconciliationJson({ last_run: run }: Reconciliation): string {
  return `{"last_run":${run === null ? 'null' : runJson(run)}}`;
}

/** A run as JSON text with exact integers. */
export function runJson(run: ReconciliationRun): string {
  return (
    `{"run_at":${JSON.stringify(run.run_at)},"onchain_supply":${run.onchain_supply},"genesis_allocation":${run.genesis_allocation},` +
    `"treasury_minted":${run.treasury_minted},"ledger_liability":${run.ledger_liability},"custody_reported":${run.custody_reported},` +
    `"status":${JSON.stringify(run.status)}}`
  );
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

function readRun(run: unknown): ReconciliationRun {
  return {
    run_at: read(run, 'run_at', 'a time in ISO 8601, UTC', utcTimeOf),
    onchain_supply: read(run, 'onchain_supply', AMOUNT, parseAmount),
    genesis_allocation: read(run, 'genesis_allocation', AMOUNT, parseAmount),
    treasury_minted: read(run, 'treasury_minted', AMOUNT, parseAmount),
    ledger_liability: read(
      run,
      'ledger_liability',
      'an integer between -2^256 and 2^256',
      signedOf,
    ),
    custody_reported: read(run, 'custody_reported', AMOUNT, parseAmount),
    status: read(run, 'status', `one of ${RUN_STATUSES.join(', ')}`, (text) =>
      RUN_STATUSES.find((status) => status === text),
    ),
  };
}

const AMOUNT = 'an integer from 0 to 2^256 - 1';

function read<Value>(
  run: unknown,
  name: string,
  expected: string,
  parse: (text: string) => Value | undefined,
): Value {
  const text = field(run, name, 'last_run.');
  const value = typeof text === 'string' ? parse(text) : undefined;
  if (value === undefined) throw new Mismatch(`last_run.${name}: expected ${expected}`);
  return value;
}

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

/** The same text; undefined for a day that is not in the calendar. */
function utcTimeOf(text: string): string | undefined {
  const time = UTC_TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) return undefined;
  return new Date(time).toISOString().slice(0, 19) === text.slice(0, 19) ? text : undefined;
}
