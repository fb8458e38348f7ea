import * as fc from 'fast-check';

/**
 * `count` cases of a property over `arbitraries`, the same in each run. As `examples` of a property
 * they are what its counts of seen states may rest on: of random cases no number is certain.
 */
export function fixedCases<T extends unknown[]>(
  count: number,
  ...arbitraries: { [K in keyof T]: fc.Arbitrary<T[K]> }
): T[] {
  return fc.sample(fc.tuple<T>(...arbitraries), { numRuns: count, seed: 1 });
}
