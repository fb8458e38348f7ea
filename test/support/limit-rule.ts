/**
 * The rule that no test depends on speed, held over the syntax of the tests: a limit is `HANG_MS`
 * or `TEST_HANG_MS` of `limits.ts`, or longer, and no time that passed is compared with another.
 */
import ts from './typescript-6.ts';

/**
 * In a comment on the line before: the test waits for this limit of the thing under test to pass,
 * or nothing fails when it is reached (a pace, a time of a clock that the test sets).
 */
const EXEMPT = /\/\/ (?:limit under test\b|no limit: )/;

const HANGS = new Set(['HANG_MS', 'TEST_HANG_MS']);
/** Names of settings and variables that end something; those of SQL and of Kafka among them. */
const SETTING = /(?:timeout|time_out|patience|deadline)(?:_?(?:ms|s|millis|seconds))?$/i;
/** Functions that take a limit behind their function. */
const LIMITED =
  /^(?:test|it|describe|suite|bench|(?:before|after|around)(?:All|Each)|onTest\w+|waitFor|waitUntil)$/;
/** Methods that take a limit alone or before or after a callback. */
const SETTER = /^(?:timeout|setTimeout|setDefaultTimeout|setDefaultNavigationTimeout)$/;
const TIMER = /^set(?:Timeout|Interval)$/;
/** A timer with one of these in its callback ends something. */
const ENDS = /^(?:reject|abort|kill|destroy|terminate|throw|fail|cancel|exit|close)$/i;
const CLOCK = /\b(?:now|hrtime|cpuUsage|threadCpuUsage)\b/;
const CLOCKS = /^(?:performance|Date|process)$/;
/** An object in a claim is a result, not settings. */
const CLAIM = /^to(?:Be|Equal|StrictEqual|MatchObject|HaveProperty|HaveBeenCalledWith)$/;
const COMPARISONS = new Set([
  ts.SyntaxKind.LessThanToken,
  ts.SyntaxKind.LessThanEqualsToken,
  ts.SyntaxKind.GreaterThanToken,
  ts.SyntaxKind.GreaterThanEqualsToken,
]);

/** The text of a name, without quotes. */
function textOf(name: ts.Node | undefined): string {
  return name !== undefined && (ts.isIdentifier(name) || ts.isStringLiteralLike(name))
    ? name.text
    : '';
}

/** The last name of a callee: `b` of `a.b`. */
function nameOf(callee: ts.Expression): string {
  return ts.isPropertyAccessExpression(callee) ? callee.name.text : textOf(callee);
}

/** The function that a chain such as `test.each(...)(...)` begins with, and `b` of `a.b`. */
function rootOf(callee: ts.Expression): string {
  if (ts.isCallExpression(callee)) return rootOf(callee.expression);
  if (!ts.isPropertyAccessExpression(callee)) return textOf(callee);
  const root = rootOf(callee.expression);
  return LIMITED.test(root) ? root : callee.name.text;
}

interface Given {
  readonly scope: ts.Node;
  /** of a variable without an initializer none is known */
  readonly value: ts.Node | undefined;
}

class Source {
  readonly #file: ts.SourceFile;
  readonly #lines: readonly string[];
  /** Values of a name, each with the part of the file that it is of. */
  readonly #values = new Map<string, Given[]>();
  /** Functions that wait: `setTimeout` of `node:timers/promises` by its name here. */
  readonly #waits = new Set(['setTimeout']);
  readonly #hasClock: boolean;
  readonly found: string[] = [];

  constructor(source: string) {
    this.#hasClock = CLOCK.test(source);
    this.#file = ts.createSourceFile('test.ts', source, ts.ScriptTarget.Latest, true);
    this.#lines = source.split('\n');
    this.#learn(this.#file);
    this.#visit(this.#file);
  }

  #learn(node: ts.Node): void {
    if (ts.isImportSpecifier(node) && textOf(node.propertyName) === 'setTimeout')
      this.#waits.add(node.name.text);
    const isFunction = ts.isFunctionDeclaration(node);
    if (isFunction || isNamed(node)) {
      const name = textOf(node.name);
      const given = {
        scope: ts.findAncestor(node.parent, isScope) ?? this.#file,
        value: isFunction ? node.body : node.initializer,
      };
      this.#values.set(name, [...(this.#values.get(name) ?? []), given]);
    }
    ts.forEachChild(node, (child) => this.#learn(child));
  }

