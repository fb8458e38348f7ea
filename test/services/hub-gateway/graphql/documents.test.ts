import { getIntrospectionQuery } from 'graphql';
import { expect, test } from 'vitest';
import { Documents } from '../../../../services/hub-gateway/graphql/documents.ts';
import { hubSchema } from '../../../../services/hub-gateway/graphql/schema.ts';
import { TOO_LARGE } from '../too-large.ts';

const documents = new Documents(hubSchema(), true);

test.each(TOO_LARGE)('an operation that is too large is refused: %s', (_what, query) => {
  expect(documents.read(query)).not.toHaveProperty('kind');
});

test('a document has room for the standard introspection query', () => {
  expect(documents.read(getIntrospectionQuery())).toHaveProperty('kind', 'Document');
});
