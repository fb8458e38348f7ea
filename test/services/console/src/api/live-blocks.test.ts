import { expect, test } from 'vitest';
import { BLOCK, type Block } from '../../../../../schemas/explorer-api/blocks.ts';
import { exampleOf } from '../../../../../schemas/http-api/answer.ts';
import {
  NO_BLOCKS,
  withPage,
  type LiveBlocks,
} from '../../../../../services/console/src/api/live-blocks.ts';

function blocks(...hashes: readonly (readonly [number, string])[]): readonly Block[] {
  return hashes.map(([height, hash]) => Object.assign(Object(exampleOf(BLOCK)), { height, hash }));
}

function orphansOf({ orphans }: LiveBlocks): readonly (readonly [number, string])[] {
  return [...orphans].map(([height, { hash }]) => [height, hash]);
}

const FIRST = withPage(NO_BLOCKS, blocks([3, 'c'], [2, 'b'], [1, 'a']));

test('blocks of the first page have not arrived', () => {
  expect(FIRST.arrived.size).toBe(0);
  expect(orphansOf(FIRST)).toEqual([]);
});

test('a block above the newest has arrived and replaced nothing', () => {
  const next = withPage(FIRST, blocks([4, 'd'], [3, 'c'], [2, 'b']));
  expect([...next.arrived]).toEqual(['d']);
  expect(orphansOf(next)).toEqual([]);
});

test('blocks whose heights have another hash now stay as orphans', () => {
  const next = withPage(FIRST, blocks([4, 'd'], [3, 'C'], [2, 'B'], [1, 'a']));
  expect([...next.arrived]).toEqual(['d', 'C', 'B']);
  const orphans = [
    [3, 'c'],
    [2, 'b'],
  ];
  expect(orphansOf(next)).toEqual(orphans);
  expect(orphansOf(withPage(next, next.blocks))).toEqual(orphans);
});

test('an orphan is dropped with its height, and replaced by a newer one', () => {
  const next = withPage(FIRST, blocks([3, 'C'], [2, 'B'], [1, 'a']));
  const again = withPage(next, blocks([4, 'd'], [3, 'CC']));
  expect(orphansOf(again)).toEqual([[3, 'C']]);
});

test('a page without a height in common replaces nothing', () => {
  expect(orphansOf(withPage(FIRST, blocks([9, 'i'], [8, 'h'])))).toEqual([]);
});
