/** A bench: its claim, its sizes on the command line, and its function. */
import type { BenchReport } from './report.ts';

export interface Option {
  readonly about: string;
  /** a whole number above zero */
  readonly default: number;
}

export interface Bench<Name extends string = string> {
  readonly about: string;
  readonly options: Readonly<Record<Name, Option>>;
  /** Names one of which `--without` takes: what the bench shows the use of, switched off. */
  readonly switches?: readonly string[];
  run(given: Readonly<Record<Name, number>>, without?: string): Promise<BenchReport>;
}

/** Progress, for people; not part of the report. */
export function say(line: string): void {
  process.stderr.write(`  ${new Date().toISOString().slice(11, 19)} ${line}\n`);
}
