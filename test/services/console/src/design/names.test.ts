import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type * as Names from '../../../../../services/console/src/design/names.ts';
import { anyCharacter } from '../../../../support/any-character.ts';

let names: typeof Names;
beforeAll(async () => {
  // of a browser; the module keeps its texts where there is no localStorage
  vi.stubGlobal('window', {});
  vi.stubGlobal('addEventListener', () => undefined);
  names = await import('../../../../../services/console/src/design/names.ts');
});
afterAll(() => vi.unstubAllGlobals());

const ADDRESS = `0x${'ab'.repeat(20)}`;

test('a name is kept, changed, and removed by an empty one', () => {
  const named = names.withName(new Map(), ADDRESS, '  My   savings ');
  expect([...named]).toEqual([[ADDRESS, 'My savings']]);
  expect([...names.withName(named, ADDRESS, 'Other')]).toEqual([[ADDRESS, 'Other']]);
  for (const none of ['', '   ', '\u202e\u200b\n'])
    expect([...names.withName(named, ADDRESS, none)]).toEqual([]);
});

test('a name has at most forty characters, all of which are seen', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (text) => {
      const name = names.withName(new Map(), ADDRESS, text).get(ADDRESS) ?? 'removed';
      expect(Array.from(name).length).toBeLessThanOrEqual(names.NAME_CHARACTERS_MAX);
      expect(name).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }),
  );
});

test('the oldest of five hundred names gives way', () => {
  let all: ReadonlyMap<string, string> = new Map();
  for (let at = 0; at < 501; at++) all = names.withName(all, String(at), 'x');
  expect([all.size, all.has('0'), all.has('500')]).toEqual([500, false, true]);
});

test('names from the store are texts by address, with any text in it', () => {
  expect([...names.namesIn(JSON.stringify([[ADDRESS, 'A']]))]).toEqual([[ADDRESS, 'A']]);
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      for (const [address, name] of names.namesIn(text))
        expect([typeof address, typeof name]).toEqual(['string', 'string']);
    }),
  );
});
