/**
 * The picture of a preview, as SVG: its title, its description, its state and the time of these.
 * Nothing is said here that title and description do not say.
 */
import { withEntities } from '../runtime/http/html-page.ts';
import { PICTURE, visible, type Preview } from './preview.ts';

/** The light colours of `services/console/src/design/tokens.css`. */
const INK = { ground: '#f5f6f4', ink: '#15191a', quiet: '#545c5b', accent: '#0f6b5c' };
const TONES = {
  good: { ink: '#1a6f3c', soft: '#dcefe2' },
  warn: { ink: '#8a5200', soft: '#fbeacb' },
  bad: { ink: '#b3261e', soft: '#fbe1df' },
} as const;

const LEFT = 72;
const TEXT_WIDTH = PICTURE.width - 2 * LEFT;
const TITLE = { size: 52, step: 62, weight: 600 };
const TITLE_LINES_MAX = 3;
const WORDS = { size: 32, step: 44, weight: 400 };
const SMALL = 28;
/** The base lines of the first line of the title, and of the last one above the state. */
const [FIRST, LAST] = [194, 512];

/** `now`: ms, the moment of what may still change. */
export function pictureOf(preview: Preview, now: number): string {
  const { title, description, state } = preview;
  const titles = linesOf(title, TITLE.size, TITLE_LINES_MAX);
  const below = FIRST + titles.length * TITLE.step;
  const lines = linesOf(description, WORDS.size, 1 + Math.floor((LAST - below) / WORDS.step));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${PICTURE.width}" height="${PICTURE.height}" font-family="Inter">`,
    `<rect width="100%" height="100%" fill="${INK.ground}"/>`,
    `<rect width="16" height="100%" fill="${state === undefined ? INK.accent : TONES[state.tone].ink}"/>`,
    `<g transform="translate(${LEFT} 56) scale(1.75)"><rect width="32" height="32" rx="7" fill="${INK.accent}"/><path d="M21 11.5a6.5 6.5 0 1 0 0 9" fill="none" stroke="#fff" stroke-width="3.2" stroke-linecap="round"/></g>`,
    textAt('CLT console', LEFT + 76, 96, { size: SMALL, fill: INK.quiet, weight: 600 }),
    ...titles.map((line, row) =>
      textAt(line, LEFT, FIRST + row * TITLE.step, { ...TITLE, fill: INK.ink }),
    ),
    ...lines.map((line, row) =>
      textAt(line, LEFT, below + row * WORDS.step, { ...WORDS, fill: INK.quiet }),
    ),
    ...(state === undefined ? [] : stateTag(state)),
    `<g text-anchor="end">${textAt(timeOf(preview, now), PICTURE.width - LEFT, 582, { size: SMALL, fill: INK.quiet, weight: 400 })}</g>`,
    '</svg>',
  ].join('');
}

function stateTag({ words, tone }: NonNullable<Preview['state']>): readonly string[] {
  const { ink, soft } = TONES[tone];
  const width = Math.ceil(widthOf(words) * SMALL) + 40;
  return [
    `<rect x="${LEFT}" y="540" width="${width}" height="58" rx="10" fill="${soft}"/>`,
    textAt(words, LEFT + 20, 579, { size: SMALL, fill: ink, weight: 600 }),
  ];
}

/** When it happened; of what may still change, when that was looked at. */
function timeOf({ state, at }: Preview, now: number): string {
  const asOf = `As of ${utc(new Date(now).toISOString(), 'minutes')}`;
  if (state?.is_final === true) return at === undefined ? '' : utc(at, 'seconds');
  return state === undefined ? '' : asOf;
}

function utc(iso: string, to: 'minutes' | 'seconds'): string {
  return `${iso.slice(0, to === 'minutes' ? 16 : 19).replace('T', ' ')} UTC`;
}

interface Look {
  readonly size: number;
  readonly fill: string;
  readonly weight: number;
}

function textAt(line: string, x: number, y: number, { size, fill, weight }: Look): string {
  return `<text x="${x}" y="${y}" font-size="${size}" font-weight="${weight}" fill="${fill}">${withEntities(line)}</text>`;
}

/** No picture has room for more. */
const CHARACTERS_MAX = 400;

const NARROW = /[ .,:;|!'’()[\]/ijlftrI1]/;
const WIDE = /[mwMWOQ@%—…_]/;

/** About the width of a text, in its size: rather too much than too little. */
function widthOf(text: string): number {
  let width = 0;
  for (const each of text)
    width += NARROW.test(each) ? 0.33 : WIDE.test(each) ? 0.93 : each < '\u0100' ? 0.62 : 1.1;
  return width;
}

/** A text in lines that fit; a word that is longer than a line is broken where the line ends. */
function linesOf(text: string, size: number, linesMax: number): readonly string[] {
  const room = TEXT_WIDTH / size;
  const lines: string[] = [];
  let line = '';
  const add = (piece: string, between = ''): void => {
    const longer = line === '' ? piece : line + between + piece;
    if (widthOf(longer) <= room) line = longer;
    else {
      lines.push(line);
      line = piece;
    }
  };
  for (const word of visible(text, CHARACTERS_MAX).split(' ')) {
    if (widthOf(word) <= room) add(word, ' ');
    else for (const [at, each] of Array.from(word).entries()) add(each, at === 0 ? ' ' : '');
  }
  if (line !== '') lines.push(line);
  if (lines.length <= linesMax) return lines;
  const last = lines[linesMax - 1] ?? '';
  return [...lines.slice(0, linesMax - 1), `${Array.from(last).slice(0, -1).join('')}…`];
}
