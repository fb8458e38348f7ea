import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { writeOut } from '../../../../services/ops/tail/output.ts';

const LETTERS = ['a', 'ö', '€', '😀', '\n'];

function textOf(characters: number): string {
  return Array.from({ length: characters }, (_, at) => LETTERS[at % LETTERS.length]).join('');
}

test('texts of any size are written whole, one after the other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'clt-output-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'output');
  const opened = openSync(file, 'w');
  const texts = [0, 1, 300_000, 5, 1_200_000, 299_999].map(textOf);
  for (const text of texts) expect(await writeOut(text, opened)).toBe(true);
  closeSync(opened);
  expect(readFileSync(file, 'utf8') === texts.join('')).toBe(true);
});