  /** The innermost that a name stands for; undefined when it is of another file. */
  #givenTo(name: ts.Identifier): Given | undefined {
    return this.#values
      .get(name.text)
      ?.filter(({ scope }) => scope.pos <= name.pos && name.end <= scope.end)
      .reduce<Given | undefined>(
        (inner, each) => (inner !== undefined && inner.scope.pos > each.scope.pos ? inner : each),
        undefined,
      );
  }

  #valueOf(name: ts.Identifier): ts.Node | undefined {
    return this.#givenTo(name)?.value;
  }

  #visit(node: ts.Node): void {
    const complaint = this.#complaintOf(node);
    if (complaint !== undefined) {
      const { line } = this.#file.getLineAndCharacterOfPosition(node.getStart());
      const isExempt = EXEMPT.test(this.#lines[line - 1] ?? '');
      if (!isExempt) this.found.push(`${line + 1}: ${complaint}`);
      return;
    }
    if (ts.isCallExpression(node) && CLAIM.test(nameOf(node.expression)))
      return this.#visit(node.expression);
    ts.forEachChild(node, (child) => this.#visit(child));
  }

  /** Whether the node, one within it or one behind a name of it is such a node. */
  #has(node: ts.Node, is: (node: ts.Node) => boolean, seen = new Set<ts.Node>()): boolean {
    if (seen.has(node)) return false;
    seen.add(node);
    if (is(node)) return true;
    if (ts.isIdentifier(node)) {
      const value = this.#valueOf(node);
      return value !== undefined && this.#has(value, is, seen);
    }
    return ts.forEachChild(node, (child) => this.#has(child, is, seen) || undefined) === true;
  }

  /** Whether a time passes at `HANG_MS` at the earliest. */
  #isHang(value: ts.Node): boolean {
    if (ts.isParenthesizedExpression(value)) return this.#isHang(value.expression);
    if (ts.isIdentifier(value)) {
      const given = this.#valueOf(value);
      return HANGS.has(value.text) || (given !== undefined && this.#isHang(given));
    }
    if (!ts.isBinaryExpression(value)) return false;
    const { operatorToken, left, right } = value;
    if (operatorToken.kind === ts.SyntaxKind.PlusToken)
      return this.#isHang(left) || this.#isHang(right);
    if (operatorToken.kind !== ts.SyntaxKind.AsteriskToken) return false;
    const [one, other] = isWhole(left) ? [right, left] : [left, right];
    return this.#isHang(one) && (isWhole(other) || this.#isHang(other));
  }

  /** Whether a value is a time that is shorter than a hang; one that is passed on is none. */
  #isShort(value: ts.Node, seen: ReadonlySet<ts.Node> = new Set()): boolean {
    if (this.#isHang(value) || seen.has(value)) return false;
    const next = new Set(seen).add(value);
    if (ts.isNumericLiteral(value)) return Number(value.text.replaceAll('_', '')) > 0;
    if (ts.isStringLiteralLike(value)) return /^[1-9]\d* ?(?:ms|s|min)?$/.test(value.text);
    if (ts.isPropertyAccessExpression(value)) return isConstant(value.name.text);
    if (ts.isIdentifier(value)) {
      const given = this.#givenTo(value);
      if (given === undefined) return isConstant(value.text);
      return given.value !== undefined && this.#isShort(given.value, next);
    }
    if (ts.isParenthesizedExpression(value)) return this.#isShort(value.expression, next);
    if (ts.isBinaryExpression(value)) {
      if (value.operatorToken.kind === ts.SyntaxKind.SlashToken) return this.#mentionsHang(value);
      const isShort = (side: ts.Node): boolean => this.#isShort(side, next);
      const sides = [value.left, value.right];
      // a time beyond one that is passed on is none
      return value.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken
        ? sides.some(isShort)
        : sides.every(isShort);
    }
    if (ts.isConditionalExpression(value))
      return [value.whenTrue, value.whenFalse].some((side) => this.#isShort(side, next));
    if (
      ts.isCallExpression(value) &&
      /^(?:min|max|round|ceil|Number)$/.test(nameOf(value.expression))
    )
      return value.arguments.some((each) => this.#isShort(each, next));
    return false;
  }

  /** Whether a value is a time of a clock, or reckoned from one. */
  #readsClock(value: ts.Node, seen = new Set<ts.Node>()): boolean {
    if (!this.#hasClock || seen.has(value) || ts.isFunctionLike(value)) return false;
    seen.add(value);
    if (ts.isIdentifier(value)) {
      const given = this.#valueOf(value);
      return given !== undefined && this.#readsClock(given, seen);
    }
    if (ts.isPropertyAccessExpression(value)) {
      const isClock = CLOCK.test(value.name.text) && CLOCKS.test(textOf(value.expression));
      return isClock || this.#readsClock(value.expression, seen);
    }
    if (ts.isCallExpression(value)) {
      const { expression: callee } = value;
      const isPassedOn =
        textOf(callee) === 'expect' ||
        (ts.isPropertyAccessExpression(callee) && textOf(callee.expression) === 'Math');
      const parts = isPassedOn ? [callee, ...value.arguments] : [callee];
      return parts.some((part) => this.#readsClock(part, seen));
    }
    return ts.forEachChild(value, (child) => this.#readsClock(child, seen) || undefined) === true;
  }

  #mentionsHang(value: ts.Node): boolean {
    return this.#has(value, (node) => HANGS.has(textOf(node)));
  }

  #complaintOf(node: ts.Node): string | undefined {
    if (ts.isCallExpression(node)) return this.#complaintOfCall(node);
    if (ts.isImportSpecifier(node) && HANGS.has(node.name.text)) {
      const { moduleSpecifier } = node.parent.parent.parent;
      const isOurs =
        node.propertyName === undefined && textOf(moduleSpecifier).endsWith('/limits.ts');
      return isOurs ? undefined : `${node.name.text} is of limits.ts`;
    }
    if (ts.isPropertyAssignment(node) || isNamed(node)) {
      const name = textOf(node.name);
      if (HANGS.has(name) && !ts.isPropertyAssignment(node)) return `${name} is of limits.ts`;
      if (!SETTING.test(name) || node.initializer === undefined) return undefined;
      if (this.#readsClock(node.initializer)) return undefined;
      return this.#isShort(node.initializer) ? `${name} is shorter than HANG_MS` : undefined;
    }
    if (ts.isBinaryExpression(node) && COMPARISONS.has(node.operatorToken.kind))
      if (this.#readsClock(node) && !this.#mentionsHang(node))
        return 'a time that passed is compared with another limit than HANG_MS';
    return undefined;
  }

  #complaintOfCall(call: ts.CallExpression): string | undefined {
    const { expression: callee } = call;
    const [name, args] = [nameOf(callee), call.arguments];
    const last = args.at(-1);
    if (LIMITED.test(rootOf(callee)) && args.length > 1 && last !== undefined)
      if (!ts.isStringLiteralLike(last) && this.#isShort(last))
        return `${rootOf(callee)} has a limit of its own`;
    if (ts.isPropertyAccessExpression(callee) && SETTER.test(name) && !isGlobal(callee.expression))
      if (args.some((each) => this.#isShort(each))) return `${name} takes HANG_MS`;
    const [first, wait] = args;
    if (TIMER.test(name) && first !== undefined && wait !== undefined)
      if (this.#has(first, isEnd) && this.#isShort(wait))
        return 'a timer that ends something takes HANG_MS';
    if (/^(?:race|any)$/.test(name) && first !== undefined && ts.isPropertyAccessExpression(callee))
      if (textOf(callee.expression) === 'Promise')
        if (this.#has(first, (each) => this.#waitsShort(each)))
          return 'a race with a timer takes HANG_MS';
    if (name.startsWith('toBeLess') && this.#readsClock(callee) && !this.#mentionsHang(call))
      return 'a time that passed is bounded';
    // a time that was read before is a lower bound
    if (name.startsWith('toBeGreater') && first !== undefined && !ts.isIdentifier(first))
      if (this.#readsClock(first) && !this.#mentionsHang(call))
        return 'a time that passed is bounded';
    return undefined;
  }

  #waitsShort(node: ts.Node): boolean {
    return (
      ts.isCallExpression(node) &&
      this.#waits.has(nameOf(node.expression)) &&
      node.arguments.some((each) => this.#isShort(each))
    );
  }
}

function isNamed(
  node: ts.Node,
): node is ts.VariableDeclaration | ts.ParameterDeclaration | ts.BindingElement {
  return ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node);
}

function isScope(node: ts.Node): boolean {
  return (
    ts.isFunctionLike(node) ||
    ts.isBlock(node) ||
    ts.isForStatement(node) ||
    ts.isForOfStatement(node) ||
    ts.isSourceFile(node)
  );
}

/** A name as those of constants, which may come from another file. */
function isConstant(name: string): boolean {
  return /^[A-Z][A-Z\d_]*$/.test(name);
}

function isWhole(value: ts.Node): boolean {
  return ts.isNumericLiteral(value) && /^[1-9][\d_]*$/.test(value.getText());
}

function isGlobal(value: ts.Expression): boolean {
  return /^(?:globalThis|global|window)$/.test(textOf(value));
}

function isEnd(node: ts.Node): boolean {
  return ts.isThrowStatement(node) || (ts.isIdentifier(node) && ENDS.test(node.text));
}

/** The limits in a test's source that are none of a hang, each with its line. */
export function shortLimits(source: string): readonly string[] {
  return new Source(source).found;
}
