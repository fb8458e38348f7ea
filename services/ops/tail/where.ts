/**
 * The language of `--where`: comparisons of fields, joined by and, or, not and parentheses. An
 * expression is parsed and evaluated over a record as it is shown, never run as code.
 *
 *   type = MintIntended and amount >= 5000000
 *   not (key = policy) and value.reason contains 'cap'
 *   transactions.from = 0x7e5f4552091a69125d5dfcb7b8c2659029395bdf       any of them
 */
import { holds, isOperator, OPERATORS, valuesAt, type Literal } from './where-value.ts';

/** The expression cannot be parsed; the message shows where. */
export class BadExpression extends Error {}

const LENGTH_MAX = 10_000;
const DEPTH_MAX = 100;

type Condition = (record: object) => boolean;

export interface Where {
  /** `record`: the parsed line of `recordJson` */
  readonly matches: Condition;
  /** fields of the expression that no record had so far */
  readonly missing: ReadonlySet<string>;
}

interface Token {
  readonly kind: 'symbol' | 'quoted' | 'word' | 'end';
  readonly text: string;
  readonly at: number;
}

const TOKEN =
  /\s*(?:([()]|<=|>=|!=|==|=|<|>)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([\p{L}\p{N}_.:+@/-]+))/uy;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;
const PATH = /^[\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*$/u;

/** Throws `BadExpression`. */
export function parseWhere(text: string): Where {
  if (text.length > LENGTH_MAX)
    throw new BadExpression(`an expression has at most ${LENGTH_MAX} characters`);
  const parser = new Parser(text);
  return { matches: parser.parse(), missing: parser.missing };
}

class Parser {
  readonly missing = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #text: string;
  #token: Token;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#token = this.#tokenAt(0);
  }

  parse(): Condition {
    const condition = this.#or();
    if (this.#token.kind !== 'end') throw this.#bad('here `and`, `or` or the end is expected');
    return condition;
  }

  #tokenAt(from: number): Token {
    const rest = this.#text.slice(from).trimStart();
    const at = this.#text.length - rest.length;
    if (rest === '') return { kind: 'end', text: '', at };
    TOKEN.lastIndex = from;
    const match = TOKEN.exec(this.#text);
    const isOpen = /^['"]/.test(rest);
    if (match === null)
      throw this.#bad(isOpen ? 'this quote is never closed' : 'this belongs to nothing', at);
    const [, symbol, single, double, word = ''] = match;
    const quoted = single ?? double;
    if (symbol !== undefined) return { kind: 'symbol', text: symbol, at };
    if (quoted !== undefined)
      return { kind: 'quoted', text: quoted.replaceAll(/\\(.)/g, '$1'), at };
    return { kind: 'word', text: word, at };
  }

  #bad(problem: string, at = this.#token.at): BadExpression {
    const line = this.#text.replaceAll(/\s/g, ' ');
    return new BadExpression(`--where: ${problem}\n  ${line}\n  ${' '.repeat(at)}^`);
  }

  /** Passes the next token, which is of one of these kinds and satisfies the test. */
  #take(kinds: readonly Token['kind'][], test: (text: string) => boolean): Token | undefined {
    const token = this.#token;
    if (!kinds.includes(token.kind) || !test(token.text)) return undefined;
    this.#token = this.#tokenAt(TOKEN.lastIndex);
    return token;
  }

  #takes(text: string): boolean {
    return this.#take(['word', 'symbol'], (each) => each.toLowerCase() === text) !== undefined;
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
    const { at } = this.#token;
    if (++this.#depth > DEPTH_MAX)
      throw this.#bad(`more than ${DEPTH_MAX} parentheses and nots inside each other`);
    const condition = this.#one(at);
    this.#depth--;
    return condition;
  }

  #one(at: number): Condition {
    if (this.#takes('not')) {
      const condition = this.#not();
      return (record) => !condition(record);
    }
    if (!this.#takes('(')) return this.#comparison();
    const condition = this.#or();
    if (!this.#takes(')')) throw this.#bad('this parenthesis is never closed', at);
    return condition;
  }

  #comparison(): Condition {
    const path = this.#take(['word'], (text) => PATH.test(text))?.text;
    if (path === undefined)
      throw this.#bad('here the name of a field is expected, like `amount` or `headers.source`');
    const operator = this.#token.text.toLowerCase();
    if (!isOperator(operator) || this.#take(['symbol', 'word'], () => true) === undefined)
      throw this.#bad(`after ${path} one of ${OPERATORS.join(' ')} is expected`);
    const literal = this.#literal();
    const names = path.split('.');
    return (record) => {
      const values = valuesAt(record, names);
      if (values.length > 0) this.#seen.add(path);
      if (this.#seen.has(path)) this.missing.delete(path);
      else this.missing.add(path);
      return holds(values, operator, literal);
    };
  }

  #literal(): Literal {
    const token = this.#take(['word', 'quoted'], () => true);
    if (token === undefined)
      throw this.#bad(
        "here a value is expected: a number, a word, 'text in quotes', true, false or null",
      );
    const { kind, text } = token;
    if (kind === 'quoted') return { text };
    if (text === 'null') return null;
    if (text === 'true' || text === 'false') return text === 'true';
    return NUMBER.test(text) ? { text, number: text } : { text };
  }
}
