/**
 * The language of `--where`: comparisons of fields, joined by and, or, not and parentheses. An
 * expression is parsed and evaluated over a record as it is shown, never run as code.
 *
 *   type = MintIntended and amount >= 5000000
 *   not (key = policy) and value.reason contains 'cap'
 *   transactions.from = 0x7e5f4552091a69125d5dfcb7b8c2659029395bdf       any of them
 */
import { Misuse } from '../usage.ts';

const LENGTH_MAX = 10_000;
const DEPTH_MAX = 100;

type Condition = (record: object) => boolean;
type Literal = boolean | null | { readonly text: string; readonly is_number: boolean };

/** Each operator by the order of the two sides, which is undefined where they have none. */
const ORDERINGS: Readonly<Record<string, (order?: number) => boolean>> = {
  '=': (order) => order === 0,
  '==': (order) => order === 0,
  '!=': (order) => order !== 0,
  '<': (order = 0) => order < 0,
  '<=': (order = 1) => order <= 0,
  '>': (order = 0) => order > 0,
  '>=': (order = -1) => order >= 0,
};
const OPERATORS = [...Object.keys(ORDERINGS), 'contains'];

const TOKEN =
  /[()]|[<>!=]=|[<>=]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\p{L}\p{N}_.:+@/-]+|(?<bad>\S)/gu;
