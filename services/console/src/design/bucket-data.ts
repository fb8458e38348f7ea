/** The values of a plot of hours or days, over the whole time of its axis. */
/** A custom property of `tokens.css`. */
export type LineColor =
  '--accent' | '--series-2' | '--series-3' | '--series-4' | '--series-5' | '--series-rest';

export interface Line {
  readonly name: string;
  readonly color: LineColor;
  readonly values: readonly number[];
}

export interface Buckets {
  /** seconds */
  readonly length: number;
  /** `parts`: the lines on top of each other, as parts of 1 */
  readonly shape: 'bars' | 'line' | 'parts';
  /** index of the bucket that is pointed at; undefined: none */
  readonly onPoint: (at: number | undefined) => void;
}

/**
 * Each bucket of the axis, those without a value too, and the end of the axis. Parts are drawn as
 * their sums, the highest first, so that each covers those below it.
 */
export function dataOf(
  at: readonly number[],
  lines: readonly Pick<Line, 'values'>[],
  { length, shape }: Omit<Buckets, 'onPoint'>,
  [from, to]: readonly [number, number],
): [number[], ...(number | null)[][]] {
  const times = Array.from(
    { length: (to - from) / length + 1 },
    (_, index) => from + index * length,
  );
  const before = ((at[0] ?? from) - from) / length;
  const spread = (values: readonly number[]): (number | null)[] =>
    times.map((_, index) => values[index - before] ?? null);
  if (shape === 'line')
    // the last value holds until the end of its bucket
    return [times, ...lines.map(({ values }) => spread([...values, ...values.slice(-1)]))];
  if (shape !== 'parts') return [times, ...lines.map(({ values }) => spread(values))];
  const whole = at.map((_, index) =>
    lines.reduce((sum, { values }) => sum + (values[index] ?? 0), 0),
  );
  const below = at.map(() => 0);
  const tops = lines.map(({ values }) =>
    values.map((value, index) => {
      const sum = (below[index] ?? 0) + value;
      below[index] = sum;
      return sum / (whole[index] || 1);
    }),
  );
  return [times, ...tops.toReversed().map(spread)];
}
