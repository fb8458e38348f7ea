import * as fc from 'fast-check';

/**
 * `count` cases of a property over `arbitraries`, the same in each run. A test that counts the
 * states which its property reaches gives them as `examples`: random cases may miss any state.
 */
export function fixedCases<T extends unknown[]>(
  count: number,
  ...arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> }
): T[] {
  return fc.sample(fc.tuple<T>(...arbitraries), { numRuns: count, seed: 1 });
}
