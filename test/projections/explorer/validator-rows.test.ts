import { describe, expect, test } from 'vitest';
import { ChainByHand, named } from '../../support/chain-by-hand.ts';
import { foldedRows } from './batches.ts';

const ALICE = named('alice');
const BOB = named('bob');
const CAROL = named('carol');

/** The validators' names by ordinal; checks that ordinals are dense and counted in `head`. */
function validatorsAfter({ log }: ChainByHand, size: number): string[] {
  const rows = foldedRows(log, size);
  const validators = rows('validators').toSorted(
    (one, other) => Number(one['ordinal']) - Number(other['ordinal']),
  );
  expect(validators.map(({ ordinal }) => Number(ordinal))).toEqual(validators.map((_, at) => at));
  expect(rows('head')).toMatchObject([{ validators: String(validators.length) }]);
  return validators.map(({ address }) =>
    Buffer.from(address ?? '', 'hex')
      .toString()
      .replaceAll('.', ''),
  );
}

function produced(...producers: readonly Buffer[]): ChainByHand {
  const chain = new ChainByHand();
  for (const producer of producers) chain.append({ producer });
  return chain;
}

describe.each([1, 2, 3, 100])('in batches of %i', (size) => {
  test('validators are ordered by their first blocks, each once', () => {
    expect(validatorsAfter(produced(BOB, BOB, ALICE, BOB, CAROL, ALICE), size)).toEqual([
      'bob',
      'alice',
      'carol',
    ]);
  });

  test('a validator is removed when its every block is reverted', () => {
    const chain = produced(ALICE, BOB, CAROL, ALICE, CAROL);
    chain.revert(3);
    expect(validatorsAfter(chain, size)).toEqual(['alice', 'bob']);
    chain.revert();
    expect(validatorsAfter(chain, size)).toEqual(['alice']);
  });

  test('after a reorganisation validators are ordered by their first blocks on the new branch', () => {
    const chain = produced(ALICE, BOB, CAROL);
    chain.revert(2);
    for (const producer of [CAROL, ALICE, BOB]) chain.append({ producer });
    expect(validatorsAfter(chain, size)).toEqual(['alice', 'carol', 'bob']);
  });

  test('a reorganisation of every block replaces every validator', () => {
    const chain = produced(ALICE, ALICE, BOB);
    chain.revert(3);
    for (const producer of [CAROL, CAROL, BOB]) chain.append({ producer });
    expect(validatorsAfter(chain, size)).toEqual(['carol', 'bob']);
  });
});
