/** What the admin port takes as a transfer: everything has a default but who is paid and how much. */
import { parseAmount } from '../../../schemas/money.ts';
import type { Submission } from './network.ts';
import { isObject } from '../json-body.ts';
import type { TokenLog } from './transaction.ts';
import { ASSETS, LOG_EVENTS, OUTCOMES, addressDigits, calldataOf } from './transaction.ts';

/** Whose addresses stand in where none is named: 40 digits each. */
export interface SubmissionDefaults {
  readonly holder: string;
  readonly usdt_contract: string;
  readonly multisender: string;
}

export const TRANSFER_EXPECTED =
  '{"to": address, "value": base units as decimal text, "from"?: address, "contract"?: address, "event"?: "Transfer" or "Approval", ' +
  '"asset"?: "TRC20", "TRX" or "TRC10", "outcome"?: "SUCCESS", "REVERT" or "OUT_OF_ENERGY", "logs"?: [{"to", "value", "from"?, "contract"?, "event"?}], ' +
  '"solidified"?: true at once, false only on demand, "listed"?: whether the provider lists it}; an address is base58 or 41 + 40 hex digits; ' +
  'with "logs" the transaction has exactly these';

const FIELDS = new Set([
  'to',
  'value',
  'from',
  'contract',
  'event',
  'asset',
  'outcome',
  'logs',
  'solidified',
  'listed',
]);
const LOG_FIELDS = new Set(['to', 'value', 'from', 'contract', 'event']);
const LOGS_MAX = 200;
const SUN_MAX = BigInt(Number.MAX_SAFE_INTEGER);

type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

/** The submission that a body asks for, or what is wrong with it. */
export function parseSubmission(body: unknown, defaults: SubmissionDefaults): Parsed<Submission> {
  if (!isObject(body)) return { problem: 'it is not an object' };
  const given = new Map<string, unknown>(Object.entries(body));
  const unknown = [...given.keys()].filter((name) => !FIELDS.has(name));
  if (unknown.length > 0)
    return {
      problem: `it has no field ${unknown.map((name) => JSON.stringify(name.slice(0, 40))).join(', ')}`,
    };
  const asset = oneOf(ASSETS, given.get('asset') ?? 'TRC20');
  if (asset === undefined) return { problem: `asset is ${ASSETS.join(', ')}` };
  const solidified = given.get('solidified');
  if (solidified !== undefined && typeof solidified !== 'boolean')
    return { problem: 'solidified is true or false' };
  const when = solidified === undefined ? 'soon' : WHEN[`${solidified}`];
  const transaction =
    asset === 'TRC20' ? parseCall(given, defaults) : parsePayment(asset, given, defaults);
  return 'problem' in transaction
    ? transaction
    : { value: { transaction: transaction.value, solidified: when } };
}

const WHEN = { true: 'now', false: 'on_demand' } as const;

function parsePayment(
  asset: 'TRX' | 'TRC10',
  given: ReadonlyMap<string, unknown>,
  { holder }: SubmissionDefaults,
): Parsed<Submission['transaction']> {
  const misplaced = ['contract', 'event', 'outcome', 'logs', 'listed'].filter(
    (name) => given.get(name) !== undefined,
  );
  if (misplaced.length > 0)
    return { problem: `a payment in ${asset} has no ${misplaced.join(', ')}` };
  const log = parseLog(given, { contract: '', event: 'Transfer', from: holder });
  if ('problem' in log) return log;
  const { from, to, value } = log.value;
  return value <= SUN_MAX
    ? { value: { asset, from, to, value } }
    : { problem: `a value in ${asset} is at most ${SUN_MAX}` };
}

function parseCall(
  given: ReadonlyMap<string, unknown>,
  { holder, usdt_contract, multisender }: SubmissionDefaults,
): Parsed<Submission['transaction']> {
  const outcome = oneOf(OUTCOMES, given.get('outcome') ?? 'SUCCESS');
  if (outcome === undefined) return { problem: `outcome is ${OUTCOMES.join(', ')}` };
  const listed = given.get('listed') ?? outcome === 'SUCCESS';
  if (typeof listed !== 'boolean') return { problem: 'listed is true or false' };
  const defaults = { contract: usdt_contract, event: 'Transfer', from: holder } as const;
  const several = given.get('logs');
  if (several === undefined) {
    const log = parseLog(given, defaults);
    if ('problem' in log) return log;
    const { from, contract } = log.value;
    return {
      value: {
        asset: 'TRC20',
        from,
        contract,
        calldata: calldataOf(log.value),
        outcome,
        logs: [log.value],
        listed,
      },
    };
  }
  const outer = parseDefaults(given, defaults);
  if ('problem' in outer) return outer;
  const logs = parseLogs(several, outer.value);
  if ('problem' in logs) return logs;
  const calldata = logs.value.map(calldataOf).join('');
  return {
    value: {
      asset: 'TRC20',
      from: outer.value.from,
      contract: multisender,
      calldata,
      outcome,
      logs: logs.value,
      listed,
    },
  };
}

function parseLogs(several: unknown, defaults: LogDefaults): Parsed<readonly TokenLog[]> {
  if (!Array.isArray(several) || several.length === 0 || several.length > LOGS_MAX)
    return { problem: `logs is a list of 1 to ${LOGS_MAX}` };
  const logs: TokenLog[] = [];
  for (const [index, each] of several.entries()) {
    const given = new Map<string, unknown>(isObject(each) ? Object.entries(each) : []);
    const unknown = [...given.keys()].some((name) => !LOG_FIELDS.has(name));
    const log = unknown
      ? { problem: `its fields are ${[...LOG_FIELDS].join(', ')}` }
      : parseLog(given, defaults);
    if ('problem' in log) return { problem: `logs[${index}]: ${log.problem}` };
    logs.push(log.value);
  }
  return { value: logs };
}

type LogDefaults = Pick<TokenLog, 'contract' | 'event' | 'from'>;

function parseLog(given: ReadonlyMap<string, unknown>, defaults: LogDefaults): Parsed<TokenLog> {
  const rest = parseDefaults(given, defaults);
  if ('problem' in rest) return rest;
  const to = addressOf(given.get('to'));
  if (to === undefined) return { problem: 'to is an address' };
  const value = amountOf(given.get('value'));
  if (value === undefined)
    return { problem: 'value is base units as decimal text, at most 2^256 - 1' };
  return { value: { ...rest.value, to, value } };
}

function parseDefaults(
  given: ReadonlyMap<string, unknown>,
  absent: LogDefaults,
): Parsed<LogDefaults> {
  const event = oneOf(LOG_EVENTS, given.get('event') ?? absent.event);
  if (event === undefined) return { problem: `event is ${LOG_EVENTS.join(', ')}` };
  const from = given.get('from') === undefined ? absent.from : addressOf(given.get('from'));
  if (from === undefined) return { problem: 'from is an address' };
  const contract =
    given.get('contract') === undefined ? absent.contract : addressOf(given.get('contract'));
  if (contract === undefined) return { problem: 'contract is an address' };
  return { value: { contract, event, from } };
}

function addressOf(value: unknown): string | undefined {
  return typeof value === 'string' ? addressDigits(value) : undefined;
}

/** Decimal text, or a JSON integer that JSON can say exactly. */
function amountOf(value: unknown): bigint | undefined {
  if (typeof value === 'number')
    return Number.isSafeInteger(value) && value >= 0 ? BigInt(value) : undefined;
  return typeof value === 'string' ? parseAmount(value) : undefined;
}

function oneOf<Value extends string>(values: readonly Value[], given: unknown): Value | undefined {
  return values.find((value) => value === given);
}