const VALUE = /^(?:['"]|[\p{L}\p{N}_.:+@/-])/u;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;
const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;
const PATH = /^[\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*$/u;

/** An expression. Throws `Misuse` where it cannot be parsed; the message shows where. */
export class Where {
  /** Takes the parsed line of `recordJson`. */
  readonly matches: Condition;
  /** each field that was looked at: whether a record had it */
  readonly #found = new Map<string, boolean>();
  readonly #text: string;
  readonly #tokens: RegExpExecArray[];
  /** the present token, empty at the end */
  #token = '';
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    if (text.length > LENGTH_MAX)
      throw new Misuse(`an expression has at most ${LENGTH_MAX} characters`);
    this.#text = text;
    this.#tokens = [...text.matchAll(TOKEN)];
    this.#advance();
    this.matches = this.#or();
    if (this.#token !== '') throw this.#bad('here `and`, `or` or the end is expected');
  }

  /** Fields of the expression that no record had so far. */
  get missing(): readonly string[] {
    return [...this.#found].filter(([, isFound]) => !isFound).map(([path]) => path);
  }

  #advance(): void {
    const token = this.#tokens.shift();
    this.#token = token?.[0] ?? '';
    this.#at = token?.index ?? this.#text.length;
    if (token?.groups?.['bad'] !== undefined)
      throw this.#bad(
        /['"]/.test(this.#token) ? 'this quote is never closed' : 'this belongs to nothing',
      );
  }

  #bad(problem: string, at = this.#at): Misuse {
    const line = this.#text.replaceAll(/\s/g, ' ');
    return new Misuse(`--where: ${problem}\n  ${line}\n  ${' '.repeat(at)}^`);
  }

  /** Whether the present token is this word or symbol, which is then passed. */
  #takes(word: string): boolean {
    const isWord = this.#token.toLowerCase() === word;
    if (isWord) this.#advance();
    return isWord;
  }

  #or(): Condition {
    const sides = [this.#and()];
    while (this.#takes('or')) sides.push(this.#and());
    return (record) => sides.some((side) => side(record));
  }

  #and(): Condition {
    const sides = [this.#not()];
    while (this.#takes('and')) sides.push(this.#not());
    return (record) => sides.every((side) => side(record));
  }

  #not(): Condition {
    const at = this.#at;
    if (++this.#depth > DEPTH_MAX)
      throw this.#bad(`more than ${DEPTH_MAX} parentheses and nots inside each other`);
    let condition: Condition;
    if (this.#takes('not')) {
      const negated = this.#not();
      condition = (record) => !negated(record);
    } else if (this.#takes('(')) {
      condition = this.#or();
      if (!this.#takes(')')) throw this.#bad('this parenthesis is never closed', at);
    } else condition = this.#comparison();
    this.#depth--;
    return condition;
  }

  #comparison(): Condition {
    const path = this.#token;
    if (!PATH.test(path))
      throw this.#bad('here the name of a field is expected, like `amount` or `headers.source`');
    this.#advance();
    const operator = this.#token.toLowerCase();
    if (!OPERATORS.includes(operator))
      throw this.#bad(`after ${path} one of ${OPERATORS.join(' ')} is expected`);
    this.#advance();
    const literal = this.#literal();
    const names = path.split('.');
    return (record) => {
      const values = valuesAt(record, names);
      this.#found.set(path, values.length > 0 || this.#found.get(path) === true);
      return holds(values, operator, literal);
    };
  }

  #literal(): Literal {
    const text = this.#token;
    if (!VALUE.test(text))
      throw this.#bad(
        "here a value is expected: a number, a word, 'text in quotes', true, false or null",
      );
    this.#advance();
    if (/^['"]/.test(text))
      return { text: text.slice(1, -1).replaceAll(/\\(.)/g, '$1'), is_number: false };
    if (text === 'null') return null;
    if (text === 'true' || text === 'false') return text === 'true';
    return { text, is_number: NUMBER.test(text) };
  }
}

/**
 * The values at a path: one for each item of the lists on the way, none without such a field. A
 * path that begins with no field of the record begins in its value: `amount` is `value.amount`.
 */
function valuesAt(record: object, path: readonly string[]): readonly unknown[] {
  const isOfRecord = Object.hasOwn(record, path[0] ?? '') || !('value' in record);
  return within(isOfRecord ? record : record.value, path);
}

function within(value: unknown, path: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((item: unknown) => within(item, path));
  const [name, ...rest] = path;
  if (name === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  // the name of a header or an argument may contain a point
  const whole = path.join('.');
  if (Object.hasOwn(value, whole)) return within(Reflect.get(value, whole), []);
  return Object.hasOwn(value, name) ? within(Reflect.get(value, name), rest) : [];
}

/** Whether the comparison is true of one of the values. No value at all equals null. */
function holds(values: readonly unknown[], operator: string, literal: Literal): boolean {
  const ordering = ORDERINGS[operator];
  if (ordering === undefined) return values.some((value) => contains(value, literal));
  const compared = values.length === 0 ? [null] : values;
  return compared.some((value) => ordering(compare(value, literal)));
}

function contains(value: unknown, literal: Literal): boolean {
  if (literal === null || typeof literal === 'boolean') return false;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.toLowerCase().includes(literal.text.toLowerCase());
}

/** Below, at or above 0; undefined where the two have no order. */
function compare(value: unknown, literal: Literal): number | undefined {
  if (literal === null || typeof literal === 'boolean') return value === literal ? 0 : undefined;
  const { text, is_number: isNumber } = literal;
  if (isNumber && (typeof value === 'string' || typeof value === 'number'))
    return DECIMAL.test(String(value)) ? compareNumbers(String(value), text) : undefined;
  if (typeof value !== 'string') return undefined;
  return /^0x/i.test(text)
    ? orderOf(value.toLowerCase(), text.toLowerCase())
    : orderOf(value, text);
}

/** Exactly, however many digits they have. */
function compareNumbers(left: string, right: string): number {
  const parts = [left, right].map((text) => text.split('.'));
  const digits = Math.max(...parts.map(([, fraction = '']) => fraction.length));
  const [a = 0n, b = 0n] = parts.map(([whole = '', fraction = '']) =>
    BigInt(whole + fraction.padEnd(digits, '0')),
  );
  return orderOf(a, b);
}

function orderOf<Value extends string | bigint>(left: Value, right: Value): number {
  return left < right ? -1 : Number(left > right);
}
