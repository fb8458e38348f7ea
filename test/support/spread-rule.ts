/**
 * The rule that a call names what it passes: TypeScript checks no excess property of a spread, and
 * a reader does not see what the receiver gets.
 */
import ts from './typescript-6.ts';

/** In a comment on the line before, with the reason: the receiver takes all of it. */
const EXEMPT = /\/\/ all of it: /;

/** Names of objects that hold more than one receiver takes. */
const BAG = /^#?(?:options|config|context|parts|sources)$/;

/** Lines with a call whose argument spreads such an object into a literal. */
export function spreadBags(source: string): readonly string[] {
  const root = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  const lines = source.split('\n');
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isSpreadAssignment(node) && isBag(node.expression) && isPassed(node.parent)) {
      const { line } = root.getLineAndCharacterOfPosition(node.getStart());
      if (!EXEMPT.test(lines[line - 1] ?? '')) found.push(`${line + 1}: ${node.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}

function isBag(spread: ts.Expression): boolean {
  const name = ts.isPropertyAccessExpression(spread) ? spread.name : spread;
  return (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) && BAG.test(name.text);
}

/** Whether an object literal is an argument, or a part of one. */
function isPassed(literal: ts.Node): boolean {
  const { parent } = literal;
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent))
    return parent.arguments?.some((argument) => argument === literal) === true;
  return (
    (ts.isObjectLiteralExpression(parent) ||
      ts.isPropertyAssignment(parent) ||
      ts.isParenthesizedExpression(parent) ||
      ts.isConditionalExpression(parent)) &&
    isPassed(parent)
  );
}
