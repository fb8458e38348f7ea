import { expect, test } from 'vitest';
import { boundOf, SHORT_BOUNDS, SLOW_MUTANTS } from './bounds.ts';
import { MintProtocol, MUTANTS, type Mutant } from './mint-protocol.ts';
import { search, type Model } from './search.ts';

test.each(SHORT_BOUNDS)(
  'no order of two processes, the node and a person mints twice: $name',
  (bound) => {
    const model = new MintProtocol(bound);
    const { states, transitions, violation } = search(model);
    expect(violation).toBe(undefined);
    expect(states).toBeGreaterThanOrEqual(bound.states_min);
    // where there is room for it, that nothing is minted twice is not for want of minting
    if (bound.credits) expect(model.credited).toBeGreaterThan(0);
    process.stdout.write(
      `mint protocol, ${bound.name}: ${states} states, ${transitions} transitions, ${model.views.folded} logs, all credited in ${model.credited}; no double mint\n`,
    );
  },
);

const mutants = Object.keys(MUTANTS).filter(
  (name): name is Mutant => name in MUTANTS && !SLOW_MUTANTS.has(name),
);

test.each(mutants.map((mutant) => [mutant, MUTANTS[mutant]] as const))(
  'the shortcut %s is caught: %s',
  (mutant) => {
    const { states, violation } = search(new MintProtocol(boundOf(mutant)));
    expect(violation?.what).toMatch(
      /^deposit a is minted(?: twice: a\d and a\d|, and no operator approved it)$/i,
    );
    process.stdout.write(
      `mutant ${mutant}: ${violation?.what}, found after ${states} states in ${violation?.steps.length} steps\n`,
    );
  },
);

function lettersMore(state: string): readonly (readonly [string, string])[] {
  return state.length < 3 ? [['a', `${state}a`] as const, ['b', `${state}b`] as const] : [];
}

test('the search visits every state once and returns a shortest path to a violation', () => {
  const model: Model = { initial: '', next: lettersMore, violation: () => undefined };
  expect(search(model)).toEqual({ states: 15, transitions: 14, violation: undefined });
  const wrong = search({ ...model, violation: (state) => (state === 'ba' ? 'ba' : undefined) });
  expect(wrong.violation).toEqual({ what: 'ba', steps: ['b', 'a'] });
  expect(() => search(model, 14)).toThrow('more than 14 states');
});
