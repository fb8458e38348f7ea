/**
 * Definitions of parameters: the schema that the OpenAPI document shows, how a text is read, and
 * the words of the refusal, which say what is expected and never repeat the input.
 */
import { Type, type TSchema } from 'typebox';
import type { Json } from './answer.ts';

/** How the text of a parameter is read. */
export interface Form<Value> {
  readonly schema: TSchema;
  /** undefined: the text does not fit */
  readonly parse: (text: string) => Value | undefined;
  /** follows the name of the parameter and "must" in the refusal of such a text */
  readonly must: string;
}

/** `Value` includes undefined where it need not be given. */
export interface Parameter<Name extends string = string, Value = unknown> {
  readonly name: Name;
  readonly in: 'path' | 'query';
  readonly description: string;
  readonly schema: TSchema;
  readonly example: number | string | undefined;
  /** of a text, or of the texts of a list */
  readonly parse: (given: unknown) => Value | undefined;
  /** the reason and the message of the refusal of what does not fit */
  readonly refused: InvalidRequest['refused'];
  readonly refusal: string;
  /** the value when it is not given */
  readonly otherwise: Value | undefined;
  /** the message when it is not given; undefined: it need not be */
  readonly missing: string | undefined;
  /** of the text; a longer one is refused */
  readonly characters_max: number;
  /** the parameter may be given any number of times */
  readonly is_list: boolean;
}

/** The values of parameters by their names. */
export type Values<Parameters extends readonly Parameter[]> = {
  readonly [Each in Parameters[number] as Each['name']]: Each extends Parameter<string, infer Value>
    ? Value
    : never;
};

/** Query parameters as `node:querystring` gives them: a repeated one is an array. */
export type Given = Readonly<Record<string, unknown>>;

export interface InvalidRequest {
  /** `not_found`: it names what cannot be there */
  readonly refused: 'invalid_request' | 'not_found';
  readonly message: string;
}

export function invalid(
  message: string,
  refused: InvalidRequest['refused'] = 'invalid_request',
): InvalidRequest {
  return { refused, message };
}

export function isRefused(read: object): read is InvalidRequest {
  return 'refused' in read;
}

/** of any one parameter that does not say otherwise */
export const PARAMETER_CHARACTERS_MAX = 256;

interface Shown {
  readonly description: string;
  readonly example?: number | string;
}

function parameter<const Name extends string, Value>(
  name: Name,
  { schema, parse, must }: Form<Value>,
  { description, example }: Shown,
): Parameter<Name, Value> {
  return {
    name,
    in: 'query',
    description,
    schema,
    example,
    parse: (given) => (typeof given === 'string' ? parse(given) : undefined),
    refused: 'invalid_request',
    refusal: `${name} must ${must}`,
    otherwise: undefined,
    missing: undefined,
    characters_max: PARAMETER_CHARACTERS_MAX,
    is_list: false,
  };
}

export function optional<const Name extends string, Value>(
  name: Name,
  form: Form<Value>,
  shown: Shown,
): Parameter<Name, Value | undefined> {
  return parameter(name, form, shown);
}

export function defaulted<const Name extends string, Value extends Json>(
  name: Name,
  form: Form<Value>,
  otherwise: Value,
  shown: Shown,
): Parameter<Name, Value> {
  const schema = { ...form.schema, default: otherwise };
  return { ...parameter(name, { ...form, schema }, shown), otherwise };
}

/** `give`: says what to give, when it is not given. */
export function required<const Name extends string, Value>(
  name: Name,
  form: Form<Value>,
  give: string,
  shown: Shown,
): Parameter<Name, Value> {
  return {
    ...parameter(name, form, shown),
    missing: `parameter ${name} is missing: give ${give}`,
  };
}

/** Any number of texts; empty ones count as not given. */
export function several<const Name extends string>(
  name: Name,
  shown: Shown,
): Parameter<Name, readonly string[]> {
  const form = { ...ANY_TEXT, schema: Type.Array(Type.String()) };
  return { ...parameter(name, form, shown), parse: textsIn, otherwise: [], is_list: true };
}

function textsIn(given: unknown): readonly string[] {
  return [given].flat().filter((each): each is string => typeof each === 'string' && each !== '');
}

/** `refusal`: the whole message. */
export function inPath<const Name extends string, Value>(
  name: Name,
  form: Omit<Form<Value>, 'must'>,
  refusal: string,
  shown: Shown,
  refused: InvalidRequest['refused'] = 'invalid_request',
): Parameter<Name, Value> {
  return {
    ...parameter(name, { ...form, must: '' }, shown),
    in: 'path',
    missing: refusal,
    refused,
    refusal,
  };
}

export function parseDecimal(text: string): bigint | undefined {
  return /^[0-9]+$/.test(text) ? BigInt(text) : undefined;
}

/** A decimal integer of any size. */
export function decimal(must: string): Form<bigint> {
  return { schema: Type.Integer({ minimum: 0 }), parse: parseDecimal, must };
}

export function integer(minimum: number, maximum: number): Form<number> {
  return {
    schema: Type.Integer({ minimum, maximum }),
    parse: (text) => {
      const value = parseDecimal(text);
      return value === undefined || value < minimum || value > maximum ? undefined : Number(value);
    },
    must: `be a decimal integer from ${minimum} to ${maximum}`,
  };
}

export function oneOf<const Word extends string>(words: readonly Word[], must: string): Form<Word> {
  return {
    schema: Type.Unsafe<Word>({ type: 'string', enum: words }),
    parse: (text) => words.find((word) => word === text),
    must,
  };
}

const TEXT = Type.String({ minLength: 1, maxLength: PARAMETER_CHARACTERS_MAX });

export const ANY_TEXT: Form<string> = { schema: TEXT, parse: (text) => text, must: 'be a text' };

/** Postgres stores no text with the character NUL. */
export const STORABLE_TEXT: Form<string> = {
  schema: TEXT,
  parse: (text) => (text.includes('\0') ? undefined : text),
  must: 'not contain the character NUL',
};

/**
 * The values of these query parameters, or why the first that does not fit is refused. Each may be
 * given once, and not empty, unless it is a list; others are ignored.
 */
export function readQuery<const Parameters extends readonly Parameter[]>(
  query: Given,
  parameters: Parameters,
): Values<Parameters> | InvalidRequest {
  for (const key of Object.keys(query)) {
    // a form of lists: limit[]=5
    const bracket = key.indexOf('[');
    const name = bracket === -1 ? key : key.slice(0, bracket);
    const known = parameters.find((each) => each.name === name);
    if (known === undefined || known.is_list) continue;
    const value = query[key];
    if (key !== name || typeof value !== 'string')
      return invalid(`parameter ${name} may be given only once`);
    if (value === '') return invalid(`parameter ${name} is empty: leave it out or give it a value`);
    if (value.length > known.characters_max)
      return invalid(`parameter ${name} is longer than ${known.characters_max} characters`);
  }
  return readParts(query, parameters);
}

/** The values of these parts of a path, or why the first that does not fit is refused. */
export function readParts<const Parameters extends readonly Parameter[]>(
  parts: Given,
  parameters: Parameters,
): Values<Parameters> | InvalidRequest {
  const values = Object();
  for (const { name, parse, refused, refusal, otherwise, missing } of parameters) {
    const given = parts[name];
    if (given === undefined) {
      if (missing !== undefined) return invalid(missing, refused);
      values[name] = otherwise;
      continue;
    }
    const value = parse(given);
    if (value === undefined) return invalid(refusal, refused);
    values[name] = value;
  }
  return values;
}
