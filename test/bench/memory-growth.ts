/**
 * The growth of a process's memory over its lives: a life begins at a start and ends at a kill. The
 * first two minutes of each life do not count: caches and compiled code are filled then.
 */

export interface Sample {
  /** since the start of the process */
  readonly age_ms: number;
  readonly mib: number;
}

export interface Growth {
  readonly lives: number;
  readonly longest_minutes: number;
  /** the average of the longest life */
  readonly mib: number;
  /** the line of least squares through the longest life */
  readonly mib_per_hour: number;
  /** last third / first third, the most of all lives of ten minutes or more; NaN: none was */
  readonly thirds: number;
  /** from the second to the fourth minute of age: last life / first life; NaN: fewer than two */
  readonly same_age: number;
}

const MINUTE_MS = 60_000;
const WARM_UP_MS = 2 * MINUTE_MS;
const SAME_AGE_MS = 4 * MINUTE_MS;
const LONG_MS = 10 * MINUTE_MS;

/** Samples of a life in the order of time; there is at least one. */
export function growthOf(lives: readonly (readonly Sample[])[]): Growth {
  const longest = lives.reduce((one, other) => (ageOf(other) > ageOf(one) ? other : one));
  const thirds = lives.filter((life) => ageOf(life) >= LONG_MS).map(thirdsOf);
  const levels = lives
    .filter((life) => ageOf(life) >= SAME_AGE_MS)
    .map((life) => average(warm(life).filter(({ age_ms: age }) => age <= SAME_AGE_MS)));
  return {
    lives: lives.length,
    longest_minutes: ageOf(longest) / MINUTE_MS,
    mib: average(warm(longest)),
    mib_per_hour: slopeOf(warm(longest)) * 60 * MINUTE_MS,
    thirds: thirds.length === 0 ? Number.NaN : Math.max(...thirds),
    same_age: levels.length < 2 ? Number.NaN : (levels.at(-1) ?? 0) / (levels[0] ?? 0),
  };
}

function ageOf(life: readonly Sample[]): number {
  return life.at(-1)?.age_ms ?? 0;
}

function warm(life: readonly Sample[]): readonly Sample[] {
  return life.filter(({ age_ms: age }) => age >= WARM_UP_MS);
}

function thirdsOf(life: readonly Sample[]): number {
  const third = (ageOf(life) - WARM_UP_MS) / 3;
  const first = warm(life).filter(({ age_ms: age }) => age < WARM_UP_MS + third);
  const last = life.filter(({ age_ms: age }) => age > ageOf(life) - third);
  return average(last) / average(first);
}

/** NaN of none. */
function average(samples: readonly Sample[]): number {
  return samples.reduce((sum, { mib }) => sum + mib, 0) / samples.length;
}

/** MiB a millisecond, by least squares; NaN of fewer than two. */
function slopeOf(samples: readonly Sample[]): number {
  const age = samples.reduce((sum, { age_ms: each }) => sum + each, 0) / samples.length;
  const mib = average(samples);
  let [covariance, variance] = [0, 0];
  for (const sample of samples) {
    covariance += (sample.age_ms - age) * (sample.mib - mib);
    variance += (sample.age_ms - age) ** 2;
  }
  return covariance / variance;
}
