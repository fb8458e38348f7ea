import { expect, test } from 'vitest';
import { claimsOf, titlesIn } from '../support/claims.ts';

test('the page of clients names each test of a client in its table', () => {
  const titles = titlesIn('test/servers/services/hub-gateway/clients-*.test.ts');
  expect(claimsOf('docs/clients.md', 'Tried').toSorted()).toEqual(titles.toSorted());
});
