import { expect, test } from 'vitest';
import { textOfResult } from '../../../../services/hub-gateway/graphql/result-text.ts';

const LIST = Array.from({ length: 1_001 }, (_, at) => ({ at, text: 'ö"', none: null }));

test.each([
  [{ data: null }],
  [{ data: { short: [1], one: { two: null } } }],
  [{ data: { 'a "name"': LIST, b: LIST.slice(0, 251), c: 1 }, extensions: { truncated: ['b'] } }],
  [{ data: { list: LIST }, errors: undefined }],
])('a result becomes the text of JSON.stringify', async (result) => {
  expect(await textOfResult(result)).toBe(JSON.stringify(result));
});
