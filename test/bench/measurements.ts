/**
 * The generated part of `docs/measurements.md`: tables of the results in `docs/measurements`, which
 * are files of `.local/bench` as the benches wrote them.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { figure, median, type BenchResult } from './report.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const BEGIN = '<!-- begin of what npm run bench:publish writes -->\n';
const END = '<!-- end of what npm run bench:publish writes -->\n';

/** Begins the name of a bench without a limit, which follows. */
export const ABLATION = 'abuse-without-';
export const PAGE = join(DOCS, 'measurements.md');
export const PICTURE = join(DOCS, 'pictures/ratios.svg');

export function publishedFile(bench: string): string {
  return join(DOCS, 'measurements', `${bench}.json`);
}

/** Those of a limit that is switched off are in `docs/limits.md` alone. */
export function publishedResults(): readonly BenchResult[] {
  return allPublished().filter(({ bench }) => !bench.startsWith(ABLATION));
}

export function allPublished(): readonly BenchResult[] {
  return globSync(publishedFile('*'))
    .toSorted()
    .map((file) => JSON.parse(readFileSync(file, 'utf8')));
}

/** The page with these results in the place of those that it had. */
export function pageWith(page: string, results: readonly BenchResult[]): string {
  const [before, after] = page.split(BEGIN);
  const rest = after?.split(END)[1];
  if (before === undefined || rest === undefined)
    throw new Error(`docs/measurements.md has no part between "${BEGIN}" and "${END}": restore it`);
  const none = 'No bench has been run since results are kept.\n';
  const sections = results.length === 0 ? none : results.map(section).join('\n');
  return `${before}${BEGIN}\n${sections}\n${END}${rest}`;
}

/** Why a result cannot be published. */
export function unpublishable({ bench, commit, command }: BenchResult): string | undefined {
  const again = `commit, then run "${command}" again`;
  if (commit === null) return `the result of ${bench} names no commit: ${again}`;
  return commit.endsWith('-dirty')
    ? `the result of ${bench} is of changed files on ${commit.replace(/-dirty$/, '')}: ${again}`
    : undefined;
}

function section(result: BenchResult): string {
  const { bench, about, measured, detail = [], ratios } = result;
  const figures = measured.map(({ what, unit, rounds }) => [
    what,
    `${figure(median(rounds))} ${unit}`,
    rounds.length > 1 ? `${figure(Math.min(...rounds))} to ${figure(Math.max(...rounds))}` : '',
    String(rounds.length),
  ]);
  const compared = ratios.map(({ what, ratio, goal = '' }) => [what, ratio.toFixed(2), goal]);
  const details = detail.map((row) =>
    Object.values(row).map((value: unknown) =>
      typeof value === 'number' ? figure(value) : String(value),
    ),
  );
  return [
    `### ${bench}\n\n${about}.\n\n${provenance(result)}\n`,
    ...table(['measured', 'median', 'rounds from, to', 'rounds'], figures),
    ...table(Object.keys(detail[0] ?? {}), details),
    ...table(['compared', 'ratio', 'goal'], compared),
  ].join('\n');
}

function provenance({ at, commit, command, seconds, options, machine }: BenchResult): string {
  const { node, cores, cpu = 'unknown processor', memory_bytes: bytes } = machine;
  const where = `${cores} cores (${cpu}), ${Math.round(bytes / 2 ** 30)} GiB, Node ${node}`;
  const sizes = Object.entries(options).map(([name, size]) => `${name} ${size}`);
  const settings = sizes.length === 0 ? '' : ` Settings: ${sizes.join(', ')}.`;
  const took = seconds === undefined ? '' : ` It took ${Math.ceil(seconds / 60)} minutes.`;
  return `\`${command}\` on ${at.slice(0, 10)} at commit ${commit}: ${where}.${settings}${took}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  return [`${line(head)}|${'---|'.repeat(head.length)}\n${rows.map(line).join('')}`];
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}
