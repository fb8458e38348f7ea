/** A fault run: its claim, its options on the command line, and its function. */

export interface Option {
  readonly about: string;
  /** a whole number */
  readonly default: number;
}

export interface Given {
  /** the same seed chooses the same victims and moments */
  readonly seed: number;
  /** one line now and then, while it runs */
  readonly progress: (line: string) => void;
}

export interface FaultReport {
  /** figures, for people */
  readonly lines: readonly string[];
  /** violations; empty: none */
  readonly violations: readonly string[];
}

export interface FaultRun<Name extends string = string, Report extends FaultReport = FaultReport> {
  readonly about: string;
  readonly options: Readonly<Record<Name, Option>>;
  run(options: Readonly<Record<Name, number>>, given: Given): Promise<Report>;
}

export interface Recovery {
  /** what was struck, and how */
  readonly struck: string;
  readonly ms: number;
}

/** One line for all, and one for each that was struck; `measured`: from when until when. */
export function recoveryLines(
  measured: string,
  recoveries: readonly Recovery[],
): readonly string[] {
  const lineOf = (of: string, each: readonly Recovery[]): string =>
    `${of}: ${each.length} times, ${spread(each.map(({ ms }) => ms))}`;
  return [
    lineOf(`recovery, ${measured}`, recoveries),
    ...[...Map.groupBy(recoveries, ({ struck }) => struck)]
      .toSorted(([one], [other]) => one.localeCompare(other))
      .map(([struck, each]) => lineOf(`  ${struck}`, each)),
  ];
}

export function spread(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`;
}

/** How often each, as text. */
export function countsLine(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');
}
