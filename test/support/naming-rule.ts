/**
 * The rule on case: data is snake_case, code is camelCase, and a destructured datum keeps its
 * words. Properties of interfaces and classes and getters are data; functions, methods and
 * callbacks are code. Names of `OUTSIDE` belong to the formats and packages that they come from.
 */
import ts from './typescript-6.ts';

/** Paths with names of React, the SDL, OpenAPI, kafkajs, and of a package for browsers. */
export const NAMES_OF_OTHERS =
  /^(services\/(console|hub-gateway\/graphql|runtime\/kafka\/kafkajs)|schemas\/http-api|packages\/wallet|test)\//;

const OUTSIDE = new Set([
  // sign-in, as the SDL names it
  'publicKey',
  // Avro and avsc
  'logicalType',
  'underlyingType',
  'valuesType',
  'itemsType',
  // Prometheus
  'activeAt',
  // Node's HTTP and Express
  'statusCode',
  'remoteAddress',
  'originalUrl',
  // kafkajs
  'memberId',
  'connectionPool',
  // graphql-js
  'maxTokens',
  'maxErrors',
]);

const CAMEL = /^[a-z][a-z0-9]*[A-Z]/;
const SNAKE = /^[a-z][a-z0-9]*_[a-z0-9]/;

/** Lines with a name that breaks the rule. */
export function misnamed(source: string): readonly string[] {
  const root = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const complain = (node: ts.Node, text: string): void => {
    const { line } = root.getLineAndCharacterOfPosition(node.getStart());
    found.push(`${line + 1}: ${text}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isBindingElement(node)) {
      const [datum, local] = [node.propertyName, node.name];
      if (datum !== undefined && ts.isIdentifier(datum) && ts.isIdentifier(local))
        if (SNAKE.test(datum.text) && !local.text.startsWith('_'))
          if (local.text !== datum.text && local.text !== camelCase(datum.text))
            complain(node, `${datum.text}: ${local.text}`);
    } else if (isMember(node) && ts.isPrivateIdentifier(node.name)) {
      if (SNAKE.test(node.name.text.slice(1))) complain(node.name, node.name.text);
    } else if (isMember(node) && ts.isIdentifier(node.name)) {
      const { text } = node.name;
      if (isCode(node) ? SNAKE.test(text) : CAMEL.test(text) && !OUTSIDE.has(text))
        complain(node.name, text);
    }
    ts.forEachChild(node, visit);
  };
  visit(root);
  return found;
}

type Member =
  | ts.PropertySignature
  | ts.PropertyDeclaration
  | ts.GetAccessorDeclaration
  | ts.MethodSignature
  | ts.MethodDeclaration
  | ts.FunctionDeclaration;

function isMember(node: ts.Node): node is Member & { readonly name: ts.Node } {
  return (
    (ts.isPropertySignature(node) ||
      ts.isPropertyDeclaration(node) ||
      ts.isGetAccessorDeclaration(node) ||
      ts.isMethodSignature(node) ||
      (ts.isMethodDeclaration(node) && ts.isClassLike(node.parent)) ||
      ts.isFunctionDeclaration(node)) &&
    node.name !== undefined
  );
}

/** Whether a member is called: a function, a method, a callback. */
function isCode(member: Member): boolean {
  if (ts.isGetAccessorDeclaration(member)) return false;
  if (!ts.isPropertySignature(member) && !ts.isPropertyDeclaration(member)) return true;
  if (/^on[A-Z]/.test(member.name.getText())) return true;
  const made = ts.isPropertyDeclaration(member) ? member.initializer : undefined;
  return isFunctionType(member.type) || (made !== undefined && ts.isArrowFunction(made));
}

function isFunctionType(type: ts.TypeNode | undefined): boolean {
  if (type === undefined) return false;
  if (ts.isParenthesizedTypeNode(type)) return isFunctionType(type.type);
  if (ts.isUnionTypeNode(type)) return type.types.some(isFunctionType);
  return ts.isFunctionTypeNode(type);
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
