/** Parses the transfers that the admin port accepts. Only recipient and value are required. */
import { parseAmount } from '../../../schemas/money.ts';
import { bodyFields, isObject } from '../http/app.ts';
import type { Submission } from './network.ts';
import {
  ASSETS,
  LOG_EVENTS,
  OUTCOMES,
  addressDigits,
  calldataOf,
  type TokenLog,
} from './transaction.ts';

/** Addresses used where the body names none: 40 hex digits each. */
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

const LOG_FIELDS = ['to', 'value', 'from', 'contract', 'event'];
const CALL_FIELDS = [...LOG_FIELDS, 'asset', 'outcome', 'logs', 'solidified', 'listed'];
const PAYMENT_FIELDS = ['to', 'value', 'from', 'asset', 'solidified'];
const LOGS_MAX = 200;
const SUN_MAX = BigInt(Number.MAX_SAFE_INTEGER);

type Fields = Readonly<Record<string, unknown>>;
type LogDefaults = Pick<TokenLog, 'contract' | 'event' | 'from'>;

/** A field that is not as expected. It never leaves this file. */
class InvalidField extends Error {}

/** The submission that a body describes, or its first problem. */
export function parseSubmission(
  body: unknown,
  defaults: SubmissionDefaults,
): { readonly value: Submission } | { readonly problem: string } {
  try {
    return { value: readSubmission(body, defaults) };
  } catch (error) {
    if (error instanceof InvalidField) return { problem: error.message };
    throw error;
  }
}

function readSubmission(body: unknown, defaults: SubmissionDefaults): Submission {
  if (!isObject(body)) throw new InvalidField('it is not an object');
  const fields = bodyFields(body);
  const asset = choice(fields, 'asset', ASSETS, 'TRC20');
  const solidified = flag(fields, 'solidified');
  const transaction =
    asset === 'TRC20' ? readCall(fields, defaults) : readPayment(asset, fields, defaults);
  return { transaction, solidified: SOLIDIFIED[`${solidified}`] };
}

const SOLIDIFIED = { true: 'now', false: 'on_demand', undefined: 'soon' } as const;

function readPayment(
  asset: 'TRX' | 'TRC10',
  fields: Fields,
  { holder }: SubmissionDefaults,
): Submission['transaction'] {
  allowOnly(fields, PAYMENT_FIELDS);
  const { from, to, value } = readLog(fields, { contract: '', event: 'Transfer', from: holder });
  if (value > SUN_MAX) throw new InvalidField(`a value in ${asset} is at most ${SUN_MAX}`);
  return { asset, from, to, value };
}

function readCall(
  fields: Fields,
  { holder, usdt_contract, multisender }: SubmissionDefaults,
): Submission['transaction'] {
  allowOnly(fields, CALL_FIELDS);
  const outcome = choice(fields, 'outcome', OUTCOMES, 'SUCCESS');
  const listed = flag(fields, 'listed') ?? outcome === 'SUCCESS';
  const defaults = { contract: usdt_contract, event: 'Transfer', from: holder } as const;
  const call = { asset: 'TRC20', outcome, listed } as const;
  if (fields['logs'] === undefined) {
    const log = readLog(fields, defaults);
    const { from, contract } = log;
    return { ...call, from, contract, calldata: calldataOf(log), logs: [log] };
  }
  const outer = readLogDefaults(fields, defaults);
  const logs = readLogs(fields['logs'], outer);
  const calldata = logs.map(calldataOf).join('');
  return { ...call, from: outer.from, contract: multisender, calldata, logs };
}

function readLogs(logs: unknown, defaults: LogDefaults): readonly TokenLog[] {
  if (!Array.isArray(logs) || logs.length === 0 || logs.length > LOGS_MAX)
    throw new InvalidField(`logs is a list of 1 to ${LOGS_MAX}`);
  return logs.map((log: unknown, index) => {
    const fields = bodyFields(log);
    try {
      allowOnly(fields, LOG_FIELDS);
      return readLog(fields, defaults);
    } catch (error) {
      throw error instanceof InvalidField
        ? new InvalidField(`logs[${index}]: ${error.message}`)
        : error;
    }
  });
}

function readLog(fields: Fields, defaults: LogDefaults): TokenLog {
  return {
    ...readLogDefaults(fields, defaults),
    to: address(fields, 'to', undefined),
    value: amount(fields, 'value'),
  };
}

function readLogDefaults(fields: Fields, defaults: LogDefaults): LogDefaults {
  return {
    contract: address(fields, 'contract', defaults.contract),
    event: choice(fields, 'event', LOG_EVENTS, defaults.event),
    from: address(fields, 'from', defaults.from),
  };
}

function allowOnly(fields: Fields, names: readonly string[]): void {
  for (const [name, value] of Object.entries(fields))
    if (value !== undefined && !names.includes(name))
      throw new InvalidField(`it has no field ${JSON.stringify(name.slice(0, 40))}`);
}

function choice<Value extends string>(
  fields: Fields,
  name: string,
  values: readonly Value[],
  absent: Value,
): Value {
  const given = fields[name] ?? absent;
  const value = values.find((each) => each === given);
  if (value === undefined) throw new InvalidField(`${name} is ${values.join(', ')}`);
  return value;
}

function flag(fields: Fields, name: string): boolean | undefined {
  const value = fields[name];
  if (value === undefined || typeof value === 'boolean') return value;
  throw new InvalidField(`${name} is true or false`);
}

/** 40 hex digits. */
function address(fields: Fields, name: string, absent: string | undefined): string {
  const given = fields[name];
  if (given === undefined && absent !== undefined) return absent;
  const digits = typeof given === 'string' ? addressDigits(given) : undefined;
  if (digits === undefined) throw new InvalidField(`${name} is an address`);
  return digits;
}

/** Decimal text, or a safe JSON integer. */
function amount(fields: Fields, name: string): bigint {
  const given = fields[name];
  if (typeof given === 'number' && Number.isSafeInteger(given) && given >= 0) return BigInt(given);
  const value = typeof given === 'string' ? parseAmount(given) : undefined;
  if (value === undefined)
    throw new InvalidField(`${name} is base units as decimal text, at most 2^256 - 1`);
  return value;
}
