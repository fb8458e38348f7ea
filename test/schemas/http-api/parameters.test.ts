import { expect, test } from 'vitest';
import { readQuery } from '../../../schemas/http-api/parameters.ts';
import { STREAM_RECORDS } from '../../../schemas/operations-api/document.ts';

test.each([
  [undefined, []],
  ['', []],
  ['MintIntended', ['MintIntended']],
  [
    ['MintIntended', '', 'MintDead'],
    ['MintIntended', 'MintDead'],
  ],
])('a list is given any number of times, and empty ones count as not given: %j', (given, type) => {
  const query = { topic: 'treasury.ledger', ...(given !== undefined && { type: given }) };
  expect(readQuery(query, STREAM_RECORDS.parameters)).toMatchObject({
    topic: 'treasury.ledger',
    from: undefined,
    type,
    key: [],
  });
});
