/**
 * The rule that no test depends on speed, held over the syntax of the tests: a limit is `HANG_MS` or
 * `TEST_HANG_MS` of `limits.ts`, and no time that passed is compared with anything else.
 */
import ts from './typescript-6.ts';

/** Functions of Vitest that take a limit of their own. */
const OWN_LIMIT =
  /^(?:test|it|describe|suite|bench|(?:before|after|around)(?:All|Each)|onTest\w+)$/;
/** Settings that end something; names of SQL and of Kafka among them. */
const SETTING = /(?:timeout|patience|deadline)(?:_?ms)?$|^deadline$/i;
/** Calls that take a limit as their last argument. */
const SETTER = /^(?:timeout|setTimeout|setDefaultTimeout|setDefaultNavigationTimeout)$/;
/** A timer with one of these in its callback ends something. */
const ENDS = /\b(?:reject|abort|kill|destroy|terminate|throw|fail|signal)\b/;
const CLOCK = /\b(?:performance|Date)\.now\(\)|\bhrtime\b/;
const LIMIT = /\b(?:TEST_)?HANG_MS\b/;
/** Before a setting of the thing under test: the test waits for this limit itself to pass. */
const SUBJECT = 'limit under test';

/** Whether a value bounds nothing shorter than a hang. */
function isLimit(value: ts.Expression | undefined): boolean {
  return value !== undefined && LIMIT.test(value.getText());
}

function nameOf(callee: ts.Expression): string {
  if (ts.isPropertyAccessExpression(callee)) return callee.name.text;
  return ts.isIdentifier(callee) ? callee.text : '';
}

/** The function that a chain such as `test.each(...)(...)` begins with. */
function rootOf(callee: ts.Expression): string {
  if (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee))
    return rootOf(callee.expression);
  return ts.isIdentifier(callee) ? callee.text : '';
}

function isNumber(value: ts.Expression): boolean {
  return !(
    ts.isFunctionLike(value) ||
    ts.isStringLiteralLike(value) ||
    ts.isObjectLiteralExpression(value) ||
    ts.isArrayLiteralExpression(value) ||
    ts.isTemplateExpression(value)
  );
}

function complaintOf(node: ts.Node): string | undefined {
  if (ts.isCallExpression(node)) {
    const [first, last] = [node.arguments[0], node.arguments.at(-1)];
    if (OWN_LIMIT.test(rootOf(node.expression)) && node.arguments.some(ts.isFunctionLike)) {
      if (last !== undefined && isNumber(last) && !ts.isIdentifier(last))
        return 'a test or hook has a limit of its own';
      if (last !== undefined && ts.isIdentifier(last) && /_MS$|^[A-Z_]+$/.test(last.text))
        return 'a test or hook has a limit of its own';
    }
    const name = nameOf(node.expression);
    if (SETTER.test(name) && ts.isPropertyAccessExpression(node.expression)) {
      const value = node.arguments.find((each) => isNumber(each) && !ts.isFunctionLike(each));
      if (value !== undefined && !isLimit(value)) return `${name} takes HANG_MS`;
    }
    if (name === 'setTimeout' && ts.isIdentifier(node.expression) && first !== undefined)
      if (ENDS.test(first.getText()) && !isLimit(node.arguments[1]))
        return 'a timer that ends something takes HANG_MS';
    if (name.startsWith('toBeLess') && CLOCK.test(node.expression.getText()))
      return 'a time that passed is bounded';
  }
  if (ts.isPropertyAssignment(node) && SETTING.test(node.name.getText().replaceAll(/['"]/g, '')))
    if (ts.isNumericLiteral(node.initializer) || /_MS\b|^[A-Z_]+$/.test(node.initializer.getText()))
      if (!isLimit(node.initializer)) return `${node.name.getText()} is HANG_MS`;
  if (ts.isBinaryExpression(node) && /^[<>]=?$/.test(node.operatorToken.getText()))
    if (CLOCK.test(node.getText()) && !LIMIT.test(node.getText()))
      return 'a time that passed is compared with another limit than HANG_MS';
  return undefined;
}

/** The limits in a test's source that are none of a hang, each with its line. */
export function shortLimits(source: string): readonly string[] {
  const file = ts.createSourceFile('test.ts', source, ts.ScriptTarget.Latest, true);
  const lines = source.split('\n');
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const complaint = complaintOf(node);
    if (complaint !== undefined) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart());
      const isSubject = [line - 1, line].some((at) => lines[at]?.includes(SUBJECT));
      if (!isSubject) found.push(`${line + 1}: ${complaint}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}
