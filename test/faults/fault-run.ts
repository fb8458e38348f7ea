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

export interface FaultRun<Name extends string = string> {
  readonly about: string;
  readonly options: Readonly<Record<Name, Option>>;
  run(options: Readonly<Record<Name, number>>, given: Given): Promise<FaultReport>;
}

/** Milliseconds from each kill until all was well again, as one line. */
export function recoveryLine(recoveries_ms: readonly number[]): string {
  const sorted = recoveries_ms.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return `recovery: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, most ${sorted.at(-1) ?? 0} ms`;
}

/** How often each, as text. */
export function countsLine(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join(', ');
}
