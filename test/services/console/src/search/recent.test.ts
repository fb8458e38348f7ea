import { expect, test, vi } from 'vitest';

const kept = vi.hoisted(() => {
  const texts = new Map<string, string>();
  const localStorage = {
    getItem: (name: string) => texts.get(name) ?? null,
    setItem: (name: string, text: string) => void texts.set(name, text),
    removeItem: (name: string) => void texts.delete(name),
  };
  vi.stubGlobal('window', { localStorage });
  return texts;
});

import { recentHits, remember } from '../../../../../services/console/src/search/recent.ts';

const BLOCK = { kind: 'block', identifier: '12', summary: 'block 12' } as const;

test.each([
  ['another kind', { kind: 'trip', identifier: '0x12' }],
  ['a page that is none', { kind: 'page', identifier: 'javascript:alert(1)', name: 'Chain' }],
  ['a name that is no text', { kind: 'block', identifier: '1', name: {} }],
  ['a summary that is no text', { kind: 'block', identifier: '1', summary: ['x'] }],
  ['no identifier', { kind: 'block' }],
  ['nothing', null],
])('a kept search with %s is left out', (_what, strange) => {
  kept.set('searched', JSON.stringify([strange, BLOCK]));
  expect(recentHits()).toEqual([BLOCK]);
});

test('searches of this version are kept, the newest first, once each', () => {
  kept.clear();
  const page = { kind: 'page', identifier: '/reserve', name: 'Reserve' } as const;
  for (const hit of [BLOCK, page, BLOCK]) remember(hit);
  expect(recentHits()).toEqual([BLOCK, page]);
});
