/**
 * Rules for the fields of events. The log takes any record that its Avro schema allows, so a fold
 * asks here before an event has an effect; commands, the treasury and the audit ask the same. Each
 * topic has one table next to its schemas (`rules.ts`), typed so that an event or a field without a
 * rule does not compile.
 */
import { parseDepositId } from './deposit-id.ts';

/** The allowed values of one field. */
export interface Rule<Value> {
  /** completes "it has to be ..." */
  readonly expected: string;
  holds(value: Value): boolean;
}

/** A condition between the fields of an event. */
export interface Relation<Event> {
  /** a sentence that is false of an event that breaks it */
  readonly rule: string;
  holds(event: Event): boolean;
}

/** A rule for each field; null and a missing optional field are always allowed. */
export type FieldRules<Event> = {
  readonly [Field in Exclude<keyof Event, 'type'>]-?: Rule<NonNullable<Event[Field]>>;
};

export interface EventRules<Event> {
  readonly fields: FieldRules<Event>;
  readonly relations?: readonly Relation<Event>[];
}

/** The rules of every event of a topic. */
export type TopicRules<Event extends { readonly type: string }> = {
  readonly [Type in Event['type']]: EventRules<Extract<Event, { readonly type: Type }>>;
};

type AnyRules = Readonly<
  Record<
    string,
    {
      readonly fields: Readonly<Record<string, Rule<unknown>>>;
      readonly relations?: readonly Relation<unknown>[];
    }
  >
>;

/** The first rule that the event breaks, in words; undefined when it keeps them all. */
export function brokenRule(rules: AnyRules, event: { readonly type: string }): string | undefined {
  const ofType = rules[event.type];
  if (ofType === undefined) return `${event.type} is no event of this topic`;
  return brokenField(ofType.fields, event) ?? brokenRelation(ofType.relations, event);
}

function brokenField(fields: object, of: object): string | undefined {
  for (const [name, rule] of Object.entries<unknown>({ ...fields })) {
    const value: unknown = Reflect.get(of, name);
    if (value === undefined || value === null || !isRule(rule) || rule.holds(value)) continue;
    return `${name} is ${shown(value)}, and has to be ${rule.expected}`;
  }
  return undefined;
}

function isRule(value: unknown): value is Rule<unknown> {
  return value instanceof Object && 'holds' in value;
}

function brokenRelation(
  relations: readonly Relation<unknown>[] | undefined,
  event: object,
): string | undefined {
  return relations?.find((each) => !each.holds(event))?.rule;
}

const SHOWN_MAX = 80;

function shown(value: unknown): string {
  const written = writtenOf(value);
  return written.length <= SHOWN_MAX ? written : `${written.slice(0, SHOWN_MAX)}...`;
}

function writtenOf(value: unknown): string {
  if (Buffer.isBuffer(value)) return `0x${value.toString('hex')}`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** Whole numbers from `least` to `most`, by default to the largest exact one. */
export function whole(least: number, most = Number.MAX_SAFE_INTEGER): Rule<number> {
  const to = most === Number.MAX_SAFE_INTEGER ? ' or more' : ` to ${most}`;
  return {
    expected: `a whole number, ${least}${to}`,
    holds: (value) => Number.isSafeInteger(value) && value >= least && value <= most,
  };
}

/** 0, 1, 2, ... */
export const COUNT = whole(0);
/** 1, 2, 3, ...; an `int` of Avro and Postgres */
export const VERSION = whole(1, 2 ** 31 - 1);
/** The offset that an event was written for; -1: it counts anywhere. */
export const ANY_SEQUENCE = whole(-1);

/** Unix milliseconds, up to the end of the year 9999. */
export const TIME: Rule<number> = {
  ...whole(0, 253_402_300_799_999),
  expected: 'a time between the years 1970 and 9999',
};

/** The end of one amount: far above the supply of any token, and so low that sums of them fit. */
const AMOUNT_END = 2n ** 224n;
const TOTAL_END = 2n ** 256n;

/** Base units: 0 or more, below 2^224. */
export const AMOUNT: Rule<bigint> = {
  expected: 'an amount of 0 or more, below 2^224',
  holds: (value) => value >= 0n && value < AMOUNT_END,
};

/** Base units: above 0, below 2^224. */
export const POSITIVE: Rule<bigint> = {
  expected: 'an amount above 0, below 2^224',
  holds: (value) => value > 0n && value < AMOUNT_END,
};

/** Base units of either sign, of less than 2^224. */
export const CHANGE: Rule<bigint> = {
  expected: 'an amount between -2^224 and 2^224',
  holds: (value) => value > -AMOUNT_END && value < AMOUNT_END,
};

/** A sum of base units: 0 or more, below 2^256. */
export const TOTAL: Rule<bigint> = {
  expected: 'a sum of 0 or more, below 2^256',
  holds: (value) => value >= 0n && value < TOTAL_END,
};

/** A sum of base units of either sign, of less than 2^256. */
export const TOTAL_CHANGE: Rule<bigint> = {
  expected: 'a sum between -2^256 and 2^256',
  holds: (value) => value > -TOTAL_END && value < TOTAL_END,
};

/** Bytes of this length; several: of one of these lengths. */
export function bytes(...lengths: readonly number[]): Rule<Buffer> {
  return {
    expected: `${lengths.join(' or ')} bytes`,
    holds: (value) => lengths.includes(value.length),
  };
}

export const ADDRESS = bytes(20);
export const HASH = bytes(32);
/** The hash of the record before; empty: the writer names none. */
export const PREVIOUS = bytes(0, 32);
/** r, s and v; empty: it is not signed. Whether it is valid is judged apart. */
export const SIGNATURE: Rule<Buffer> = { expected: 'bytes', holds: () => true };

/** Text of at most so many UTF-16 units. */
export function text(most: number): Rule<string> {
  return { expected: `text of at most ${most} characters`, holds: ({ length }) => length <= most };
}

/** A name of a reason, a kind or a scheme: a new one needs no new rule. */
export const NAME: Rule<string> = {
  expected: 'a name of 1 to 64 letters, digits, ".", "_" and "-"',
  holds: (value) => /^[-.\w]{1,64}$/.test(value),
};

export function oneOf(values: readonly string[]): Rule<string> {
  return { expected: values.join(' or '), holds: (value) => values.includes(value) };
}

/** A UUID in lower case. */
export const DEPOSIT_ID: Rule<string> = {
  expected: 'the id of a deposit, a UUID in lower case',
  holds: (value) => parseDepositId(value) === value,
};

export const BOOLEAN: Rule<boolean> = { expected: 'true or false', holds: () => true };

/** Each element keeps the rule; at most so many, at least so many. */
export function list<Element>(
  rule: Rule<Element>,
  { least = 0, most }: { readonly least?: number; readonly most: number },
): Rule<readonly Element[]> {
  return {
    expected: `a list of ${least} to ${most}, each ${rule.expected}`,
    holds: (values) =>
      values.length >= least && values.length <= most && values.every((each) => rule.holds(each)),
  };
}

/** Records inside an event. */
export function record<Value>(fields: FieldRules<Value>): Rule<Value> {
  return {
    expected: 'a record whose fields keep their rules',
    holds: (value) => value instanceof Object && brokenField(fields, value) === undefined,
  };
}
