/** Text for people: amounts, tables, colours, pages. Colours and pages on a terminal alone. */
import { spawnSync } from 'node:child_process';
import { stripVTControlCharacters, styleText } from 'node:util';

export type Colour = 'green' | 'yellow' | 'red' | 'dim' | 'bold';

/** Plain where standard output is no terminal, and with NO_COLOR. */
export function coloured(colour: Colour, text: string): string {
  return styleText(colour, text, { stream: process.stdout });
}

/** Micro-USDT, or base units of CLT, in USDT or CLT: `1,234.50`, with up to six decimals. */
export function money(units: string | bigint): string {
  const text = String(units);
  const negative = text.startsWith('-') ? '-' : '';
  const digits = text.slice(negative.length).padStart(7, '0');
  const whole = digits.slice(0, -6).replaceAll(/\B(?=(?:\d{3})+$)/g, ',');
  return `${negative}${whole}.${digits.slice(-6).replace(/0{1,4}$/, '')}`;
}

/** ISO 8601 as people read it, in UTC: `2026-11-21 07:28`. */
export function minute(time: string): string {
  return time.slice(0, 16).replace('T', ' ');
}

const NUMBER = /^-?[\d,.]+(?: [A-Z]{3,4})?$/;

/**
 * Aligned columns under their headers; a column of numbers is aligned on the right. On a terminal
 * the columns that do not fit beside the others follow on a line of their own, indented; nothing is
 * left out. With `cut_at` a row has one line, which ends there.
 */
export function table(
  headers: readonly string[],
  rows: readonly (readonly string[])[],
  cut_at?: number,
): string {
  const plain = [headers, ...rows].map((row) => row.map(stripVTControlCharacters));
  const widths = headers.map((_, at) => Math.max(...plain.map((row) => row[at]?.length ?? 0)));
  const right = headers.map((_, at) => plain.slice(1).every((row) => NUMBER.test(row[at] ?? '')));
  const lines =
    cut_at === undefined ? folded(widths, screenColumns()) : [headers.map((_, at) => at)];
  const textOf = (cells: readonly string[]): string =>
    lines
      .map((columns, line) => {
        const padded = columns.map((at) => {
          const cell = cells[at] ?? '';
          const space = ' '.repeat((widths[at] ?? 0) - stripVTControlCharacters(cell).length);
          return right[at] === true ? `${space}${cell}` : `${cell}${space}`;
        });
        return cut(`${line === 0 ? '' : INDENT}${padded.join(GAP).trimEnd()}`, cut_at);
      })
      .filter((line, at) => at === 0 || line.trim() !== '')
      .join('\n');
  return [coloured('bold', textOf(headers)), ...rows.map(textOf)].join('\n');
}

const GAP = '  ';
const INDENT = '    ';

/** The width of the terminal; where standard output is none, lines are as long as they are. */
export function screenColumns(): number {
  return process.stdout.isTTY ? process.stdout.columns || Infinity : Infinity;
}

/** The columns of each line. */
function folded(widths: readonly number[], max: number): readonly (readonly number[])[] {
  const lines: number[][] = [[]];
  let used = 0;
  for (const [at, width] of widths.entries()) {
    const isFull = used > 0 && used + GAP.length + width > max;
    if (isFull) lines.push([]);
    used = isFull ? INDENT.length + width : used + (used > 0 ? GAP.length : 0) + width;
    lines.at(-1)?.push(at);
  }
  return lines;
}

/** The parts in lines of so many columns; a part that is longer has a line of its own. */
export function wrapped(parts: readonly string[], gap: string, max: number): readonly string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const joined = `${lines.at(-1) ?? ''}${gap}${part}`;
    if (lines.length > 0 && stripVTControlCharacters(joined).length <= max)
      lines[lines.length - 1] = joined;
    else lines.push(part);
  }
  return lines;
}

/** A line with colours is cut where it is longer without them. */
function cut(line: string, max = Infinity): string {
  const over = stripVTControlCharacters(line).length - max;
  return over <= 0 ? line : `${line.slice(0, -over - 1)}…`;
}

/** Prints an answer, through `less` or $PAGER where it is longer than the terminal. */
export function printPaged(text: string): void {
  const { isTTY, rows } = process.stdout;
  if (isTTY && text.split('\n').length >= rows) {
    const { PAGER: pager = 'less' } = process.env;
    const env = { LESS: 'FRX', ...process.env };
    const stdio = ['pipe', 'inherit', 'inherit'] as const;
    const { status } = spawnSync(pager, {
      input: `${text}\n`,
      env,
      stdio: [...stdio],
      shell: true,
    });
    if (status === 0) return;
  }
  process.stdout.write(`${text}\n`);
}
