import { expect, test } from 'vitest';
import type { NodeBlock } from '../../../schemas/chain-node.ts';
import {
  appended,
  beginningAt,
  continued,
  EMPTY_TAIL,
  finalized,
  linkAt,
  nextHeight,
  reachesFinality,
  reverted,
  type Tail,
} from '../../../services/chain-ingester/tail.ts';

const hashOf = (name: string): Buffer => Buffer.alloc(32, name);

function block(height: number, name: string, parent: string): NodeBlock {
  const address = Buffer.alloc(20, 1);
  return {
    height,
    hash: hashOf(name),
    parent_hash: parent === '' ? Buffer.alloc(32) : hashOf(parent),
    timestamp: height,
    producer: address,
    reward_recipient: address,
    block_reward: 0n,
    transactions: [],
    balance_effects: [],
  };
}

function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('expected an event');
  return value;
}

/** a - b - c - d, heights 0 to 3 */
function chainOfFour(): Tail {
  const blocks = [block(0, 'a', ''), block(1, 'b', 'a'), block(2, 'c', 'b'), block(3, 'd', 'c')];
  return blocks.reduce((tail, each) => continued(tail, present(appended(tail, each))), EMPTY_TAIL);
}

test('the first block of an empty log is block 0 at offset 0', () => {
  expect([nextHeight(EMPTY_TAIL), Number(EMPTY_TAIL.next_offset)]).toEqual([0, 0]);
  expect(appended(EMPTY_TAIL, block(0, 'a', ''))).toMatchObject({
    type: 'BlockAppended',
    sequence: 0,
    height: 0,
  });
});

test('a block that does not link to the newest one is not appended', () => {
  const tail = chainOfFour();
  expect(appended(tail, block(4, 'e', 'd'))).toMatchObject({ sequence: 4 });
  expect(appended(tail, block(4, 'e', 'x'))).toBeUndefined();
  expect(appended(tail, block(5, 'f', 'd'))).toBeUndefined();
  expect(appended(tail, block(3, 'd', 'c'))).toBeUndefined();
});

test('a revert removes the newest block, and the chain continues from its parent', () => {
  const tail = chainOfFour();
  const event = present(reverted(tail));
  expect(event).toMatchObject({
    type: 'BlockReverted',
    sequence: 4,
    height: 3,
    hash: hashOf('d'),
    parent_hash: hashOf('c'),
  });
  const after = continued(tail, event);
  expect(nextHeight(after)).toBe(3);
  expect(appended(after, block(3, 'D', 'c'))).toMatchObject({ sequence: 5 });
});

test('a final block is never reverted, and finality never decreases', () => {
  const tail = chainOfFour();
  const final = continued(tail, present(finalized(tail, 2)));
  expect(finalized(final, 2)).toBeUndefined();
  expect(finalized(final, 1)).toBeUndefined();
  expect(finalized(final, 9)).toBeUndefined();
  const reduced = continued(final, present(reverted(final)));
  expect(reverted(reduced)).toBeUndefined();
});

test('a tail read from the middle of the log continues like the whole log', () => {
  const whole = chainOfFour();
  const middle = present(
    beginningAt({ type: 'BlockAppended', sequence: 2, ...block(2, 'c', 'b') }, 2n),
  );
  const grown = continued(middle, present(appended(middle, block(3, 'd', 'c'))));
  expect([nextHeight(grown), Number(grown.next_offset)]).toEqual([
    nextHeight(whole),
    Number(whole.next_offset),
  ]);
  expect(linkAt(grown, 3)?.hash).toEqual(hashOf('d'));
  expect(linkAt(grown, 1)).toBeUndefined();
  expect(reachesFinality(grown)).toBe(false);
  expect(reachesFinality(continued(grown, present(finalized(grown, 2))))).toBe(true);
});

test('reading back never begins at a void record or one without a newest block', () => {
  const lost = { type: 'BlockAppended' as const, sequence: 2, ...block(2, 'c', 'b') };
  expect(beginningAt(lost, 7n)).toBeUndefined();
  expect(
    beginningAt({ type: 'BlocksFinalized', sequence: 7, height: 2, hash: hashOf('c') }, 7n),
  ).toBeUndefined();
  expect(
    beginningAt(
      {
        type: 'BlockReverted',
        sequence: 7,
        height: 2,
        hash: hashOf('c'),
        parent_hash: hashOf('b'),
      },
      7n,
    ),
  ).toMatchObject({
    next_offset: 8n,
    chain: { top: { height: 1, hash: hashOf('b') } },
  });
});

test('a record written for another offset only moves the end of the log, and a misfit is a damaged log', () => {
  const tail = chainOfFour();
  const lost = { type: 'BlockAppended' as const, sequence: 1, ...block(1, 'b', 'a') };
  expect(continued(tail, lost)).toEqual({ ...tail, next_offset: tail.next_offset + 1n });
  expect(() => continued(tail, { ...lost, sequence: Number(tail.next_offset) })).toThrow(
    /the record at offset 4 .* does not link/,
  );
});
