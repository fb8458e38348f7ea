/** Costs of units of work, from loads that did other numbers of each. */

/**
 * The cost of each unit, by Gaussian elimination. A row is of one load: how many it did of each
 * unit, and last what all of them took. As many rows as units; throws where two rows do the same.
 */
export function slopesOf(rows: readonly (readonly number[])[]): readonly number[] {
  const [most, ...others] = rows.toSorted(([a = 0], [b = 0]) => Math.abs(b) - Math.abs(a));
  if (most === undefined) return [];
  const [first = 0, ...rest] = most;
  if (first === 0) throw new Error('two loads did the same: their costs cannot be told apart');
  const reduced = others.map(([count = 0, ...row]) =>
    row.map((value, at) => value - (count / first) * (rest[at] ?? 0)),
  );
  const slopes = slopesOf(reduced);
  return [((rest.at(-1) ?? 0) - costOf(slopes, rest)) / first, ...slopes];
}

/** The cost of so many of each unit. */
export function costOf(slopes: readonly number[], units: readonly number[]): number {
  return slopes.reduce((sum, slope, at) => sum + slope * (units[at] ?? Number.NaN), 0);
}
