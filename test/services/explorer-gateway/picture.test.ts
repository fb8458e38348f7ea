/** Pictures of previews: previews in, SVG and PNG out. */
import { inflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Painter } from '../../../services/explorer-gateway/painter.ts';
import { pictureOf } from '../../../services/explorer-gateway/picture.ts';
import { PLAIN, type Preview } from '../../../services/explorer-gateway/preview.ts';
import { anyCharacter } from '../../support/any-character.ts';

const NOW = Date.parse('2026-11-28T22:10:31.000Z');
const OPEN: Preview = {
  title: 'Block 1,234',
  description: 'Block 0xabab of 2026-11-28T07:28:00.500Z. It may still be replaced.',
  state: { words: 'may still be replaced', tone: 'warn', is_final: false },
  at: '2026-11-28T07:28:00.500Z',
};
const FINAL: Preview = {
  ...OPEN,
  description: 'Block 0xabab of 2026-11-28T07:28:00.500Z. It is final.',
  state: { words: 'final', tone: 'good', is_final: true },
};

/** The lines of text, as a reader sees them. */
function textsOf(svg: string): readonly string[] {
  return [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, text = '']) =>
    text.replaceAll(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code))),
  );
}

test('a picture says what its preview says, and when', () => {
  const texts = textsOf(pictureOf(OPEN, NOW));
  expect(texts[0]).toBe('CLT console');
  expect(texts.slice(1).join(' ')).toBe(
    `Block 1,234 ${OPEN.description} may still be replaced As of 2026-11-28 22:10 UTC`,
  );
});

test('a final thing has its own time, and never a word of the present', () => {
  const texts = textsOf(pictureOf(FINAL, NOW));
  expect(texts.at(-2)).toBe('final');
  expect(texts.at(-1)).toBe('2026-11-28 07:28:00 UTC');
  expect(pictureOf(FINAL, NOW)).toBe(pictureOf(FINAL, NOW + 86_400_000));
});

test('a thing that may be replaced is never green, and the plain picture has no state', () => {
  expect(pictureOf(OPEN, NOW)).not.toContain('#1a6f3c');
  expect(pictureOf(FINAL, NOW)).toContain('#1a6f3c');
  expect(textsOf(pictureOf(PLAIN, NOW))).not.toContain('final');
});

const hostile = fc.array(
  fc.oneof(
    fc.constantFrom('</text><script>', '"/><image href="http://x"', '<!--', ']]>', '&#0;', '\0'),
    fc.constantFrom('\ud800', '\u202e', '\ufffe', 'W'.repeat(500), '9'.repeat(400), '&'),
    fc.string({ unit: anyCharacter, maxLength: 200 }),
  ),
  { maxLength: 5 },
);

test('no text that a stranger chooses becomes markup, leaves its lines, or more than fits', () => {
  fc.assert(
    fc.property(hostile, hostile, (title, description) => {
      const svg = pictureOf(
        { ...OPEN, title: title.join(''), description: description.join('') },
        NOW,
      );
      const bare = svg.replaceAll(/<text [^<>]*>[^<>]*<\/text>/g, '').replaceAll(/&#\d+;/g, '');
      expect(bare).not.toMatch(/script|image|<!--|&/);
      expect(svg.match(/<text /g)?.length).toBeLessThanOrEqual(12);
      expect(svg).not.toMatch(/[\p{Cc}\p{Cs}\p{Cf}\ufffe\uffff]/u);
    }),
  );
});

/** Width, height, and how many bytes differ from those of the pixel before. */
function pngOf(png: Buffer): { readonly size: readonly number[]; readonly drawn: number } {
  const data: Buffer[] = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      data.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const drawn = inflateSync(Buffer.concat(data)).filter((byte) => byte !== 0).length;
  return { size: [png.readUInt32BE(16), png.readUInt32BE(20)], drawn };
}

async function painted(painter: Painter, svg: string): Promise<Buffer> {
  return (await painter.paint(svg)) ?? Buffer.alloc(0);
}

test('a picture is a PNG of 1200 by 630 pixels with its letters in it', async () => {
  const painter = new Painter();
  const ground = pngOf(await painted(painter, pictureOf({ title: '', description: '' }, NOW)));
  for (const preview of [PLAIN, OPEN, FINAL]) {
    const { size, drawn } = pngOf(await painted(painter, pictureOf(preview, NOW)));
    expect(size).toEqual([1_200, 630]);
    expect(drawn).toBeGreaterThan(ground.drawn + 10_000);
  }
});

const numbered = (title: number): string => pictureOf({ ...OPEN, title: String(title) }, NOW);

test('equal pictures are made once, and of too many at once the last are refused', async () => {
  const painter = new Painter();
  const all = Array.from({ length: 40 }, (_, at) => painter.paint(numbered(at)));
  const [first, taken] = [all[0], all.filter((each) => each !== undefined)];
  expect(taken.length).toBe(16);
  expect(painter.paint(numbered(0))).toBe(first);
  expect(await Promise.all(taken)).toHaveLength(16);
  // there is room again
  expect((await painter.paint(numbered(39)))?.length).toBeGreaterThan(1_000);
});

test('a text that the rasteriser refuses costs its asker alone', async () => {
  const painter = new Painter();
  await expect(painter.paint('<svg')).rejects.toThrow('the thread that draws pictures has ended');
  expect(pngOf(await painted(painter, pictureOf(OPEN, NOW))).size).toEqual([1_200, 630]);
});
