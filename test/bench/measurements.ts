/**
 * The generated part of `docs/measurements.md`: tables of the results in `docs/measurements`, which
 * are files of `.local/bench` as the benches wrote them.
 */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  capacitiesTable,
  goalsTable,
  grouped,
  line,
  ratioElsewhere,
  waitsTable,
} from './overview.ts';
import { figure, median, type BenchResult, type Measured, type Published } from './report.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const BEGIN = '<!-- begin of what npm run bench:publish writes -->\n';
const END = '<!-- end of what npm run bench:publish writes -->\n';

/** Begins the name of a bench without a limit, which follows. */
export const ABLATION = 'abuse-without-';
export const PAGE = join(DOCS, 'measurements.md');
export const PICTURE = join(DOCS, 'pictures/ratios.svg');
const PICTURE_LINE =
  '![all ratios whose goal is not zero, and how far each is on the good side of it](pictures/ratios.svg)\n';
/** The fewest subjects with the same figures that make a table, with a column for each figure. */
const SUBJECTS_MIN = 4;

const RESULTS = join(DOCS, 'measurements');
/** In that folder: the newest results of another kind of processor. */
const OTHER = 'other-processor';

/** Those of a limit that is switched off are in `docs/limits.md` alone. */
export function publishedResults(): readonly Published[] {
  return allPublished().filter(({ bench }) => !bench.startsWith(ABLATION));
}

export function allPublished(folder: string = RESULTS): readonly Published[] {
  return globSync(fileIn(folder, '*'))
    .toSorted()
    .map((file) => {
      const result: BenchResult = JSON.parse(readFileSync(file, 'utf8'));
      return Object.assign(result, { other: readIn(join(folder, OTHER), result.bench) });
    });
}

/** Keeps a result in `folder`, and the one before it if that is of another kind of processor. */
export function keep(result: BenchResult, folder: string = RESULTS): void {
  const before = readIn(folder, result.bench);
  if (before !== undefined && before.machine.cpu !== result.machine.cpu)
    write(before, join(folder, OTHER));
  write(result, folder);
}

function write(result: BenchResult, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(fileIn(folder, result.bench), `${JSON.stringify(result, null, 2)}\n`);
}

function readIn(folder: string, bench: string): BenchResult | undefined {
  const file = fileIn(folder, bench);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;
}

function fileIn(folder: string, bench: string): string {
  return join(folder, `${bench}.json`);
}

/** The page with these results in the place of those that it had. */
export function pageWith(page: string, results: readonly Published[]): string {
  const [before, after] = page.split(BEGIN);
  const rest = after?.split(END)[1];
  if (before === undefined || rest === undefined)
    throw new Error(`docs/measurements.md has no part between "${BEGIN}" and "${END}": restore it`);
  const parts = [
    `## How long a user waits\n\n${waitsTable(results)}`,
    `## How much a machine bears\n\n${capacitiesTable(results)}`,
    `## Goals\n\n${goalsTable(results)}`,
    PICTURE_LINE,
    '## Results\n',
    ...results.map(section),
  ];
  return `${before}${BEGIN}\n${parts.join('\n')}\n${END}${rest}`;
}

/** Why a result cannot be published. */
export function unpublishable({ bench, commit, command }: BenchResult): string | undefined {
  const again = `commit, then run "${command}" again`;
  if (commit === null) return `the result of ${bench} names no commit: ${again}`;
  return commit.endsWith('-dirty')
    ? `the result of ${bench} is of changed files on ${commit.replace(/-dirty$/, '')}: ${again}`
    : undefined;
}

function section(result: Published): string {
  const { bench, about, measured, detail = [], other } = result;
  const { head, rows, rest } = bySubject(measured);
  const figures = rest.map(({ what, unit, rounds }) => [
    what,
    `${figure(median(rounds))} ${unit}`,
    rounds.length > 1 ? spread(rounds) : '',
    String(rounds.length),
  ]);
  const compared = grouped(result).map((ratio) => {
    const there = ratioElsewhere(result, ratio)?.toFixed(2) ?? '';
    const ratios = other === undefined ? [] : [there];
    return [ratio.what, ratio.ratio.toFixed(2)].concat(ratios, ratio.goal ?? '');
  });
  const kinds = other === undefined ? ['ratio'] : ['ratio', 'on another processor'];
  const elsewhere =
    other === undefined
      ? ''
      : ` On another processor: ${provenance(other)} Its figures are in its file.`;
  const details = detail.map((row) =>
    Object.values(row).map((value: unknown) =>
      typeof value === 'number' ? figure(value) : String(value),
    ),
  );
  return [
    `### ${bench}\n\n${about}.\n\n${provenance(result)}${elsewhere}\n`,
    ...table(['measured', 'median', 'rounds from, to', 'rounds'], figures),
    ...table(head, rows),
    ...table(Object.keys(detail[0] ?? {}), details),
    ...table(['compared', ...kinds, 'goal'], compared),
  ].join('\n');
}

function spread(rounds: readonly number[]): string {
  return `${figure(Math.min(...rounds))} to ${figure(Math.max(...rounds))}`;
}

/** Figures named "subject: figure", where enough subjects have the same ones; and all others. */
function bySubject(measured: readonly Measured[]): {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly rest: readonly Measured[];
} {
  const parts = measured.map((each) => ({ each, at: each.what.indexOf(': ') }));
  const named = parts.filter(({ at }) => at > 0);
  const nameOf = ({ each, at }: (typeof parts)[number]): string =>
    `${each.what.slice(at + 2)}, ${each.unit}`;
  const columns = [...Map.groupBy(named, nameOf)].filter(([, own]) => own.length >= SUBJECTS_MIN);
  if (columns.length < 2) return { head: [], rows: [], rest: measured };
  const inTable = new Set(columns.flatMap(([, own]) => own.map(({ each }) => each)));
  const subjects = Map.groupBy(
    named.filter(({ each }) => inTable.has(each)),
    ({ each, at }) => each.what.slice(0, at),
  );
  const rows = [...subjects].map(([subject, own]) => {
    const cells = columns.map(([column]) => {
      const rounds = own.find((each) => nameOf(each) === column)?.each.rounds ?? [];
      if (rounds.length < 2) return rounds.map(figure).join('');
      return `${figure(median(rounds))} (${spread(rounds)}, ${rounds.length} rounds)`;
    });
    return [subject].concat(cells);
  });
  const head = ['median (rounds from, to)', ...columns.map(([column]) => column)];
  return { head, rows, rest: measured.filter((each) => !inTable.has(each)) };
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
