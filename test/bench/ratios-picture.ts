/**
 * A picture of all published ratios that have a goal: how far each is on the good side of it, on
 * the kind of processor where it is worse.
 */
import { grouped, worse } from './overview.ts';
import type { Published, Ratio } from './report.ts';

const WIDTH = 980;
const LABEL_WIDTH = 560;
const FIGURE_WIDTH = 130;
const ROW = 18;
const TITLE_ROWS = 2;
/** A ratio that is this many times better or worse than its goal reaches the edge. */
const FACTOR_MAX = 8;
const MET = '#1a7f37';
const MISSED = '#b35900';

interface Bar {
  readonly what: string;
  readonly ratio: number;
  readonly goal: string;
  /** above 1: better than the goal */
  readonly factor: number;
}

/** An SVG file. */
export function ratiosPicture(results: readonly Published[]): string {
  const rows = results.flatMap((result) => {
    const bars = grouped(result).flatMap((ratio) => barOf(worse(result, ratio)));
    return bars.length === 0 ? [] : [result.bench, ...bars];
  });
  const height = (rows.length + TITLE_ROWS) * ROW + ROW / 2;
  const centre = LABEL_WIDTH + (WIDTH - LABEL_WIDTH - FIGURE_WIDTH) / 2;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    '<title>Measured ratios and their goals, on a logarithmic scale</title>',
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    text(8, ROW, `logarithmic; the edges are ${FACTOR_MAX} times better and worse than the goal`),
    text(centre, ROW, 'goal', 'text-anchor="middle"'),
    text(centre - 8, ROW, 'missed', `text-anchor="end" dx="-20" fill="${MISSED}"`),
    text(centre + 8, ROW, 'met', `dx="20" fill="${MET}"`),
    ...rows.map((row, at) => drawn(row, (at + TITLE_ROWS) * ROW, centre)),
    `<path d="M${centre} ${ROW * 1.3}V${height}" stroke="#57606a"/>`,
    '</svg>\n',
  ].join('\n');
}

/** None without a goal, and where the goal is zero. */
function barOf({ what, ratio, goal = '' }: Ratio): readonly Bar[] {
  const [first, sign, number] = /^([<>])= ([0-9.]+)/.exec(goal) ?? [];
  const wanted = Number(number);
  if (first === undefined || wanted === 0) return [];
  return [{ what, ratio, goal: first, factor: sign === '>' ? ratio / wanted : wanted / ratio }];
}

function drawn(row: string | Bar, y: number, centre: number): string {
  const base = y + ROW * 0.75;
  if (typeof row === 'string') return text(8, base, row, 'font-weight="bold"');
  const { what, ratio, goal, factor } = row;
  const half = (WIDTH - LABEL_WIDTH - FIGURE_WIDTH) / 2;
  const share = Math.min(1, Math.abs(Math.log(factor)) / Math.log(FACTOR_MAX));
  const length = Math.max(1, Math.round(share * half));
  const [x, colour] = factor >= 1 ? [centre, MET] : [centre - length, MISSED];
  return [
    text(20, base, what),
    `<rect x="${x}" y="${y + 4}" width="${length}" height="${ROW - 8}" fill="${colour}"/>`,
    text(WIDTH - FIGURE_WIDTH + 8, base, `${ratio.toFixed(2)}  (${goal})`),
  ].join('\n');
}

function text(x: number, y: number, words: string, more = ''): string {
  const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<text x="${x}" y="${y}"${more === '' ? '' : ` ${more}`}>${escaped}</text>`;
}
