import { expect, test } from 'vitest';
import type { Block } from '../../../../../services/console/src/api/explorer.ts';
import { NO_BLOCKS, withPage } from '../../../../../services/console/src/api/live-blocks.ts';

function blocks(...hashes: readonly (readonly [number, string])[]): readonly Block[] {
  return hashes.map(([height, hash]) => ({
    height,
    hash,
    tx_count: 0,
    producer: '0x',
    reward_recipient: '0x',
    block_reward: '0',
    timestamp: '2026-11-21T07:28:02.500Z',
  }));
}

const FIRST = withPage(NO_BLOCKS, blocks([3, 'c'], [2, 'b'], [1, 'a']));

test('blocks of the first page have not arrived', () => {
  expect(FIRST.arrived.size).toBe(0);
  expect(FIRST.replaced).toBeUndefined();
});

test('a block above the newest has arrived and replaced nothing', () => {
  const next = withPage(FIRST, blocks([4, 'd'], [3, 'c'], [2, 'b']));
  expect([...next.arrived]).toEqual(['d']);
  expect(next.replaced).toBeUndefined();
});

test('heights with another hash were replaced, and stay named', () => {
  const next = withPage(FIRST, blocks([4, 'd'], [3, 'C'], [2, 'B'], [1, 'a']));
  expect([...next.arrived]).toEqual(['d', 'C', 'B']);
  expect(next.replaced).toEqual({ from: 2, to: 3 });
  expect(withPage(next, next.blocks).replaced).toEqual({ from: 2, to: 3 });
});

test('a page without a height in common replaces nothing', () => {
  expect(withPage(FIRST, blocks([9, 'i'], [8, 'h'])).replaced).toBeUndefined();
});
