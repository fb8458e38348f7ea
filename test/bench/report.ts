/**
 * The output of a bench: figures of one run, and the ratios of its goals; also written to
 * `.local/bench/<name>.json`.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { dirname, join } from 'node:path';

export interface Measured {
  readonly what: string;
  readonly unit: string;
  /** one a round, in order */
  readonly rounds: readonly number[];
}

export interface Ratio {
  readonly what: string;
  readonly ratio: number;
  /** `>= 0.6` or `<= 2`; what follows is for people */
  readonly goal?: string;
}

export interface BenchReport {
  readonly bench: string;
  readonly about: string;
  readonly measured: readonly Measured[];
  /**
   * what does not fit into one figure a line: a table of its own, its columns named by the fields
   */
  readonly detail?: readonly object[];
  readonly ratios: readonly Ratio[];
}

/** The figures of a part of a bench. */
export type Part = Pick<BenchReport, 'measured' | 'ratios'>;

/** The content of `.local/bench/<name>.json`. */
export interface BenchResult extends BenchReport {
  /** ISO 8601, UTC */
  readonly at: string;
  /** `-dirty` at its end where files were changed; null outside of a repository */
  readonly commit: string | null;
  readonly command: string;
  /** of the whole run; older results do not say */
  readonly seconds?: number;
  /** sizes of the run, also those that the command does not name */
  readonly options: Readonly<Record<string, number>>;
  readonly machine: {
    readonly node: string;
    readonly cores: number;
    readonly cpu?: string | undefined;
    readonly memory_bytes: number;
  };
}

/** A result of `docs/measurements`. */
export interface Published extends BenchResult {
  /** the newest on another kind of processor */
  readonly other?: BenchResult | undefined;
}

/** The goals that are missed, in words. */
export function missedGoals({ ratios }: Pick<BenchReport, 'ratios'>): readonly string[] {
  return ratios
    .filter(isMissed)
    .map(({ what, ratio, goal = '' }) => `${what} is ${ratio.toFixed(2)}, not ${goal}`);
}

/** Whether it has a goal that it does not reach. */
export function isMissed({ ratio, goal = '' }: Ratio): boolean {
  const [, sign, text] = /^([<>])= ([0-9.]+)/.exec(goal) ?? [];
  if (sign === undefined) return false;
  return sign === '>' ? !(ratio >= Number(text)) : !(ratio <= Number(text));
}

/** The value in the middle, or the mean of the two there. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = Number.NaN, high = low] = sorted.slice(
    Math.ceil(sorted.length / 2) - 1,
    Math.floor(sorted.length / 2) + 1,
  );
  return (low + high) / 2;
}

/** The smallest value that at least `share` of the values do not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

export function figure(value: number): string {
  return value >= 1_000 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}

/** As a table for people. */
export function tableOf({ bench, about, measured, detail = [], ratios }: BenchReport): string {
  const lines = [`${bench}: ${about}`];
  for (const { what, unit, rounds } of measured) {
    const spread =
      rounds.length > 1
        ? `   (${figure(Math.min(...rounds))} to ${figure(Math.max(...rounds))}, ${rounds.length} rounds)`
        : '';
    lines.push(`  ${what.padEnd(58)} ${figure(median(rounds)).padStart(10)} ${unit}${spread}`);
  }
  lines.push(...detailLines(detail));
  for (const { what, ratio, goal } of ratios)
    lines.push(
      `  ${what.padEnd(58)} ${ratio.toFixed(2).padStart(10)}${goal === undefined ? '' : `   goal ${goal}`}`,
    );
  return lines.join('\n');
}

function detailLines(detail: readonly object[]): string[] {
  const [first] = detail;
  if (first === undefined) return [];
  const rows = detail.map((row) =>
    Object.values(row).map((value: unknown) =>
      typeof value === 'number' ? figure(value) : String(value),
    ),
  );
  const table = [Object.keys(first), ...rows];
  const widths = Object.keys(first).map((_, at) =>
    Math.max(...table.map((row) => row[at]?.length ?? 0)),
  );
  const padded = (text: string, at: number): string =>
    at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  return table.map((row) => `  ${row.map(padded).join('  ')}`);
}

/** Where the result of a bench is written. */
export function resultFile(bench: string): string {
  return join(import.meta.dirname, '../../.local/bench', `${bench}.json`);
}

/** Others may be made while a long run goes on. */
const COMMIT = commit();

export interface Run {
  /** that of package.json which the command runs */
  readonly script?: string;
  /** of the command that repeats the run */
  readonly args?: readonly string[];
  readonly seconds?: number;
}

/** Writes the result to `resultFile`, whose path it returns. */
export function save(
  report: BenchReport,
  options: Readonly<Record<string, number>>,
  { script = 'bench', args = process.argv.slice(2), seconds }: Run = {},
): string {
  const file = resultFile(report.bench);
  mkdirSync(dirname(file), { recursive: true });
  const [cpu, ...more] = cpus();
  const result: BenchResult = {
    at: new Date().toISOString(),
    commit: COMMIT,
    command: [`npm run ${script} --`, ...args].join(' '),
    ...(seconds === undefined ? {} : { seconds }),
    options,
    machine: {
      node: process.version,
      cores: 1 + more.length,
      cpu: cpu?.model,
      memory_bytes: totalmem(),
    },
    ...report,
  };
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  return file;
}

/** With `-dirty` where files are changed; null outside of a repository. */
function commit(): string | null {
  try {
    const args = ['describe', '--always', '--dirty', '--exclude=*'];
    return execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}
