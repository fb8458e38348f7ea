/**
 * The little language of `--where`: comparisons of fields, joined by and, or, not and parentheses. It is parsed here and evaluated over what is shown of a
 * record; nothing of it is ever run as code.
 *
 *   type = MintIntended and amount >= 5000000
 *   not (key = policy) and value.reason contains 'cap'
 *   transactions.from = 0x7e5f4552091a69125d5dfcb7b8c2659029395bdf       any of them
 */
import { holds, OPERATORS, valuesAt, type Literal, type Operator } from './where-value.ts';

/** The expression cannot be read; the message shows where. */
export class BadExpression extends Error {}

const LENGTH_MAX = 10_000;
const DEPTH_MAX = 100;

type Condition = (record: object) => boolean;

export interface Where {
  /** `record` is one as `recordJson` shows it, parsed */
  readonly matches: Condition;
  /** fields that were asked for, and that no record so far had */
  readonly missing: ReadonlySet<string>;
}

interface Token {
  readonly kind: 'bracket' | 'operator' | 'quoted' | 'word' | 'end';
  readonly text: string;
  readonly at: number;
}

const TOKEN =
  /\s*(?:([()])|(<=|>=|!=|==|=|<|>)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([\p{L}\p{N}_.:+@/-]+))/uy;
const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;
const PATH = /^[\p{L}_][\p{L}\p{N}_-]*(?:\.[\p{L}\p{N}_-]+)*$/u;

function tokensOf(text: string): readonly Token[] {
  if (text.length > LENGTH_MAX)
    throw new BadExpression(`an expression has at most ${LENGTH_MAX} characters`);
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  let end = 0;
  while (text.slice(end).trim() !== '') {
    const match = TOKEN.exec(text);
    const at = end + (text.slice(end).length - text.slice(end).trimStart().length);
    if (match === null)
      throw wrong(
        text,
        at,
        /^['"]/.test(text.slice(at)) ? 'this quote is never closed' : 'this belongs to nothing',
      );
    const [, bracket, operator, single, double, word] = match;
    const quoted = single ?? double;
    if (bracket !== undefined) tokens.push({ kind: 'bracket', text: bracket, at });
    else if (operator !== undefined) tokens.push({ kind: 'operator', text: operator, at });
    else if (quoted !== undefined)
      tokens.push({ kind: 'quoted', text: quoted.replaceAll(/\\(.)/g, '$1'), at });
    else tokens.push({ kind: 'word', text: word ?? '', at });
    end = TOKEN.lastIndex;
  }
  return [...tokens, { kind: 'end', text: '', at: text.length }];
}

function wrong(text: string, at: number, problem: string): BadExpression {
  return new BadExpression(
    `--where: ${problem}\n  ${text.replaceAll(/\s/g, ' ')}\n  ${' '.repeat(at)}^`,
  );
}

/** Throws `BadExpression`. */
export function parseWhere(text: string): Where {
  const parser = new Parser(text);
  return { matches: parser.parse(), missing: parser.missing };
}

class Parser {
  readonly missing = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #text: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = tokensOf(text);
  }

  parse(): Condition {
    const condition = this.#or();
    if (this.#next.kind !== 'end') throw this.#wrong('here `and`, `or` or the end is expected');
    return condition;
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '', at: this.#text.length };
  }

  #wrong(problem: string, at = this.#next.at): BadExpression {
    return wrong(this.#text, at, problem);
  }

  /** Whether this word, or bracket, comes next; then it is passed. */
  #takes(text: string): boolean {
    const { kind, text: next } = this.#next;
    const comes =
      (kind === 'word' && next.toLowerCase() === text) || (kind === 'bracket' && next === text);
    if (comes) this.#at++;
    return comes;
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
    const { at } = this.#next;
    if (++this.#depth > DEPTH_MAX)
      throw this.#wrong(`more than ${DEPTH_MAX} parentheses and nots inside each other`);
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
    if (!this.#takes(')')) throw this.#wrong('this parenthesis is never closed', at);
    return condition;
  }

  #comparison(): Condition {
    const path = this.#path();
    const operator = this.#operator(path);
    const literal = this.#literal();
    const steps = path.split('.');
    return (record) => {
      const values = valuesAt(record, steps);
      this.#note(path, values.length > 0);
      return holds(values, operator, literal);
    };
  }

  #note(path: string, found: boolean): void {
    if (found) this.#seen.add(path);
    if (this.#seen.has(path)) this.missing.delete(path);
    else this.missing.add(path);
  }

  #path(): string {
    const { kind, text } = this.#next;
    if (kind !== 'word' || !PATH.test(text))
      throw this.#wrong('here the name of a field is expected, like `amount` or `headers.source`');
    this.#at++;
    return text;
  }

  #operator(path: string): Operator {
    const { kind, text } = this.#next;
    const written = kind === 'operator' || kind === 'word' ? text.toLowerCase() : '';
    const operator = OPERATORS.get(written);
    if (operator === undefined)
      throw this.#wrong(`after ${path} one of ${[...OPERATORS.keys()].join(' ')} is expected`);
    this.#at++;
    return operator;
  }

  #literal(): Literal {
    const { kind, text } = this.#next;
    if (kind !== 'word' && kind !== 'quoted')
      throw this.#wrong(
        "here a value is expected: a number, a word, 'text in quotes', true, false or null",
      );
    this.#at++;
    if (kind === 'quoted') return { text };
    if (text === 'null') return null;
    if (text === 'true' || text === 'false') return text === 'true';
    return NUMBER.test(text) ? { text, number: text } : { text };
  }
}
