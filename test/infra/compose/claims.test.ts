import { expect, test } from 'vitest';
import { claimsOf, titlesIn } from '../../support/claims.ts';

test('the page of compose names each test of containers in its table of claims', () => {
  const named = claimsOf('docs/operations/compose.md', 'Tried');
  expect(named.toSorted()).toEqual(titlesIn('test/containers/*.test.ts').toSorted());
});
