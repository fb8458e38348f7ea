import { getIntrospectionQuery, getNamedType, isObjectType, type GraphQLType } from 'graphql';
import { expect, test, vi } from 'vitest';
import { Documents } from '../../../../services/hub-gateway/graphql/documents.ts';
import { hubSchema } from '../../../../services/hub-gateway/graphql/schema.ts';
import { documentLimits } from '../../../../services/runtime/limits/documents.ts';
import { TOO_LARGE } from '../too-large.ts';

const schema = hubSchema();
const documents = new Documents(schema, true);

test.each(TOO_LARGE)('an operation that is too large is refused: %s', (_what, query) => {
  expect(documents.read(query)).not.toHaveProperty('kind');
});

test('a document of too many tokens is counted as refused, one with a mistake is not', () => {
  const limit = { is_on: true, refused: vi.fn<() => void>() };
  const counted = new Documents(schema, true, documentLimits(limit));
  counted.read('{ chainInfo');
  expect(limit.refused).not.toHaveBeenCalled();
  counted.read(`{ chainInfo { ${'chainId '.repeat(300)} } }`);
  expect(limit.refused).toHaveBeenCalledOnce();
});

/** Every field of a type, and of the types of its fields. */
function everyField(type: GraphQLType): string {
  const named = getNamedType(type);
  if (!isObjectType(named)) return '';
  const fields = Object.values(named.getFields());
  return `{ __typename ${fields.map((field) => `${field.name} ${everyField(field.type)}`).join(' ')} }`;
}

test('a document has room for all queries with every field and a variable for each argument', () => {
  const fields = Object.values(schema.getQueryType()?.getFields() ?? {});
  const variables: string[] = [];
  const asked = fields.map(({ name, args, type }) => {
    for (const one of args) variables.push(`$${name}_${one.name}: ${String(one.type)}`);
    const given = args.map((one) => `${one.name}: $${name}_${one.name}`).join(', ');
    return `${name}${given === '' ? '' : `(${given})`} ${everyField(type)}`;
  });
  const text = `query (${variables.join(', ')}) { ${asked.join(' ')} }`;
  expect(documents.read(text)).toHaveProperty('tokenCount', 273);
});

test('a document has room for the standard introspection query', () => {
  expect(documents.read(getIntrospectionQuery())).toHaveProperty('kind', 'Document');
});
